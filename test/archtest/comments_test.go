package archtest_test

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

func (m *module) testPackageComments(t *testing.T) {
	comments := map[string]string{}
	m.production(func(pkg string, f sourceFile) { comments[pkg] += f.syntax.Doc.Text() })
	for pkg, comment := range comments {
		want := "Package " + m.packages[pkg].name + " "
		if m.packages[pkg].name == "main" {
			want = "Command " + path.Base(pkg) + " "
		}
		if !strings.HasPrefix(comment, want) {
			t.Errorf("%s: the package comment has to begin with %q: purpose, invariant, where to start reading", pkg, want)
		}
	}
}

func (m *module) testNameComments(t *testing.T) {
	report := func(name *ast.Ident) {
		t.Errorf("%s: %s is exported and has no comment", m.at(name), name.Name)
	}
	m.production(func(_ string, f sourceFile) {
		for _, decl := range f.syntax.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Name.IsExported() && decl.Doc == nil && !isErrorMethod(decl) && (decl.Recv == nil || receiver(decl).IsExported()) {
					report(decl.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					for _, name := range undocumented(decl, spec) {
						report(name)
					}
				}
			}
		}
	})
}

// isErrorMethod tells whether a method is one that every error has, and package errors explains.
func isErrorMethod(fn *ast.FuncDecl) bool {
	return fn.Recv != nil && slices.Contains([]string{"Error", "Unwrap"}, fn.Name.Name)
}

// receiver returns the name of a method's type.
func receiver(fn *ast.FuncDecl) *ast.Ident {
	expr := fn.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e
		default:
			panic(fmt.Sprintf("a receiver of the form %T", e)) // the language has no other
		}
	}
}

// undocumented returns the exported names of a declaration without a comment. A group of types needs one for each; for
// a group of constants or variables, one above the group will do.
func undocumented(decl *ast.GenDecl, spec ast.Spec) []*ast.Ident {
	var names []*ast.Ident
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Doc == nil && (decl.Doc == nil || decl.Lparen.IsValid()) {
			names = []*ast.Ident{spec.Name}
		}
	case *ast.ValueSpec:
		if spec.Doc == nil && spec.Comment == nil && decl.Doc == nil {
			names = spec.Names
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name *ast.Ident) bool { return !name.IsExported() })
}
