package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
)

// fillDecoy gives the decoy a row of every kind, with values that the tests use too: numbers from INV-1, the same
// subscription and the same documents. None of it is due, so it does not interfere with tests.
func (f *fixture) fillDecoy(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	c := f.decoy
	_, err := f.CreateToken(ctx, c.user, store.NewToken{Digest: [32]byte{1}, ExpiresAt: f.Clock.Now().AddDate(10, 0, 0)})
	kit.Must(t, err)
	c.createKey(t, f, newKey(t, "decoy"))
	c.fillBook(t)
	_, err = c.tenant.StoreUpload(ctx, store.Upload{Name: "decoy.csv", Body: []byte("decoy")}, c.user.ID,
		10*365*24*time.Hour)
	kit.Must(t, err)
	kit.Must(t, f.BeginLogin(ctx, store.PendingLogin{Digest: [32]byte{0xd0}, User: c.user, Means: store.LoginByPassword},
		f.Clock.Now().AddDate(10, 0, 0)))
	kit.Must(t, c.tenant.BeginTOTP(ctx, store.Session{User: c.user.ID}, secret.New(sharedSecret)))
	kit.Must(t, c.addPasskey(t, store.Session{User: c.user.ID, Digest: [32]byte{1}}, 1, nil))
	kit.Must(t, c.tenant.BeginPasskey(ctx, store.Session{User: c.user.ID, Digest: [32]byte{1}},
		c.challenge(2, store.ChallengeConfirmation)))
	_, err = f.raw.ExecContext(ctx, `update passkey_challenges set expires_at = $1`,
		f.Clock.Now().AddDate(10, 0, 0).UnixMicro())
	kit.Must(t, err)
	c.fillReset(t, f, f.Clock.Now().AddDate(10, 0, 0))
	c.fillMails(t, f, 10*365*24*time.Hour)
	kit.Must(t, c.tenant.DeleteInvoice(ctx, c.create(t, "INV-0").ID, anyVersion))
	s := c.subscribe(t, api.EventKinds[:]...)
	_, err = c.tenant.VoidCreditNote(ctx, c.credit(t, c.create(t, "INV-2").ID, byQuantity(0, "1")).ID)
	kit.Must(t, err)
	claim, _ := f.claimPurchases(t, c)
	retain(t, claim, store.SyncStep{Cursor: "c-1", After: 10 * 365 * 24 * time.Hour}, incoming("a", "A"),
		incoming("b", "decoy"), incoming("b", "B"))
	call := c.submit(t, "INV-1")
	decide(t, call, func(s store.Submission, now time.Time) store.Decision {
		d := reported(s, now, allFour("accepted", true), api.EventSubmissionUpdated, api.EventStatusChanged,
			api.EventTerminal)
		d.Evidence.Withheld, d.DueAt = true, nil
		return d
	})
	for n, d := range f.claimDeliveries(t, s.ID, 10) {
		settlement := store.DeliveryUpdate{State: store.DeliveryPending, DueAt: f.Clock.Now().AddDate(10, 0, 0)}
		if n == 0 {
			settlement = store.DeliveryUpdate{State: store.DeliveryDelivered}
		}
		kit.Must(t, d.RecordAttempt(ctx, store.Attempt{StartedAt: f.Clock.Now(), Duration: time.Second, HTTPStatus: 200,
			ResponseBody: []byte("ok")}, settlement))
	}
}

// table is a table of the schema.
type table struct {
	name    string
	columns []string
}

var (
	createTable  = regexp.MustCompile(`(?ms)^create table (\w+) \((.*?)^\);`)
	columnOfText = regexp.MustCompile(`(?m)^\s+(\w+)\s+(?:bytea|text|bigint)\b`)
	addedColumn  = regexp.MustCompile(`(?m)^alter table (\w+) add column (?:if not exists )?(\w+)`)
)

// tables returns the tables of the schema, so that it includes those that are added later.
func tables(t *testing.T) []table {
	t.Helper()
	out, err := readTables()
	kit.Must(t, err)
	if len(out) < 14 {
		t.Fatalf("only %d tables were found in the schema", len(out))
	}
	return out
}

// readTables reads the schema once, because most tests need it several times.
var readTables = sync.OnceValues(func() (out []table, err error) {
	files, err := filepath.Glob("schema/*.sql")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, found := range createTable.FindAllStringSubmatch(string(text), -1) {
			tab := table{name: found[1]}
			for _, column := range columnOfText.FindAllStringSubmatch(found[2], -1) {
				tab.columns = append(tab.columns, column[1])
			}
			// otherwise it is built anew
			if !slices.ContainsFunc(out, func(known table) bool { return known.name == tab.name }) {
				out = append(out, tab)
			}
		}
		for _, found := range addedColumn.FindAllStringSubmatch(string(text), -1) {
			if strings.HasSuffix(found[2], "_rebuilt") {
				continue // a column that is built anew, and renamed at once
			}
			// each engine may have a migration of its own
			if n := slices.IndexFunc(out, func(tab table) bool { return tab.name == found[1] }); n >= 0 &&
				!out[n].has(found[2]) {
				out[n].columns = append(out[n].columns, found[2])
			}
		}
	}
	return out, nil
})

func (tab table) has(column string) bool { return slices.Contains(tab.columns, column) }

// scope returns the column that assigns the rows of a table to a company, and its value; "" for tables that belong to
// no company.
func (tab table) scope(c company) (column string, value store.ID) {
	switch {
	case tab.has("tenant_id"):
		return "tenant_id", c.tenant.Key()
	case tab.has("account_id"):
		return "account_id", c.account.ID
	case tab.name == "accounts":
		return "id", c.account.ID
	}
	return "", store.ID{}
}

