package proof_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/exchange/purchase"
	"quittance/internal/exchange/submission"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/proof"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/simulator"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// proven lists the tables with evidence, or values that follow from it, and the columns that a verification ignores,
// with the reasons. [TestAnyAlterationIsFound] changes every other column.
var proven = map[string]map[string]string{
	"submissions": {
		"poll_wait": "the last wait, which only affects when the provider is polled",
		"due_at":    "the schedule of the queue, which changes with each claim; TestShownInvoiceIsProven has what is verified of it", "next_check_at": "as due_at", "lease": "the lease of a worker",
	},
	"states": {}, "evidence": {}, "incoming": {}, "revisions": {}, "events": {}, "sealed_settings": {}, "sealed_sets": {},
	"deliveries": {
		"state": "the response of the company's receiver, which is not a provider", "reason": "as state",
		"attempts": "as state", "round": "as state", "updated_at": "as state", "due_at": "the schedule of the queue",
		"lease":  "the lease of a worker",
		"leased": "as lease",
	},
	// Every invoice of the story has been submitted. Drafts are not verified, because companies change them.
	"invoices": {
		"position": "the position in the list", "version": "the number of changes, for conditional requests",
		"created_at": "the second is verified; see TestShownInvoiceIsProven",
		"updated_at": "only the bounds are verified; see TestShownInvoiceIsProven",
		"summarized": "whether the summary exists; otherwise lists read the document",
		"category":   "what it is counted as, which RecountInvoices compares with the evidence", "counted": "as category",
		"counted_version": "as category",
	},
	"invoice_summaries": {},
	// Every credit note of the story has been submitted, too.
	"credit_notes": {
		"position": "as in invoices", "version": "as in invoices", "created_at": "as in invoices",
		"updated_at": "as in invoices", "item_count": "null if the items are counted",
	},
	"tenants": {
		"invoices": "the last position of a draft", "credit_notes": "the last position of a credit note",
		"incoming": "the last position in a list",
		"*":        "counters and positions that are not evidence",
	},
}

// notProven lists the tables without evidence, with the reasons.
var notProven = map[string]string{
	"accounts": "administrators change it", "users": "administrators and owners change it",
	"invitations": "they become users, and the audit log has them", "tokens": "sessions",
	"sign_on_subjects": "links of users, which they and owners change; the audit log has them",
	"api_keys":         "credentials of machines, as tokens; the audit log has their creation and revocation",
	"limits":           "counters of logins",
	"second_factors":   "their secrets are sealed and bound to the user", "recovery_codes": "as second_factors",
	"passkeys": "their credentials are sealed and bound to the user", "passkey_challenges": "they expire in minutes",
	"pending_logins": "sessions that have not begun", "address_proofs": "links that end in a day; the audit log has them",
	"sign_on_choices":         "logins that have not begun",
	"password_resets":         "links that end in an hour; the audit log has them",
	"password_reset_requests": "what strangers have typed, for seconds",
	"operators":               "the command line changes them, and secrets of authenticators are bound to their rows",
	"operator_recovery_codes": "as operators", "operator_sessions": "sessions",
	"connections": "credentials are bound to the row", "invoice_deletions": "deleted drafts",
	"invoice_counters": "sums of what the invoices are counted as",
	"mails":            "messages on their way; the secrets of their links are sealed and bound to the recipient",
	"notices":          "counters of what owners are told", "mail_settings": "users change it",
	"book_entries":  "companies change it, and drafts copy it",
	"subscriptions": "signing secrets are bound to the row", "attempts": "responses of receivers, which retention removes",
	"uploads":     "files between their preview and their import, for an hour",
	"idempotency": "responses to repeated requests, for a day", "purchase_syncs": "positions of syncs",
	"provider_events": "what is retained of events is evidence or a revision; unrouted ones are sealed and bound to their rows",
	"settings":        "settings of the installation",
	"audit":           "the audit log has its own test", "audit_heads": "as audit",
	"sealing_keys": "the records of the keys are sealed values themselves", "servers": "running servers",
	"resealed":         "resealed withheld bodies: if one is gone or changed, the row's own value is used, or none opens",
	"goose_db_version": "the schema", "sqlite_sequence": "the engine's own table",
}

// rules returns the replay functions of the service.
func rules() proof.Replay {
	return proof.Replay{Response: submission.Replay, Purchase: purchase.Reread, Sent: submission.ReadSubmitted}
}

// scripted returns the prepared response, or otherwise that of the simulator.
type scripted struct {
	*simulator.Adapter
	next []provider.Response
}

func (s *scripted) pop() (a provider.Response, ok bool) {
	if len(s.next) == 0 {
		return a, false
	}
	a, s.next = s.next[0], s.next[1:]
	return a, true
}

