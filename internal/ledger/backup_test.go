package ledger_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
	"quittance/test/pgtest"
)

// buffers are the streams of a copy, in memory.
type buffers map[string]*bytes.Buffer

type closingBuffer struct{ *bytes.Buffer }

func (closingBuffer) Close() error { return nil }

func (b buffers) open(stream string) (io.WriteCloser, error) {
	b[stream] = &bytes.Buffer{}
	return closingBuffer{b[stream]}, nil
}

func (b buffers) read(stream string) (io.Reader, error) {
	if b[stream] == nil {
		return nil, errors.New("no such stream")
	}
	return bytes.NewReader(b[stream].Bytes()), nil
}

// newAddress returns the address of a database that a restore accepts.
func newAddress(t *testing.T, engine string) string {
	t.Helper()
	if engine == ledgertest.Postgres {
		return pgtest.URL(t)
	}
	return "sqlite:" + filepath.Join(t.TempDir(), "restored.db")
}

// TestRestoreOfAnOlderSchema: a copy of a database of release 0.3.0 is restored, and has the present schema afterwards.
// One of a later schema than that of the program is refused before anything is created.
func TestRestoreOfAnOlderSchema(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			options := ledgertest.Open(t, engine).Options
			options.Now = nil
			old, err := base.OpenUnmigrated(ctx, newAddress(t, engine), options)
			kit.Must(t, err)
			t.Cleanup(func() { kit.Must(t, old.Close()) })
			kit.Must(t, fixture.MigrateTo(ctx, old, migrationsOf(t, 49)))
			streams := buffers{}
			copied, _, err := ledger.CopyOut(ctx, old, streams.open)
			kit.Must(t, err)
			if copied.SchemaVersion != 49 {
				t.Fatalf("the copy has version %d", copied.SchemaVersion)
			}
			later := copied
			later.SchemaVersion = 100_000
			address := newAddress(t, engine)
			if _, err := ledger.Restore(ctx, address, options, later, "later", streams.read); err == nil {
				t.Error("a copy of a later schema is restored")
			}
			_, err = ledger.Restore(ctx, address, options, copied, "older", streams.read)
			kit.Must(t, err)
			db, err := ledger.Open(ctx, address, options)
			kit.Must(t, err)
			defer func() { kit.Must(t, db.Close()) }()
			if done := db.Migrated; done.From != done.To {
				t.Error("the restored database did not have the present schema")
			}
			_, err = identity.CreateAccount(ctx, db, "Palm Trading LLC", identity.NewUser{Email: "owner@palm.example",
				Name: "Owner", PasswordHash: "$hash"})
			kit.Must(t, err)
		})
	}
}

// TestRecordBackup: the moment of the last backup is known afterwards, and the audit log has an entry if there are
// keys.
func TestRecordBackup(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		_, err := ledger.LastBackup(ctx, f.DB)
		fixture.WantErr(t, err, base.ErrNotFound)
		for range 2 {
			at := f.Clock.Advance(time.Hour)
			audited, err := ledger.RecordBackup(ctx, f.DB, at, "20260131T220000.250Z-4f1c22ab", "/backups")
			kit.Must(t, err)
			last, err := ledger.LastBackup(ctx, f.DB)
			kit.Must(t, err)
			if !audited || !last.Equal(at) {
				t.Errorf("audited %v, last %v", audited, last)
			}
		}
		keyless, err := base.OpenUnmigrated(ctx, f.Address, base.Options{Now: f.Clock.Now})
		kit.Must(t, err)
		defer func() { kit.Must(t, keyless.Close()) }()
		audited, err := ledger.RecordBackup(ctx, keyless, f.Clock.Now(), "", "copy.db")
		kit.Must(t, err)
		entries, err := f.Audit(ctx, base.AuditFilter{Act: "database.backup", Limit: 10})
		kit.Must(t, err)
		if audited || len(entries) != 2 ||
			entries[0].Details != `{"backup":"20260131T220000.250Z-4f1c22ab","place":"/backups"}` {
			t.Errorf("without keys: audited %v; the entries are %+v", audited, entries)
		}
	})
}

// TestBackupIdentity: the backups of a database carry the same identity until a restore is recorded, whoever asks for
// it.
func TestBackupIdentity(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		first, err := ledger.BackupIdentity(ctx, f.DB)
		kit.Must(t, err)
		other, err := base.OpenUnmigrated(ctx, f.Address, base.Options{Now: f.Clock.Now})
		kit.Must(t, err)
		defer func() { kit.Must(t, other.Close()) }()
		again, err := ledger.BackupIdentity(ctx, other)
		kit.Must(t, err)
		if len(first) != 26 || again != first {
			t.Errorf("identities %q and %q", first, again)
		}
		_, err = ledger.MarkRestored(ctx, f.DB)
		kit.Must(t, err)
		if after, err := ledger.BackupIdentity(ctx, f.DB); err != nil || after == first {
			t.Errorf("after a restore %q, %v", after, err)
		}
	})
}