// rows returns the rows of a query, each as text.
func (f *fixture) rows(t *testing.T, query string, args ...any) []string {
	t.Helper()
	rows, err := f.raw.QueryContext(t.Context(), query, args...)
	kit.Must(t, err)
	defer func() { kit.Must(t, rows.Close()) }()
	columns, err := rows.Columns()
	kit.Must(t, err)
	var out []string
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for n := range values {
			into[n] = &values[n]
		}
		kit.Must(t, rows.Scan(into...))
		row := make([]string, len(columns))
		for n, value := range values {
			format := "%s=%v"
			if _, isBytes := value.([]byte); isBytes {
				format = "%s=%x"
			}
			row[n] = fmt.Sprintf(format, columns[n], value)
		}
		out = append(out, strings.Join(row, " "))
	}
	kit.Must(t, rows.Err())
	slices.Sort(out)
	return out
}

// dump returns every row of a company in every table.
func (f *fixture) dump(t *testing.T, c company) string {
	t.Helper()
	var out strings.Builder
	for _, tab := range tables(t) {
		column, value := tab.scope(c)
		if column == "" {
			continue
		}
		for _, row := range f.rows(t, "select * from "+tab.name+" where "+column+" = $1", value) {
			fmt.Fprintf(&out, "%s: %s\n", tab.name, row)
		}
	}
	return out.String()
}

// ids returns the identifier of one row of a company in every table with identifiers.
func (f *fixture) ids(t *testing.T, c company) []store.ID {
	t.Helper()
	var out []store.ID
	for _, tab := range tables(t) {
		column, value := tab.scope(c)
		if column == "" || !tab.has("id") {
			continue
		}
		var id store.ID
		err := f.raw.QueryRowContext(t.Context(), "select id from "+tab.name+" where "+column+" = $1 order by id limit 1",
			value).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		kit.Must(t, err)
		out = append(out, id)
	}
	return out
}

// TestIdentifiersOfAnotherCompany calls every method of a company's tenant and of its read models that takes an
// identifier, with every identifier of another company. Each must return that it does not exist.
func TestIdentifiersOfAnotherCompany(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		f.probeMethods(t, reflect.ValueOf(f.tenant), 40)
		f.probeMethods(t, reflect.ValueOf(view.Of(f.tenant)), 20)
		f.probeMethods(t, reflect.ValueOf(f.tenant.Customers()), 3)
		f.probeMethods(t, reflect.ValueOf(f.tenant.Items()), 3)
	})
}

// probeMethods probes the methods of one value, and fails the test after fewer than least calls.
func (f *fixture) probeMethods(t *testing.T, of reflect.Value, least int) {
	t.Helper()
	ids := f.ids(t, f.decoy)
	var called int
	for n := range of.NumMethod() {
		method, name := of.Method(n), of.Type().Method(n).Name
		if kind := method.Type(); kind.NumIn() < 2 || kind.In(0) != reflect.TypeFor[context.Context]() ||
			kind.In(1) != reflect.TypeFor[store.ID]() {
			continue
		}
		for _, id := range ids {
			called++
			args := zeroArgs(t, method.Type())
			args[1] = reflect.ValueOf(id)
			if err := lastError(method.Call(args)); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s of the decoy's %s: error %v, want %v", name, id, err, store.ErrNotFound)
				break
			}
		}
	}
	if called < least {
		t.Errorf("only %d calls were tried with %d identifiers", called, len(ids))
	}
}

// zeroArgs returns arguments for a method: the test's context, and zero values.
func zeroArgs(t *testing.T, method reflect.Type) []reflect.Value {
	var args []reflect.Value
	for in := range method.Ins() {
		if in == reflect.TypeFor[context.Context]() {
			args = append(args, reflect.ValueOf(t.Context()))
			continue
		}
		args = append(args, reflect.Zero(in))
	}
	return args
}

// lastError returns the last result of a call, which is an error.
func lastError(results []reflect.Value) error {
	err, _ := reflect.TypeAssert[error](results[len(results)-1])
	return err
}

// fillReset gives the user of a company a link for a new password until a time, with the digest of 200.
func (c *company) fillReset(t *testing.T, f *fixture, expires time.Time) {
	t.Helper()
	_, err := f.raw.ExecContext(t.Context(),
		`insert into password_resets (account_id, user_id, digest, password_changed_at, created_at, expires_at)
		select account_id, id, $2, password_changed_at, created_at, $3 from users where id = $1`, c.user.ID[:], []byte{31: 200}, expires.UnixMicro())
	kit.Must(t, err)
	kit.Must(t, f.SealRow(t.Context(), "password_resets", c.account.ID, c.user.ID))
}

// fillMails gives a company a mail, a notice and mail settings. The first two are due after a time.
func (c *company) fillMails(t *testing.T, f *fixture, after time.Duration) {
	t.Helper()
	due, expiry := f.Clock.Now().Add(after).UnixMicro(), f.Clock.Now().AddDate(10, 0, 0).UnixMicro()
	for _, statement := range []string{
		`insert into mails (account_id, id, kind, recipient, subject_id, language, count, state, created_at, due_at, expires_at)
			select account_id, id, 'notice_rejection', email, id, '', 1, 'pending', created_at, $2, $3 from users where id = $1`,
		`insert into notices (account_id, kind, count, due_at) select account_id, 'notice_rejection', 1, $2 from users where id = $1 and cast($3 as bigint) > 0`,
		`insert into mail_settings (account_id, user_id, language, notices_off) select account_id, id, 'ar', '' from users where id = $1 and cast($2 as bigint) > 0 and cast($3 as bigint) > 0`,
	} {
		_, err := f.raw.ExecContext(t.Context(), statement, c.user.ID[:], due, expiry)
		kit.Must(t, err)
	}
}