func (s *scripted) Submit(ctx context.Context, doc provider.Document) provider.Response {
	real := s.Adapter.Submit(ctx, doc)
	if a, ok := s.pop(); ok {
		return a
	}
	return real
}

func (s *scripted) Status(ctx context.Context, query provider.Query) provider.Response {
	if a, ok := s.pop(); ok {
		return a
	}
	return s.Adapter.Status(ctx, query)
}

// story fills a store through the service: submissions with every kind of outcome, incoming e-invoices, events that
// retention has removed, and deliveries.
func story(t *testing.T, f *fixture.Fixture) {
	t.Helper()
	ctx := t.Context()
	adapter := &scripted{Adapter: simulator.New(f.Clock.Now, time.Minute)}
	service := submission.New(f.DB, submission.Config{
		Environment: "sandbox", CallTimeout: time.Second, Polling: submission.Polling{First: time.Second, Max: time.Hour},
		Adapters: submission.NewAdapters(f.DB, func(invoices.Connection, secret.Text) (provider.Adapter, error) {
			return adapter,
				nil
		}),
		Log: slog.New(slog.DiscardHandler), Observe: func(string, string, time.Duration) {},
	})
	submit := func(number string) base.ID {
		f.Clock.Advance(time.Second)
		sent, err := service.Submit(ctx, f.Tenant, f.Create(t, number).ID)
		kit.Must(t, err)
		return sent.Submission.ID
	}
	poll := func(times int) {
		for range times {
			f.Clock.Advance(70 * time.Second)
			for _, call := range f.ClaimSubmissions(t, 10) {
				_, err := service.Poll(ctx, call)
				kit.Must(t, err)
			}
		}
	}
	submit("INV-REMOVED")
	poll(6)
	f.Clock.Advance(30 * 24 * time.Hour)
	removed, err := invoices.ApplyRetention(ctx, f.DB, invoices.Retention{Events: 24 * time.Hour})
	kit.Must(t, err)
	if removed == 0 {
		t.Fatal("no event was removed")
	}
	f.Subscribe(t, api.EventSubmissionUpdated, api.EventStatusChanged, api.EventTerminal, api.EventIncomingReceived)
	f.Subscribe(t, api.EventStatusChanged, api.EventIncomingRevised)
	submit("INV-DONE")
	poll(6)
	submit("INV-UNDER-WAY")
	unclear := provider.Response{Kind: provider.Ambiguous, HTTPStatus: 500, MediaType: "text/html", Body: []byte("<html>")}
	adapter.next = []provider.Response{unclear}
	contradicted := submit("INV-CONTRADICTED")
	_, err = invoices.ResolveAnySubmission(ctx, f.DB, contradicted, invoices.DecisionReject, "they said so")
	kit.Must(t, err)
	poll(1)
	echo := unclear
	echo.Echoed, echo.Body = true, []byte("sealed-canary")
	adapter.next = []provider.Response{echo}
	submit("INV-WITHHELD")
	withheld := real("y", "sealed-canary")
	withheld.Withheld = true
	_, err = invoices.ConfirmCreditNotes(ctx, f.DB, f.Connection.ID, "C-1", "M-1")
	kit.Must(t, err)
	credited, err := service.Submit(ctx, f.Tenant, f.Create(t, "INV-CREDITED").ID)
	kit.Must(t, err)
	for _, number := range []string{"CN-1", "CN-2"} {
		f.Clock.Advance(time.Second)
		note, err := invoices.CreateCreditNote(ctx, f.Tenant, credited.ID, fixture.CreditBy(number, fixture.ByQuantity(0,
			"2")))
		kit.Must(t, err)
		_, err = service.SubmitCreditNote(ctx, f.Tenant, note.ID)
		kit.Must(t, err)
	}
	fixture.Retain(t, f.MustClaim(t), fixture.Onward("c"), real("x", "one"), real("x", "two"), withheld)
	found, err := proof.Verify(ctx, f.DB, rules())
	kit.Must(t, err)
	if len(found.Faults) > 0 || found.Chains < 10 {
		t.Fatalf("before any change: %+v", found)
	}
}

// real returns a purchase document in the form of the provider protocol, whose metadata determine what is shown of it.
func real(id, body string) incoming.NewIncoming {
	doc := fixture.Incoming(id, body)
	doc.Metadata = fmt.Appendf(nil,
		`{"id":%q,"document_type":"invoice","invoice_number":"SUP-%s","supplier_name":"Söhne & Co","supplier_network_id":"1234567890",
		"issue_date":"2026-02-27","due_date":"2026-03-27","currency":"AED","total_amount":1050.00,"received_at":"2026-03-01T08:00:00.123456Z","sha256":%q}`,
		id, id, *doc.ClaimedSHA256)
	return doc
}

