package benchdb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	_ "modernc.org/sqlite"             // the driver sqlite

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/test/benchdb"
	"quittance/test/ledgertest"
	"quittance/test/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// fixture is a store with two companies, and the same database through benchdb and without either.
type fixture struct {
	*ledgertest.Store
	data     *benchdb.DB
	raw      *sql.DB
	accounts []base.Account
	tenants  []*base.Tenant
}

func forEachEngine(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		f := &fixture{Store: ledgertest.Open(t, engine)}
		var err error
		if f.data, err = benchdb.Open(f.Address); err != nil {
			t.Fatal(err)
		}
		driver, address := "pgx", f.Address
		if f.Path != "" {
			driver, address = "sqlite", f.Path
		}
		if f.raw, err = sql.Open(driver, address); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(f.data.Close(), f.raw.Close()); err != nil {
				t.Error(err)
			}
		})
		for _, name := range []string{"filled", "called"} {
			account, err := identity.CreateAccount(t.Context(), f.Store.DB, name,
				identity.NewUser{Email: name + "@example.com", Name: name, PasswordHash: "-"})
			if err != nil {
				t.Fatal(err)
			}
			tenant, err := f.Tenant(t.Context(), account.ID)
			if err != nil {
				t.Fatal(err)
			}
			f.accounts, f.tenants = append(f.accounts, account), append(f.tenants, tenant)
		}
		test(t, f)
	})
}

// draft is a draft that has a value in every column that the store derives from drafts.
func draft(number string) api.Draft {
	return api.Draft{InvoiceNumber: &number, ExternalID: new("external"), RecipientName: new("Palm Trading LLC"),
		RecipientNetworkID: new("1000000100"), IssueDate: new("2026-03-01"), Currency: new("AED"),
		TotalAmount: new(api.MustDecimal("105.00")),
		Items: []api.Item{{Name: new("Consulting"), Quantity: new(api.MustDecimal("2")),
			NetUnitPrice: new(api.MustDecimal("50.00"))}}}
}

// rows reads the named columns of every row of a query. Without names it reads all columns.
func (f *fixture) rows(t *testing.T, query string, args ...any) (out []map[string]string) {
	t.Helper()
	rows, err := f.raw.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values := make([]any, len(columns))
		for n := range values {
			values[n] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		row := map[string]string{}
		for n, column := range columns {
			switch value := (*values[n].(*any)).(type) {
			case []byte:
				row[column] = fmt.Sprintf("%x", value)
			default:
				row[column] = fmt.Sprint(value)
			}
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFillDrafts: the rows that are filled in are those that calls of the store write, in every column of every table
// of the schema. This test fails when the schema changes and drafts.go does not follow.
func TestFillDrafts(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx, count := t.Context(), 12
		var progress []int
		if err := f.data.FillDrafts(ctx, f.tenants[0], draft("unused"), "Fill-", count,
			func(total int) { progress = append(progress, total) }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(progress, []int{1, count}) {
			t.Errorf("progress %v", progress)
		}
		for n := range count {
			if _, err := invoices.Create(ctx, f.tenants[1], new(draft("Fill-"+strconv.Itoa(n+1)))); err != nil {
				t.Fatal(err)
			}
		}
		for _, table := range f.tenantTables(t) {
			order := ""
			if table == "invoices" {
				order = " order by position"
			}
			query := "select * from " + table + " where tenant_id = $1" + order
			switch table {
			case "tenants":
				query = "select * from tenants where id = $1"
			case "invoice_summaries":
				query = "select s.* from invoice_summaries s join invoices i on i.tenant_id = s.tenant_id and i.id = s.invoice_id where s.tenant_id = $1 order by i.position"
			}
			filled, called := f.rows(t, query, f.tenants[0].ID()), f.rows(t, query, f.tenants[1].ID())
			if len(filled) != len(called) {
				t.Errorf("%s has %d rows, want %d", table, len(filled), len(called))
				continue
			}
			for n := range filled {
				for _, column := range slices.Sorted(maps.Keys(filled[n])) {
					want := called[n][column]
					if column == "stored_bytes" {
						want = f.withoutAudit(t, want)
					}
					if identifies := slices.Contains([]string{"id", "tenant_id", "account_id", "invoice_id", "seal", "events_seal"},
						column); !identifies && filled[n][column] != want {
						t.Errorf("%s, row %d: %s is %q, want %q", table, n+1, column, filled[n][column], want)
					}
				}
			}
		}
		f.checkDrafts(t, count)
	})
}

// withoutAudit returns the stored bytes of the second tenant without those of the entries of its audit log that the
// first tenant does not have, because copies of drafts leave none.
func (f *fixture) withoutAudit(t *testing.T, storedBytes string) string {
	t.Helper()
	size := func(tenant *base.Tenant) (sum int) {
		for _, row := range f.rows(t,
			`select actor_kind, actor, means, source, request_id, act, subject_type, subject, reason, details from audit
			where account_id = $1 and act = 'draft.create'`, tenant.Account()) {
			for _, text := range row {
				sum += len(text)
			}
		}
		return sum
	}
	stored, err := strconv.Atoi(storedBytes)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(stored - size(f.tenants[1]) + size(f.tenants[0]))
}

// tenantTables returns tenants and all tables whose rows belong to a tenant.
func (f *fixture) tenantTables(t *testing.T) []string {
	t.Helper()
	query := "select distinct table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'tenant_id'"
	if f.Path != "" {
		query = "select m.name as name from sqlite_schema m, pragma_table_info(m.name) c where m.type = 'table' and c.name = 'tenant_id'"
	}
	tables := []string{"tenants"}
	for _, row := range f.rows(t, query) {
		tables = append(tables, row["name"])
	}
	if !slices.Contains(tables, "invoices") || !slices.Contains(tables, "invoice_summaries") {
		t.Fatalf("the tables of a tenant are %v", tables)
	}
	return tables
}

// checkDrafts wants count drafts that the store reads, searches and continues like others.
func (f *fixture) checkDrafts(t *testing.T, count int) {
	t.Helper()
	ctx, tenant := t.Context(), f.tenants[0]
	if _, err := invoices.Create(ctx, tenant, new(draft("last"))); err != nil {
		t.Fatal(err)
	}
	page, err := view.Of(tenant).Invoices(ctx, view.InvoiceFilter{}, 1, count+1)
	if err != nil || page.Total != count+1 || len(page.Entries) != count+1 {
		t.Fatalf("%d invoices of %d, %v, want %d", len(page.Entries), page.Total, err, count+1)
	}
	seen := map[base.ID]bool{}
	for n, found := range page.Entries { // newest first
		want := "last"
		if n > 0 {
			want = "Fill-" + strconv.Itoa(count+1-n)
		}
		if *found.Draft.InvoiceNumber != want || found.Submission != nil || found.Items != 1 {
			t.Errorf("invoice %d is %+v, want the draft %s", n, found, want)
		}
		if found.ID[6]>>4 != 7 || found.ID[8]>>6 != 2 {
			t.Errorf("invoice %d has the identifier %s, which is not a UUID of version 7", n, found.ID)
		}
		seen[found.ID] = true
	}
	if len(seen) != count+1 {
		t.Errorf("%d identifiers for %d drafts", len(seen), count+1)
	}
	searched, err := view.Of(tenant).Invoices(ctx, view.InvoiceFilter{Search: "fill-7"}, 1, 25)
	if err != nil || searched.Total != 1 || *searched.Entries[0].Draft.InvoiceNumber != "Fill-7" {
		t.Errorf("searched for: %+v, %v", searched, err)
	}
}

// TestFillDraftsAgain: further drafts follow those that exist, with numbers of their own.
func TestFillDraftsAgain(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		for _, prefix := range []string{"A-", "B-"} {
			if err := f.data.FillDrafts(t.Context(), f.tenants[0], draft("unused"), prefix, 2, nil); err != nil {
				t.Fatal(err)
			}
		}
		var numbers []string
		for _, row := range f.rows(t, "select number from invoices order by position") {
			numbers = append(numbers, row["number"])
		}
		if got := strings.Join(numbers, " "); got != "A-1 A-2 B-1 B-2" {
			t.Errorf("the numbers are %s", got)
		}
	})
}

