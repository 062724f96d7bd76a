package dbcopy

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"

	"quittance/internal/platform/db"
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
	const unclaimed = `create table ` + db.RestoreMarker + ` (claimed_at timestamptz not null)`
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
		"claimed by an interrupted restore": {[]string{unclaimed, `insert into ` + db.RestoreMarker + ` values (now())`},
			nil, true, false},
		"claimed and loaded by an interrupted one": {[]string{unclaimed, `insert into ` + db.RestoreMarker + ` values (now())`,
			content}, nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, conn := restoring(t)
			for _, statement := range test.before {
				_, err := conn.Exec(t.Context(), statement)
				kit.Must(t, err)
			}
			if err := claimEmpty(t.Context(), conn); !errors.Is(err, test.want) {
				t.Errorf("claim: %v, want %v", err, test.want)
			}
			if claimed, err := isClaimed(t.Context(), conn); err != nil || claimed != test.marked {
				t.Errorf("claimed: %v, %v", claimed, err)
			}
			for table, want := range map[string]bool{db.RestoreMarker: test.marked, "numbers": test.numbers} {
				if found, err := d.HasTable(t.Context(), table); err != nil || found != want {
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
			d, conn := restoring(t)
			_, err := conn.Exec(t.Context(), `create table `+db.RestoreMarker+` (claimed_at timestamptz not null)`)
			kit.Must(t, err)
			if claimed {
				_, err := conn.Exec(t.Context(), `insert into `+db.RestoreMarker+` values (now())`)
				kit.Must(t, err)
			}
			kit.Must(t, conn.Close(t.Context()))
			ended, stop := context.WithCancel(t.Context())
			stop()
			kit.Must(t, removeUnclaimed(ended, conn))
			if found, err := d.HasTable(t.Context(), db.RestoreMarker); err != nil || found != claimed {
				t.Errorf("the marker is there: %v, %v", found, err)
			}
		})
	}
}

// restoring returns an empty database, and a connection that holds the lock of a restore.
func restoring(t *testing.T) (*db.DB, *pgx.Conn) {
	t.Helper()
	d, err := db.Open(t.Context(), pgtest.URL(t), db.Options{Application: "test", Channel: "test_work",
		Log: slog.New(slog.DiscardHandler)})
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, d.Close()) })
	conn, err := connectForRestore(t.Context(), d.Server())
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, conn.Close(context.WithoutCancel(t.Context()))) })
	return d, conn
}