// catalogue returns the columns of every table from the database's catalogue.
func catalogue(t *testing.T, f *fixture.Fixture) map[string][]string {
	t.Helper()
	query := `select table_name, column_name from information_schema.columns where table_schema = 'public' order by table_name, ordinal_position`
	if f.Path != "" {
		query = `select t.name, c.name from sqlite_schema t join pragma_table_info(t.name) c where t.type = 'table' order by t.name, c.cid`
	}
	rows, err := f.Raw.QueryContext(t.Context(), query)
	kit.Must(t, err)
	defer func() { kit.Must(t, rows.Close()) }()
	out := map[string][]string{}
	for rows.Next() {
		var table, column string
		kit.Must(t, rows.Scan(&table, &column))
		out[table] = append(out[table], column)
	}
	kit.Must(t, rows.Err())
	return out
}

// decided returns the verified columns of a table, and fails for a table or column that is in neither list.
func decidedColumns(t *testing.T, table string, columns []string) (altered []string) {
	t.Helper()
	exempt, isProven := proven[table]
	if !isProven {
		if notProven[table] == "" {
			t.Errorf("the table %s is neither in proven nor in notProven", table)
		}
		return nil
	}
	for _, column := range columns {
		switch {
		case exempt[column] != "":
		case table == "tenants" && !slices.Contains([]string{"id", "account_id", "created_at", "frozen_at", "seal", "events",
			"events_seal"}, column):
		default:
			altered = append(altered, column)
		}
	}
	for column := range exempt {
		if column != "*" && !slices.Contains(columns, column) {
			t.Errorf("%s has no column %s", table, column)
		}
	}
	return altered
}

// everyRow makes TestAnyAlterationIsFound change all rows of a table: "make evidence".
var everyRow = flag.Bool("every-row", false, "alter every row of a table, not just one")

// TestAnyAlterationIsFound checks that a verification detects every change by somebody who controls the database but
// has no keys. It takes every column of one row of every table with evidence or values that follow from it, and sets it
// to another value, to null, and to the value of another row. It also removes the row, and adds a copy of it. The row
// is the first one of the table on SQLite and the last one on PostgreSQL; with -every-row it is each row, on both.
func TestAnyAlterationIsFound(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		story(t, f)
		a := f.Attacker(t)
		unbind(t, a)
		catalogue := catalogue(t, f)
		tried, refused := 0, 0
		for table, columns := range catalogue {
			altered := decidedColumns(t, table, columns)
			if altered == nil {
				continue
			}
			rows := rowsOf(t, a, table, columns)
			if len(rows) == 0 {
				t.Errorf("%s has no row", table)
			}
			chosen := 0
			if !a.Sqlite {
				chosen = len(rows) - 1
			}
			for n := range rows {
				if !*everyRow && n != chosen {
					continue
				}
				for _, change := range alterations(table, columns, altered, rows, n, a.Sqlite) {
					tried++
					if !try(t, f, a, change) {
						refused++
					}
				}
			}
		}
		for table := range proven {
			if len(catalogue[table]) == 0 {
				t.Errorf("there is no table %s", table)
			}
		}
		t.Logf("%d alterations, %d of them refused by the database", tried, refused)
		least := 300
		if *everyRow {
			least = 1800
		}
		if tried-refused < least {
			t.Errorf("only %d alterations were made, want at least %d", tried-refused, least)
		}
	})
}

