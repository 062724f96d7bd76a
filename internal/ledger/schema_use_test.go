package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// older returns the address and the options of a database with the schema of release 0.3.0, which was opened with its
// keys.
func older(t *testing.T, engine string) (address string, options base.Options) {
	t.Helper()
	options = ledgertest.Open(t, engine).Options
	options.Now = nil
	address = newAddress(t, engine)
	db, err := base.OpenUnmigrated(t.Context(), address, options)
	kit.Must(t, err)
	kit.Must(t, fixture.MigrateTo(t.Context(), db, migrationsOf(t, 49)))
	kit.Must(t, errors.Join(fixture.RecordKeys(t.Context(), db), db.Close()))
	return address, options
}

// TestSchemaIsChangedAfterEveryCheck: whoever may not change the schema is refused, and so are wrong keys and whatever
// else the opener refuses, before anything is changed. What may be changed leaves a line in the log and one entry in
// the audit log, however many open it.
func TestSchemaIsChangedAfterEveryCheck(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			address, options := older(t, engine)
			watching, err := base.OpenUnmigrated(ctx, address, options)
			kit.Must(t, err)
			t.Cleanup(func() { kit.Must(t, watching.Close()) })
			others, err := secret.Generate()
			kit.Must(t, err)
			refused := errors.New("refused")
			for name, c := range map[string]struct {
				change func(*base.Options)
				want   error
			}{
				"kept": {func(o *base.Options) { o.Schema = base.KeepSchema }, ledger.ErrOlderSchema},
				"refused": {func(o *base.Options) { o.Admit = func(context.Context, *base.DB) error { return refused } },
					refused},
				"keys": {func(o *base.Options) { o.Keys = others }, nil},
			} {
				changed := options
				c.change(&changed)
				db, err := ledger.Open(ctx, address, changed)
				if err == nil {
					kit.Must(t, db.Close())
				}
				if c.want != nil && !errors.Is(err, c.want) || c.want == nil && !errors.As(err, new(*base.KeyError)) {
					t.Errorf("%s: %v", name, err)
				}
				if version, err := watching.SchemaVersion(ctx); err != nil || version != 49 {
					t.Errorf("%s: the schema has version %d, %v", name, version, err)
				}
			}
			var log bytes.Buffer
			options.Log, options.Release, options.Schema = slog.New(slog.NewTextHandler(&log, nil)), "1.2.0", base.UpdateSchema
			for range 2 {
				db, err := ledger.Open(base.WithActor(ctx, base.Actor{Kind: base.ActorAdministrator, Name: "root@host"}), address,
					options)
				kit.Must(t, err)
				kit.Must(t, db.Close())
			}
			if text := log.String(); strings.Count(text, "the schema of the database is up to date") != 1 ||
				!strings.Contains(text, "from=49") {
				t.Errorf("the log says %q", text)
			}
			options.Schema = base.KeepSchema
			db, err := ledger.Open(ctx, address, options)
			kit.Must(t, err)
			defer func() { kit.Must(t, db.Close()) }()
			wantMigrated(t, db, "root@host")
		})
	}
}

// TestMigrationIsRecordedAfterACrash: a process that ends between the migration and its entry in the audit log leaves
// the entry to the next.
func TestMigrationIsRecordedAfterACrash(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			address, options := older(t, engine)
			keyless := options
			keyless.Keys = nil // without keys it migrates and records nothing
			db, err := ledger.Open(t.Context(), address, keyless)
			kit.Must(t, err)
			kit.Must(t, db.Close())
			options.Release = "1.2.0"
			db, err = ledger.Open(t.Context(), address, options)
			kit.Must(t, err)
			defer func() { kit.Must(t, db.Close()) }()
			wantMigrated(t, db, "quittance")
		})
	}
}

// wantMigrated checks that the audit log has one entry of a migration, from version 49 by an actor.
func wantMigrated(t *testing.T, db *base.DB, actor string) {
	t.Helper()
	entries, err := db.Audit(t.Context(), base.AuditFilter{Act: "database.migrate", Limit: 10})
	kit.Must(t, err)
	if len(entries) != 1 || entries[0].Name != actor || !strings.Contains(entries[0].Details, `"from":"49"`) ||
		!strings.Contains(entries[0].Details, `"version":"1.2.0"`) {
		t.Errorf("the audit log has %+v", entries)
	}
}
