package ledger_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"testing/fstest"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/schema"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
	"quittance/test/pgtest"
)

// TestUsageOfBefore checks that a database from before the quotas counts its drafts, its submitted invoices, and its
// stored bytes.
func TestUsageOfBefore(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := &ledgertest.Store{Clock: ledgertest.NewClock()}
			s.Address = emptyDatabase(t, engine, s)
			db, err := base.OpenUnmigrated(ctx, s.Address, s.Options)
			kit.Must(t, err)
			kit.Must(t, errors.Join(fixture.MigrateTo(ctx, db, schemaUpTo(t, "0010")), db.Close()))
			raw := fixture.OpenRaw(t, s)
			id := func(n byte) []byte { return append(make([]byte, 15), n) }
			for _, row := range []struct {
				query string
				args  []any
			}{
				{`insert into accounts (id, company, status, profile, created_at) values ($1, 'Palm', 'active', '{}', 0)`,
					[]any{id(1)}},
				{`insert into tenants (id, account_id, created_at, invoices) values ($1, $2, 0, 4)`, []any{id(2), id(1)}},
				{`insert into tenants (id, account_id, created_at, frozen_at) values ($1, $2, 0, 1)`, []any{id(3), id(1)}},
				{`insert into connections (account_id, id, kind, environment, base_url, state, credential, fingerprint, created_at, updated_at)
					values ($1, $2, 'http', 'sandbox', 'https://p.example.com', 'active', $2, '', 0, 0)`, []any{id(1), id(4)}},
				{`insert into events (tenant_id, id, position, kind, resource_type, resource_id, occurred_at, body) values ($1, $2, 1, 'einvoice.terminal', 'submission', $2, 0, $3)`,
					[]any{id(2), id(30), make([]byte, 700)}},
				{`insert into idempotency (tenant_id, key, fingerprint, status, entity_tag, body, expires_at) values ($1, 'k', $2, 201, '', $3, 0)`,
					[]any{id(2), id(31), make([]byte, 50)}},
			} {
				_, err := raw.ExecContext(ctx, row.query, row.args...)
				kit.Must(t, err)
			}
			for n, outcome := range []string{"", "acknowledged", "not_sent", "rejected"} {
				_, err := raw.ExecContext(ctx,
					`insert into invoices (tenant_id, id, position, number, document, version, created_at, updated_at)
					values ($1, $2, $3, $4, '{"n":"ü"}', 1, 0, 0)`, id(2), id(byte(10+n)), n+1, outcome)
				kit.Must(t, err)
				if outcome == "" {
					continue
				}
				_, err = raw.ExecContext(ctx,
					`insert into submissions (tenant_id, id, account_id, connection_id, invoice_id, ordinal, current, number, document,
					outcome, attempted_at, sent_at, poll_wait) values ($1, $2, $3, $4, $5, 1, 1, $6, '{}', $6, 0, 0, 0)`, id(2), id(byte(20+n)), id(1), id(4), id(byte(10+n)), outcome)
				kit.Must(t, err)
			}
			db, err = base.OpenUnmigrated(ctx, s.Address, s.Options)
			kit.Must(t, err)
			kit.Must(t, errors.Join(fixture.MigrateTo(ctx, db, schemaUpTo(t, "0011")), db.Close()))
			for tenant, want := range map[byte][2]int64{2: {2, 4*10 + 700 + 50}, 3: {0, 0}} {
				var drafts, bytes int64
				kit.Must(t, raw.QueryRowContext(ctx, `select drafts, stored_bytes from tenants where id = $1`,
					id(tenant)).Scan(&drafts, &bytes))
				if drafts != want[0] || bytes != want[1] {
					t.Errorf("%d drafts and %d bytes are counted, want %d and %d", drafts, bytes, want[0], want[1])
				}
			}
		})
	}
}

// emptyDatabase returns the address of an empty database.
func emptyDatabase(t *testing.T, engine string, s *ledgertest.Store) string {
	t.Helper()
	if engine == ledgertest.Postgres {
		return pgtest.URL(t)
	}
	s.Path = filepath.Join(t.TempDir(), "before.db")
	return "sqlite:" + s.Path
}

// schemaUpTo returns the schema with the migrations up to a number.
func schemaUpTo(t *testing.T, last string) fs.FS {
	t.Helper()
	files, err := fs.Glob(schema.Files(), "*.sql")
	kit.Must(t, err)
	out := fstest.MapFS{}
	for _, file := range files {
		if filepath.Base(file)[:4] <= last {
			text, err := fs.ReadFile(schema.Files(), file)
			kit.Must(t, err)
			out[file] = &fstest.MapFile{Data: text}
		}
	}
	return out
}
