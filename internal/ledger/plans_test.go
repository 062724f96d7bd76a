package ledger_test

import (
	"context"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/schema"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// operation is something that a server does, whose statements are examined.
type operation struct {
	name string
	// uses are the indexes that its statements use, on both databases.
	uses string
	run  func(ctx context.Context) error
	// depth is how many rows of a table it may examine, if that is more than fewRows.
	depth int
	// whole are tables and indexes that it reads whole.
	whole []string
	// list says that it reads a list, in a snapshot of the database.
	list bool
	// unsorted says that it reads rows in the order of an index and sorts none.
	unsorted bool
}

// fewRows is how many rows of a table a statement may read. The examined companies have more of each kind.
const fewRows = 400

// tracedStatement is a statement that an operation has run.
type tracedStatement struct {
	text string
	args []any
}

// trace runs an operation on a traced store and returns its statements, each text once. Inserts have no plan.
func (o *operation) trace(t *testing.T, tracer *[]tracedStatement) []tracedStatement {
	t.Helper()
	*tracer = nil
	if err := o.run(t.Context()); err != nil {
		t.Fatalf("%s: %v", o.name, err)
	}
	known := map[string]bool{}
	var out []tracedStatement
	for _, s := range *tracer {
		if !known[s.text] && !strings.HasPrefix(s.text, "insert into ") {
			known[s.text] = true
			out = append(out, s)
		}
	}
	return out
}

// TestPlans checks that what a server does repeatedly finds rows by indexes, and that the number of rows that it reads
// does not grow with the tables. Each operation runs on a database of many companies, some of which have many rows, and
// the database explains the statements that it has run.
func TestPlans(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			f := &fixture.Fixture{Store: ledgertest.Open(t, engine)}
			f.Raw = fixture.OpenRaw(t, f.Store)
			f.Company = f.NewCompany(t, "owner@example.com")
			rows := fillForPlans(t, f)
			explainers := explainers(t, f)
			var traced []tracedStatement
			options := f.Options
			options.Quotas = base.Quotas{StoredBytes: 20 << 30, Drafts: 200_000, Tokens: 100, SubscriptionsCreated: 1_000}
			options.Trace = func(text string, args []any) { traced = append(traced, tracedStatement{text, args}) }
			db, err := ledger.Open(t.Context(), f.Address, options)
			kit.Must(t, err)
			defer func() { kit.Must(t, db.Close()) }()
			tenant, err := db.Tenant(t.Context(), f.Account.ID)
			kit.Must(t, err)
			wanted := map[string]bool{}
			for _, o := range slices.Concat(workOperations(f, db, &rows), operatorOperations(f, db), mailOperations(f, db,
				tenant,
				&rows), requestOperations(f, db, tenant, &rows), bookRequests(tenant, &rows), listOperations(f, tenant, &rows)) {
				statements := o.trace(t, &traced)
				for _, explain := range explainers {
					if o.list && explain.anyValues {
						continue // a snapshot plans for the values
					}
					o.check(t, explain, statements)
				}
				for index := range strings.FieldsSeq(o.uses) {
					wanted[index] = true
				}
			}
			for _, index := range schemaIndexes(t) {
				if !wanted[index] && unexamined[index] == "" {
					t.Errorf("no examined operation uses the index %s", index)
				}
			}
		})
	}
}

// unexamined are the indexes that no examined operation uses, and why they exist.
var unexamined = map[string]string{
	"audit_at":            "an administrator's list",
	"submissions_unknown": "an administrator's list",
	"operators_email":     "unique; there are few operators", "operators_enrolment": "as operators_email",
	"sign_on_choices_expiry": "logins of a few minutes", "address_proofs_expiry": "as password_resets_expiry",
	"users_email_key": "unique; users_email finds its rows", "users_account_id_email_key": "as users_email_key",
	"tokens_user": "earlier versions; tokens_unrevoked has its columns",
}

var createIndex = regexp.MustCompile(`(?m)^create (?:unique )?index (\w+)`)

// schemaIndexes returns the names of the indexes of the schema, without those of primary keys and other constraints.
func schemaIndexes(t *testing.T) (names []string) {
	t.Helper()
	files, err := fs.Glob(schema.Files(), "*.sql")
	kit.Must(t, err)
	for _, file := range files {
		text, err := fs.ReadFile(schema.Files(), file)
		kit.Must(t, err)
		for _, found := range createIndex.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
	}
	if len(names) < 30 {
		t.Fatalf("only %d indexes were found in the schema", len(names))
	}
	return names
}

// check examines the plans of the statements of an operation.
func (o *operation) check(t *testing.T, explain explainer, statements []tracedStatement) {
	t.Helper()
	used := map[string]bool{}
	for _, s := range statements {
		if strings.HasPrefix(o.name, "invoices") && strings.Contains(s.text, "document") {
			t.Errorf("%s reads documents: %s", o.name, s.text)
		}
		for _, a := range explain.plan(s) {
			used[a.index] = true
			if fault := o.fault(a); fault != "" {
				t.Errorf("%s %s: %s %s\n%s", explain.name, o.name, a.text, fault, strings.Join(strings.Fields(s.text), " "))
			}
		}
	}
	for index := range strings.FieldsSeq(o.uses) {
		if !used[index] {
			t.Errorf("%s %s does not use %s but %q", explain.name, o.name, index, slices.Sorted(maps.Keys(used)))
		}
	}
}

// oneRow are unique indexes by company alone.
var oneRow = []string{"tenants_current", "connections_active"}

// fewPerCompany are tables of which a company has few rows.
var fewPerCompany = []string{"subscriptions", "api_keys", "second_factors"}

// fault returns what is wrong with an access, or "".
func (o *operation) fault(a tableAccess) string {
	switch {
	case a.sorts:
		if o.unsorted {
			return "sorts"
		}
		return ""
	case slices.Contains(o.whole, a.index), slices.Contains(o.whole, a.table):
		return ""
	case a.whole && !(a.counted && a.rows <= fewRows):
		return "reads everything"
	case a.company && !a.counted && o.depth == 0 && !slices.Contains(oneRow, a.index) &&
		!slices.Contains(fewPerCompany, a.table):
		return "reads a company"
	case a.rows > max(fewRows, o.depth):
		return "reads too many rows"
	}
	return ""
}
