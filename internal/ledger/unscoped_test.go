package ledger_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"testing"
)

// readNoData lists the exported functions that take a context and touch no data, and why.
var readNoData = map[string]string{
	"base.ActorOf":          "reads the context",
	"base.WithActor":        "makes a context",
	"base.DB.NewServer":     "fills a struct",
	"proof.VerifyExport":    "reads an exported file",
	"base.DB.CurrentTenant": "finds a tenant for the packages of the ledger",
}

// TestUnscopedIsComplete checks that unscoped.go names every exported function and method that touches data without a
// tenant, and nothing else: no operation escapes the tenant's scope unnoticed.
func TestUnscopedIsComplete(t *testing.T) {
	set := token.NewFileSet()
	listed, declared, exist := map[string]bool{}, map[string]bool{}, map[string]bool{}
	link := regexp.MustCompile(`\[((?:\w+\.)*\w+)\]`)
	files := sources(t, set)
	scoped := scopedTypes(files)
	for _, file := range files {
		for _, group := range file.Comments {
			if set.Position(group.Pos()).Filename == "unscoped.go" {
				for _, found := range link.FindAllStringSubmatch(group.Text(), -1) {
					listed[found[1]] = true
				}
			}
		}
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || !function.Name.IsExported() {
				continue
			}
			name, on := function.Name.Name, receiver(function)
			if on != "" {
				name = on + "." + name
			}
			if file.Name.Name != "ledger" {
				name = file.Name.Name + "." + name
			}
			exist[name] = true
			if takesContext(function) && !takesScope(function) && !slices.Contains(scoped, on) && (on == "" ||
				ast.IsExported(on)) &&
				readNoData[name] == "" {
				declared[name] = true
			}
		}
	}
	for name := range declared {
		if !listed[name] {
			t.Errorf("%s touches data without a tenant and is not in unscoped.go", name)
		}
	}
	for name := range listed {
		if !declared[name] && !exist[name] && !slices.Contains(scopedNames, name) {
			t.Errorf("unscoped.go names %s, which is no exported function", name)
		}
	}
	if len(declared) < 50 {
		t.Errorf("only %d functions were found", len(declared))
	}
}

// scopedNames are the types that unscoped.go names.
var scopedNames = []string{"base.Tenant", "base.Reader", "base.Tx", "events.DeliveryLease", "invoices.SubmissionLease",
	"incoming.PurchaseLease", "invoices.Book"}

// scopedTypes returns Tenant, Reader and the types that contain the *Tenant they belong to, and the transaction, whose
// beginning was scoped.
func scopedTypes(files []*ast.File) []string {
	types := []string{"Tenant", "Reader", "Book", "Tx"}
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if body, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range body.Fields.List {
					if len(field.Names) == 1 && field.Names[0].Name == "Tenant" {
						types = append(types, spec.Name.Name)
					}
				}
			}
			return true
		})
	}
	return types
}

// receiver returns the name of the type of a method, or "".
func receiver(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return ""
	}
	return typeName(function.Recv.List[0].Type)
}

// typeName returns the name of a type without its package, or "" for one without a name.
func typeName(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return typeName(of.X)
	case *ast.IndexExpr:
		return typeName(of.X)
	case *ast.SelectorExpr:
		return of.Sel.Name
	case *ast.Ident:
		return of.Name
	}
	return ""
}

// takesContext reports whether a function has a parameter of type context.Context, as everything that touches data has.
func takesContext(function *ast.FuncDecl) bool { return takes(function, "Context") }

// takesScope reports whether a function is given a tenant, or a transaction or a reader of one.
func takesScope(function *ast.FuncDecl) bool {
	return takes(function, "Tenant", "Reader", "Tx", "Querier")
}

func takes(function *ast.FuncDecl, names ...string) bool {
	return slices.ContainsFunc(function.Type.Params.List, func(field *ast.Field) bool {
		return slices.Contains(names, typeName(field.Type))
	})
}
