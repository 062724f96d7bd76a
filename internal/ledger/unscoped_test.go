package ledger_test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readNoData lists the exported functions that have a database or a context and touch no data, and why.
var readNoData = map[string]string{
	"base.ActorOf":               "reads the context",
	"base.WithActor":             "makes a context",
	"base.DB.AccountQueue":       "names a queue",
	"base.DB.Checkpoint":         "calls a function of a test",
	"base.DB.Classify":           "reads an error",
	"base.DB.CountLimitedMail":   "counts in memory",
	"base.DB.Dialect":            "describes the database system",
	"base.DB.Engine":             "names the database system",
	"base.DB.ExistsError":        "reads an error",
	"base.DB.Keys":               "returns the keys in memory",
	"base.DB.Log":                "returns the logger",
	"base.DB.NewID":              "makes an identifier",
	"base.DB.NewServer":          "fills a struct",
	"base.DB.Now":                "reads the clock",
	"base.DB.Packer":             "compresses what it is given",
	"base.DB.Quotas":             "returns options",
	"base.DB.Random":             "returns the source of randomness",
	"base.DB.SingleServer":       "describes the database system",
	"base.RowArgs":               "makes arguments",
	"invoices.SubmissionColumns": "returns text",
	"proof.VerifyExport":         "reads an exported file",
}

// TestUnscopedIsComplete checks that unscoped.go names every exported function and method that touches data without a
// tenant, and nothing else: no operation escapes the tenant's scope unnoticed.
func TestUnscopedIsComplete(t *testing.T) {
	set := token.NewFileSet()
	listed, declared := map[string]bool{}, map[string]bool{}
	link := regexp.MustCompile(`\[((?:\w+\.)*\w+)\]`)
	files := sources(t, set)
	scoped := scopedTypes(files)
	for _, file := range files {
		for _, group := range file.Comments {
			if path.Base(set.Position(group.Pos()).Filename) == "unscoped.go" {
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
				name, on = file.Name.Name+"."+name, file.Name.Name+"."+on
			}
			if takes(function, "Context", "DB", "Querier") || strings.HasSuffix(on, ".DB") {
				if !takes(function, "Tenant", "Reader", "Tx") && !slices.Contains(scoped, on) && readNoData[name] == "" &&
					(function.Recv == nil || ast.IsExported(receiver(function))) {
					declared[name] = true
				}
			}
		}
	}
	for name := range declared {
		if !listed[name] {
			t.Errorf("%s touches data without a tenant and is not in unscoped.go", name)
		}
	}
	for name := range listed {
		if !declared[name] && !slices.Contains(scoped, name) {
			t.Errorf("unscoped.go names %s, which is no exported function without a tenant", name)
		}
	}
	if len(declared) < 50 {
		t.Errorf("only %d functions were found", len(declared))
	}
}

// scopedTypes returns what belongs to one tenant: Tenant, Reader, Book, the types that contain the *Tenant they belong
// to, and the transaction, whose beginning was scoped.
func scopedTypes(files []*ast.File) []string {
	types := []string{"base.Tenant", "base.Reader", "invoices.Book", "base.Tx"}
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if body, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range body.Fields.List {
					_, pointer := field.Type.(*ast.StarExpr)
					if len(field.Names) == 1 && field.Names[0].Name == "Tenant" && pointer && typeName(field.Type) == "Tenant" {
						types = append(types, file.Name.Name+"."+spec.Name.Name)
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

// takes reports whether a function has a parameter of one of some types.
func takes(function *ast.FuncDecl, names ...string) bool {
	return slices.ContainsFunc(function.Type.Params.List, func(field *ast.Field) bool {
		return slices.Contains(names, typeName(field.Type))
	})
}
