package ledger_test

import (
	"go/ast"
	"go/token"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestOneInstant: what a transaction writes bears one time, although the clock goes back whenever it is looked at: an
// event is never dated before its evidence.
func TestOneInstant(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		start, looks := f.Clock.Now(), atomic.Int64{}
		f.Options.Now = func() time.Time { return start.Add(-time.Duration(looks.Add(1)) * time.Second) }
		f.DB = f.Again(t)
		var err error
		f.Tenant, err = f.DB.Tenant(t.Context(), f.Account.ID)
		kit.Must(t, err)
		f.Subscribe(t, api.EventKinds[:]...)
		made, err := identity.CreateAccount(t.Context(), f.DB, "Palm", identity.NewUser{Email: "second@example.com",
			PasswordHash: "-"})
		kit.Must(t, err)
		if others := f.Number(t,
			`select count(*) from accounts a join tenants t on t.account_id = a.id join users u on u.account_id = a.id
			where a.id = $1 and (t.created_at <> a.created_at or u.created_at <> a.created_at or a.created_at <> $2)`, made.ID, made.CreatedAt.UnixMicro()); others != 0 {
			t.Error("an account, its tenant and its user bear several times")
		}
		after := fixture.Record(t, f.Submit(t, "INV-1"), fixture.AllFour("accepted", true), api.EventSubmissionUpdated,
			api.EventStatusChanged, api.EventTerminal)
		at := after.LastCheckedAt.UnixMicro()
		for name, query := range map[string]string{
			"evidence":   `select count(*) from evidence where received_at <> $1`,
			"states":     `select count(*) from states where changed_at <> $1`,
			"submission": `select count(*) from submissions where terminal_at <> $1 or last_checked_at <> $1`,
			"events":     `select count(*) from events where occurred_at <> $1`,
			"deliveries": `select count(*) from deliveries where created_at <> $1 or due_at <> $1 or updated_at <> $1`,
			"invoice":    `select count(*) from invoices where updated_at <> $1`,
		} {
			if others := f.Number(t, query, at); others != 0 {
				t.Errorf("%s: %d rows bear another time than the rest", name, others)
			}
		}
		if events := f.Number(t, `select count(*) from events where occurred_at = $1`, at); events != 3 {
			t.Errorf("%d events bear the time of the evidence, want 3", events)
		}
	})
}

// TestTransactionsAskTheirOwnClock reads the source of the ledger: what runs in a transaction asks it for the time,
// not the clock, which may have moved since.
func TestTransactionsAskTheirOwnClock(t *testing.T) {
	set := token.NewFileSet()
	transactions := 0
	for _, file := range sources(t, set) {
		ast.Inspect(file, func(node ast.Node) bool {
			var of *ast.FuncType
			var body *ast.BlockStmt
			switch function := node.(type) {
			case *ast.FuncDecl:
				of, body = function.Type, function.Body
				if function.Name.Name == "now" || function.Recv != nil && !isTransaction(function.Recv.List[0].Type) &&
					!takesTransaction(of) {
					return true
				}
				if function.Recv == nil && !takesTransaction(of) {
					return true
				}
			case *ast.FuncLit:
				if of, body = function.Type, function.Body; !takesTransaction(of) {
					return true
				}
			default:
				return true
			}
			transactions++
			ast.Inspect(body, func(node ast.Node) bool {
				call, ok := node.(*ast.CallExpr)
				if !ok {
					return true
				}
				if asked, ok := call.Fun.(*ast.SelectorExpr); ok && (asked.Sel.Name == "now" || asked.Sel.Name == "Now") &&
					namesDB(asked.X) {
					t.Errorf("%s: a transaction asks the clock itself", set.Position(call.Pos()))
				}
				return true
			})
			return false
		})
	}
	if transactions < 30 {
		t.Errorf("only %d transactions were found", transactions)
	}
}

func isTransaction(expr ast.Expr) bool {
	pointer, ok := expr.(*ast.StarExpr)
	if !ok {
		return false
	}
	switch of := pointer.X.(type) {
	case *ast.Ident:
		return of.Name == "Tx"
	case *ast.SelectorExpr:
		return of.Sel.Name == "Tx"
	}
	return false
}

func takesTransaction(of *ast.FuncType) bool {
	for _, parameter := range of.Params.List {
		if isTransaction(parameter.Type) {
			return true
		}
	}
	return false
}

// namesDB tells whether an expression is a database: db, or something's.
func namesDB(expr ast.Expr) bool {
	switch e := expr.(type) {
	case *ast.Ident:
		return strings.EqualFold(e.Name, "db")
	case *ast.SelectorExpr:
		return strings.EqualFold(e.Sel.Name, "db")
	case *ast.CallExpr:
		return namesDB(e.Fun)
	}
	return false
}
