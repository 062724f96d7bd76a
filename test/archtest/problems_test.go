package archtest_test

import (
	"go/ast"
	"strconv"
	"testing"

	"quittance/client/api"
	"quittance/internal/platform/problem"
)

// testProblems holds that an error that users see is defined once: the names by which pages know the kinds of problems
// are literals, no two kinds have the same one, and none has that of a code of the API.
func (m *module) testProblems(t *testing.T) {
	defined := map[string]string{}
	m.production(func(pkg string, f sourceFile) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			selected, ok := call.Fun.(*ast.SelectorExpr)
			if from, isName := selectedFrom(selected); !ok || !isName || from != "problem" ||
				selected.Sel.Name != "Named" && selected.Sel.Name != "Local" {
				return true
			}
			literal, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				if pkg != "internal/ledger/base" { // a quota has its name in that of the problem
					t.Errorf("%s: the name of a problem is no literal", m.at(call))
				}
				return true
			}
			name, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			if other := defined[name]; other != "" || problem.For(api.Code(name)) != nil {
				t.Errorf("%s: the problem %q is defined twice, also at %s", m.at(call), name, other)
			}
			defined[name] = m.at(call)
			return true
		})
	})
	if len(defined) < 10 {
		t.Errorf("only %d problems", len(defined))
	}
}

// selectedFrom returns the name of the package or variable that something is selected from.
func selectedFrom(selected *ast.SelectorExpr) (string, bool) {
	if selected == nil {
		return "", false
	}
	from, ok := selected.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	return from.Name, true
}
