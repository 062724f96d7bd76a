package store_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"testing"
)

// readNoData lists the exported functions, and the methods of DB, that touch no data, and why.
var readNoData = map[string]string{
	"DB.Checkpoint":         "calls a function of a test",
	"DB.Engine":             "names the database system",
	"DB.Keys":               "returns the keys in memory",
	"DB.Migration":          "returns what Open did",
	"DB.NewID":              "makes an identifier",
	"DB.NewServer":          "fills a struct",
	"DB.Now":                "reads the clock",
	"DB.SingleServer":       "describes the database system",
	"ActorOf":               "reads a context",
	"Acts":                  "returns constants",
	"BookKey":               "converts a text",
	"IsPostgres":            "reads an address",
	"NoticeInterval":        "returns a constant",
	"NoticeKinds":           "returns constants",
	"OutcomeCondition":      "returns text",
	"Padded":                "changes a list",
	"ParseID":               "reads text",
	"RequireVerifiedServer": "reads an address",
	"SystemActor":           "returns a constant",
	"AmountKey":             "converts a value",
	"VerifyExport":          "reads an exported file",
	"WithActor":             "makes a context",
}

// TestUnscopedIsComplete checks that unscoped.go names every exported function and method that touches data without a
// tenant, and nothing else: no operation escapes the tenant's scope unnoticed.
func TestUnscopedIsComplete(t *testing.T) {
	set := token.NewFileSet()
	listed, declared := map[string]bool{}, map[string]bool{}
	link := regexp.MustCompile(`\[((?:DB|Queue)\.\w+|Open\w*|Restore)\]`)
	scoped := scopedTypes(sources(t, set, "*.go"))
	for _, file := range sources(t, set, "*.go") {
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
			name := function.Name.Name
			if on := receiver(function); on != "" {
				if !ast.IsExported(on) || slices.Contains(scoped, on) || on != "DB" && !takesContext(function) {
					continue
				}
				name = on + "." + name
			}
			if readNoData[name] == "" {
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
		if !declared[name] {
			t.Errorf("unscoped.go names %s, which is no exported function without a tenant", name)
		}
	}
	if len(declared) < 50 {
		t.Errorf("only %d functions were found", len(declared))
	}
}

// scopedTypes returns Tenant, Reader and the types that contain the *Tenant they belong to.
func scopedTypes(files []*ast.File) []string {
	types := []string{"Tenant", "Reader", "Book"}
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
	of := function.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	name, _ := of.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}

// takesContext reports whether a function has a parameter of type context.Context, as everything that touches data has.
func takesContext(function *ast.FuncDecl) bool {
	return slices.ContainsFunc(function.Type.Params.List, func(field *ast.Field) bool {
		selector, ok := field.Type.(*ast.SelectorExpr)
		return ok && selector.Sel.Name == "Context"
	})
}