// TestFillDraftsErrors: a prefix that would break the JSON, or a frozen tenant, is an error.
func TestFillDraftsErrors(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		for _, prefix := range []string{`"`, `\`, "\n"} {
			if err := f.data.FillDrafts(t.Context(), f.tenants[0], draft("unused"), prefix, 2, nil); err == nil {
				t.Errorf("the prefix %q is accepted", prefix)
			}
		}
		if _, err := f.raw.ExecContext(t.Context(), "update tenants set frozen_at = 1 where id = $1",
			f.tenants[0].ID()); err != nil {
			t.Fatal(err)
		}
		if err := f.data.FillDrafts(t.Context(), f.tenants[0], draft("unused"), "S-", 2, nil); !errors.Is(err,
			base.ErrNotFound) {
			t.Errorf("a frozen tenant: %v", err)
		}
	})
}

// TestSize: events count as history, and drafts do not.
func TestSize(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		empty := f.size(ctx, t)
		if err := f.data.FillDrafts(ctx, f.tenants[0], draft("unused"), "S-", 2000, nil); err != nil {
			t.Fatal(err)
		}
		drafts := f.size(ctx, t)
		if drafts.Bytes <= empty.Bytes || drafts.HistoryBytes != empty.HistoryBytes {
			t.Errorf("after drafts %+v, before %+v", drafts, empty)
		}
		var documents []incoming.NewIncoming
		for n := range 200 {
			documents = append(documents, incoming.NewIncoming{ProviderDocumentID: fmt.Sprint("document-", n),
				MediaType: "application/xml",
				Metadata:  []byte("{}"), Body: []byte("<Invoice/>"), Retained: true})
		}
		if err := incoming.Seed(ctx, f.tenants[0], documents); err != nil {
			t.Fatal(err)
		}
		if events := f.size(ctx, t); events.HistoryBytes <= drafts.HistoryBytes {
			t.Errorf("after events %+v, before %+v", events, drafts)
		}
	})
}

func (f *fixture) size(ctx context.Context, t *testing.T) benchdb.Size {
	t.Helper()
	size, err := f.data.Size(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// TestServer: only PostgreSQL has a server process, and commits to SQLite are always durable.
func TestServer(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		pid, err := f.data.ServerPID(t.Context())
		if err != nil || (pid != 0) != (f.Engine() == ledgertest.Postgres) {
			t.Errorf("server process %d on %s, %v", pid, f.Engine(), err)
		}
		// The cluster of the tests does not flush to disk: see pgtest.StartShared.
		durable, err := f.data.Durable(t.Context())
		if err != nil || !durable && f.Engine() == ledgertest.SQLite {
			t.Errorf("durable %v, %v", durable, err)
		}
	})
}

// TestOpenErrors: the error for a wrong address does not repeat its password.
func TestOpenErrors(t *testing.T) {
	if _, err := benchdb.Open("postgres://user:secret@host:port/db"); err == nil ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}
