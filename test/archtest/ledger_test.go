package archtest_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	ledgerPath = modulePath + "/" + ledger
	basePath   = ledgerPath + "/base"
)

// offered are the names of package base that packages outside of the ledger may use, beside plain data: types, errors,
// constants, identifiers, and the fields of structs. Everything else of base runs statements, or makes a tenant that no
// login and no lease has given. To add a name is to open the ledger: argue in review for it.
var offered = []string{
	"ActorOf", "Acts", "DB.AcquireLimits", "DB.AddedKey", "DB.Audit", "DB.Authenticate", "DB.AuthenticateAPIKey",
	"DB.Backup", "DB.ChangedRows", "DB.CheckKeys", "DB.Checkpoint", "DB.ClockMoved", "DB.Close", "DB.Engine",
	"DB.EvidenceKey", "DB.KeyRecorded", "DB.Keys", "DB.LimitUsage", "DB.LimitedMails", "DB.LockForServing",
	"DB.Migrated", "DB.NewID", "DB.NewServer", "DB.Now", "DB.Ping", "DB.Pools", "DB.RecordKey", "DB.RecordUses",
	"DB.RefreshKeys", "DB.RegisterServer", "DB.ReleaseLimits", "DB.Servers", "DB.SingleServer", "DB.Subscribe",
	"DB.Tenant", "DB.UnregisterServer", "DB.UserOf", "DB.UsersToLogIn", "IsPostgres", "OpenUnmigrated", "ParseID",
	"Queue.Company", "Queue.Key", "RequireVerifiedServer", "Session.For", "Session.RecordID", "SystemActor",
	"Tenant.Account", "Tenant.ID", "WithActor",
}

// offeredToView are the names that internal/front/view may use too, to read pages and lists.
var offeredToView = []string{
	"ReadRows", "ReadSnapshot", "Reader", "Reader.ByteOrder", "Reader.InSubquery", "Reader.Now", "Reader.Query",
	"Row", "SelectAudit", "events.Select", "events.SelectDeliveries", "events.SelectSubscriptions",
	"incoming.Select", "incoming.SelectRevisions", "invoices.ReadCounts", "invoices.ReadPositions",
	"invoices.SelectByRank", "invoices.SelectCatalogueItems", "invoices.SelectCreditNotes",
	"invoices.SelectCustomers", "invoices.SelectEvidence", "invoices.SelectRows", "invoices.SelectSubmissions",
}

// TestLedgerIsClosed checks, by types, that packages outside of the ledger use nothing of package base but what is
// offered to them, and call no function of the ledger that runs in a transaction or with a reader of its caller.
func TestLedgerIsClosed(t *testing.T) {
	used := map[string]bool{}
	for _, pkg := range typedPackages(t) {
		for id, object := range pkg.info.Uses {
			name := closed(object)
			if name == "" {
				continue
			}
			used[name] = true
			if slices.Contains(offered, name) || pkg.path == modulePath+"/internal/front/view" && slices.Contains(offeredToView,
				name) {
				continue
			}
			t.Errorf("%s: %s of the ledger is for the ledger alone", pkg.set.Position(id.Pos()), name)
		}
	}
	for _, name := range slices.Concat(offered, offeredToView) {
		if !used[name] {
			t.Errorf("%s is offered and not used: take it off the list", name)
		}
	}
}

// closed returns the name of an object that only the ledger may use unless it is offered, or "".
func closed(object types.Object) string {
	if object.Pkg() == nil || !strings.HasPrefix(object.Pkg().Path()+"/", ledgerPath+"/") {
		return ""
	}
	name := object.Name()
	switch o := object.(type) {
	case *types.Func:
		signature, _ := o.Type().(*types.Signature)
		if receiver := signature.Recv(); receiver != nil {
			if name = typeOf(receiver.Type()) + "." + name; slices.Contains(plain, typeOf(receiver.Type())) {
				return ""
			}
		}
		if o.Pkg().Path() != basePath && !takesAny(signature, "Tx", "Querier", "Reader") {
			return ""
		}
		if o.Pkg().Path() != basePath {
			name = o.Pkg().Name() + "." + name
		}
	case *types.Var:
		if o.IsField() {
			name = ownerOf(o) + "." + name
		}
		if o.Pkg().Path() != basePath || strings.HasPrefix(name, "Err") || o.IsField() &&
			!slices.Contains([]string{"DB", "Reader", "Tx", "Sealer"}, ownerOf(o)) && !slices.Contains(forTests, name) {
			return ""
		}
	case *types.TypeName:
		if o.Pkg().Path() != basePath || !slices.Contains([]string{"Tx", "Querier", "Reader", "Sealer", "Row"}, name) {
			return ""
		}
	default:
		return ""
	}
	return name
}

// plain are types of package base whose methods touch no data.
var plain = []string{"ID", "ScanCursor", "AuditEntry"}

// forTests are options that production code outside of the ledger must not set.
var forTests = []string{"Options.Restoring", "Options.BeforeBegin", "Options.Trace"}

// ownerOf returns the name of the struct of package base that has a field.
func ownerOf(field *types.Var) string {
	scope := field.Pkg().Scope()
	for _, name := range scope.Names() {
		if body, ok := scope.Lookup(name).Type().Underlying().(*types.Struct); ok {
			for of := range body.Fields() {
				if of == field.Origin() {
					return name
				}
			}
		}
	}
	return ""
}

// typeOf returns the name of a type without its package and pointer.
func typeOf(of types.Type) string {
	if pointer, ok := of.(*types.Pointer); ok {
		of = pointer.Elem()
	}
	switch of := of.(type) {
	case *types.Named:
		return of.Obj().Name()
	case *types.Alias:
		return of.Obj().Name()
	}
	return ""
}

// takesAny reports whether a function has a parameter of one of some types.
func takesAny(signature *types.Signature, names ...string) bool {
	for parameter := range signature.Params().Variables() {
		if slices.Contains(names, typeOf(parameter.Type())) {
			return true
		}
	}
	return false
}

// typedPackage is a package whose identifiers are resolved.
type typedPackage struct {
	path string
	set  *token.FileSet
	info *types.Info
}

// typedPackages type-checks the production code of the packages outside of the ledger that import it, for this system.
func typedPackages(t *testing.T) (out []typedPackage) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export", "./...")
	cmd.Stderr = os.Stderr
	listing, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for decoder := json.NewDecoder(listing); ; {
		var listed struct{ ImportPath, Export string }
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[listed.ImportPath] = listed.Export
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	m := loadModule(t)
	imports := importer.ForCompiler(m.set, "gc",
		func(name string) (io.ReadCloser, error) { return os.Open(exports[name]) })
	for _, name := range slices.Sorted(maps.Keys(m.packages)) {
		if strings.HasPrefix(name+"/", ledger+"/") || strings.HasPrefix(name, "test/") {
			continue
		}
		var files []*ast.File
		uses := false
		for _, f := range m.packages[name].files {
			if here, err := build.Default.MatchFile(".", f.path); f.test || err != nil || !here {
				continue
			}
			files = append(files, f.syntax)
			for _, spec := range f.syntax.Imports {
				uses = uses || strings.HasPrefix(imported(spec)+"/", ledgerPath+"/")
			}
		}
		if !uses {
			continue
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		config := types.Config{Importer: imports}
		if _, err := config.Check(modulePath+"/"+name, m.set, files, info); err != nil {
			t.Fatal(err)
		}
		out = append(out, typedPackage{modulePath + "/" + name, m.set, info})
	}
	if len(out) < 15 {
		t.Fatalf("only %d packages use the ledger", len(out))
	}
	return out
}