// unbind removes the constraints of the tables, so that the database refuses as little as possible.
func unbind(t *testing.T, a fixture.Attacker) {
	t.Helper()
	statements := []string{`do $$ declare r record; begin
		for r in select conrelid::regclass as t, conname from pg_constraint where connamespace = 'public'::regnamespace and contype in ('c', 'u', 'f') loop
			execute format('alter table %s drop constraint if exists %I cascade', r.t, r.conname);
		end loop;
		for r in select conrelid::regclass as t, conname from pg_constraint where connamespace = 'public'::regnamespace and contype = 'p' loop
			execute format('alter table %s drop constraint if exists %I cascade', r.t, r.conname);
		end loop;
		for r in select indexname from pg_indexes where schemaname = 'public' and indexdef like 'CREATE UNIQUE%' loop
			execute format('drop index if exists %I cascade', r.indexname);
		end loop;
		for r in select table_name, column_name from information_schema.columns where table_schema = 'public' and is_nullable = 'NO' and is_identity = 'NO' loop
			execute format('alter table %I alter column %I drop not null', r.table_name, r.column_name);
		end loop;
	end $$`}
	if a.Sqlite {
		statements = []string{`pragma ignore_check_constraints = 1`, `pragma writable_schema = 1`,
			`update sqlite_schema set sql = replace(sql, ' not null', '') where type = 'table' and name not like 'sqlite%'`,
			`pragma writable_schema = reset`}
	}
	for _, statement := range statements {
		if _, err := a.Conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// try makes a change, checks that it is detected, and undoes it. It returns false if the database refuses the change.
func try(t *testing.T, f *fixture.Fixture, a fixture.Attacker, change change) bool {
	t.Helper()
	tx, err := a.Conn.BeginTx(t.Context(), nil)
	kit.Must(t, err)
	defer func() { kit.Must(t, tx.Rollback()) }()
	result, err := tx.ExecContext(t.Context(), change.statement, change.args...)
	if err != nil {
		return false
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%s: %d rows, %v", change.what, n, err)
	}
	found, err := proof.VerifyThrough(t.Context(), f.DB, tx, rules())
	if err != nil {
		t.Errorf("%s: %v", change.what, err)
	} else if len(found.Faults) == 0 {
		t.Errorf("%s is not detected", change.what)
	}
	return true
}

// change is one change of one row.
type change struct {
	what, statement string
	args            []any
}

// row is a row of a table, and the condition that selects it.
type row struct {
	key    any
	values []any
}

const sqliteKey, postgresKey = "rowid", "ctid"

// rowsOf reads the rows of a table.
func rowsOf(t *testing.T, a fixture.Attacker, table string, columns []string) (out []row) {
	t.Helper()
	key := postgresKey + "::text"
	if a.Sqlite {
		key = sqliteKey
	}
	rows, err := a.Conn.QueryContext(t.Context(), `select `+key+`, `+strings.Join(columns, ", ")+` from `+table)
	kit.Must(t, err)
	defer func() { kit.Must(t, rows.Close()) }()
	for rows.Next() {
		r := row{values: make([]any, len(columns))}
		into := []any{&r.key}
		for n := range r.values {
			into = append(into, &r.values[n])
		}
		kit.Must(t, rows.Scan(into...))
		out = append(out, r)
	}
	kit.Must(t, rows.Err())
	return out
}

// alterations returns all changes of the n-th row of a table.
func alterations(table string, columns, altered []string, rows []row, n int, sqlite bool) (out []change) {
	here := ` where ` + postgresKey + ` = $1::tid`
	if sqlite {
		here = ` where ` + sqliteKey + ` = $1`
	}
	r := rows[n]
	for _, column := range altered {
		at := slices.Index(columns, column)
		set := func(how string, value any) {
			out = append(out, change{fmt.Sprintf("%s %s of row %d of %s", how, column, n+1, table),
				`update ` + table + ` set ` + column + ` = $2` + here, []any{r.key, value}})
		}
		if flipped := flip(r.values[at], table, column); flipped != nil {
			set("another", flipped)
		}
		if r.values[at] != nil {
			set("no", nil)
		}
		other := slices.IndexFunc(rows, func(o row) bool {
			return o.values[at] != nil &&
				fmt.Sprint(o.values[at]) != fmt.Sprint(r.values[at])
		})
		if other >= 0 {
			set("another row's", rows[other].values[at])
		}
	}
	if table == "tenants" {
		return out // only an anchor detects the removal of a company with everything it has
	}
	out = append(out, change{fmt.Sprintf("no row %d of %s", n+1, table), `delete from ` + table + here, []any{r.key}})
	if table == "invoices" || table == "credit_notes" {
		return out // a copy is a draft
	}
	values := slices.Clone(r.values)
	for _, column := range []string{"id", "ordinal", "revision", "position", "dimension", "subscription_id",
		"provider_document_id"} {
		if at := slices.Index(columns, column); at >= 0 {
			values[at] = fresh(values[at])
		}
	}
	places := make([]string, len(columns))
	for n := range places {
		places[n] = fmt.Sprintf("$%d", n+1)
	}
	out = append(out, change{fmt.Sprintf("a copy of row %d of %s", n+1, table), `insert into ` + table + ` (` +
		strings.Join(columns, ", ") + `) values (` + strings.Join(places, ", ") + `)`, values})
	return out
}

// flip returns a different value for a column.
func flip(value any, table, column string) any {
	switch v := value.(type) {
	case []byte:
		if len(v) == 0 {
			return []byte{1}
		}
		v = slices.Clone(v)
		v[len(v)-1] ^= 1
		return v
	case int64:
		return v + 1
	case string:
		return v + "x"
	case nil:
		switch {
		case strings.HasSuffix(column, "_at"), column == "sequence", column == "size", column == "last_status",
			column == "credit_note_ordinal":
			return int64(1)
		case strings.HasSuffix(column, "_events"), strings.HasSuffix(column, "_sha256") && table == "submissions",
			column == "evidence_head", column == "events", column == "credit_note_id":
			return []byte{1}
		}
		return "x"
	}
	return nil
}

// fresh returns a value that no row has.
func fresh(value any) any {
	switch v := value.(type) {
	case []byte:
		v = slices.Clone(v)
		v[len(v)-2] ^= 0x55
		return v
	case int64:
		return v + 1000
	case string:
		return v + "y"
	}
	return value
}
