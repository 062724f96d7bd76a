package db

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"quittance/test/kit"
	"quittance/test/pgtest"
)

// TestClaimEmpty: a restore removes nothing but what a restore has created. A marker that an interruption left in a
// database before the restore knew what else is there does not make its content a restore's.
func TestClaimEmpty(t *testing.T) {
	if !pgtest.Enabled() {
		return // a restore on SQLite writes another file
	}
	t.Parallel()
	const unclaimed = `create table ` + restoreMarker + ` (claimed_at timestamptz not null)`
	const content = `create table numbers (n bigint not null primary key); insert into numbers values (7)`
	for name, test := range map[string]struct {
		before  []string
		want    error
		marked  bool // afterwards
		numbers bool // are there afterwards
	}{
		"empty":                           {nil, nil, true, false},
		"empty with an unclaimed marker":  {[]string{unclaimed}, nil, true, false},
		"in use":                          {[]string{content}, ErrNotEmpty, false, true},
		"in use with an unclaimed marker": {[]string{content, unclaimed}, ErrNotEmpty, false, true},
		"claimed by an interrupted restore": {[]string{unclaimed, `insert into ` + restoreMarker + ` values (now())`},
			nil, true, false},
		"claimed and loaded by an interrupted one": {[]string{unclaimed, `insert into ` + restoreMarker + ` values (now())`,
			content}, nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, conn := restoring(t)
			for _, statement := range test.before {
				_, err := conn.Exec(t.Context(), statement)
				kit.Must(t, err)
			}
			if err := e.claimEmpty(t.Context(), conn); !errors.Is(err, test.want) {
				t.Errorf("claim: %v, want %v", err, test.want)
			}
			if claimed, err := isClaimed(t.Context(), conn); err != nil || claimed != test.marked {
				t.Errorf("claimed: %v, %v", claimed, err)
			}
			for table, want := range map[string]bool{restoreMarker: test.marked, "numbers": test.numbers} {
				if found, err := e.hasTable(t.Context(), table); err != nil || found != want {
					t.Errorf("table %s: %v, %v", table, found, err)
				}
			}
		})
	}
}

// TestInterruptedClaim: a restore that is interrupted before it has claimed the database removes its marker, although
// its context and its connection have ended. It removes none that another restore has claimed meanwhile.
func TestInterruptedClaim(t *testing.T) {
	if !pgtest.Enabled() {
		return
	}
	t.Parallel()
	for name, claimed := range map[string]bool{"unclaimed": false, "claimed by another": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, conn := restoring(t)
			_, err := conn.Exec(t.Context(), `create table `+restoreMarker+` (claimed_at timestamptz not null)`)
			kit.Must(t, err)
			if claimed {
				_, err := conn.Exec(t.Context(), `insert into `+restoreMarker+` values (now())`)
				kit.Must(t, err)
			}
			kit.Must(t, conn.Close(t.Context()))
			ended, stop := context.WithCancel(t.Context())
			stop()
			kit.Must(t, e.removeUnclaimed(ended, conn))
			if found, err := e.hasTable(t.Context(), restoreMarker); err != nil || found != claimed {
				t.Errorf("the marker is there: %v, %v", found, err)
			}
		})
	}
}

// restoring returns an engine with an empty database, and a connection that holds the lock of a restore.
func restoring(t *testing.T) (*postgresEngine, *pgx.Conn) {
	t.Helper()
	e, err := openPostgres(t.Context(), pgtest.URL(t), options())
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, e.close()) })
	conn, err := e.connectForRestore(t.Context())
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, conn.Close(context.WithoutCancel(t.Context()))) })
	return e, conn
}
