package invoice_test

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestWrongProgramsDoNotCompile: small programs that infer or invent a state do not compile. The first program, which
// is right, shows that the others fail for that reason.
func TestWrongProgramsDoNotCompile(t *testing.T) {
	tests := []struct {
		name, body, want string // an empty want compiles
	}{
		{"right", `func f(s invoice.States) (invoice.State[invoice.TaxAuthority], bool) {
			s.Receiver = invoice.State[invoice.Receiver]{}
			return s.TaxAuthority, s.Receiver.Terminal()
		}`, ""},
		{"assign another dimension", `func f(r invoice.State[invoice.Receiver]) {
			var a invoice.State[invoice.TaxAuthority] = r
			_ = a
		}`, "cannot use r"},
		{"convert another dimension", `func f(r invoice.State[invoice.Receiver]) {
			_ = invoice.State[invoice.TaxAuthority](r)
		}`, "cannot convert r"},
		{"put another dimension into the states", `func f(s invoice.States) {
			s.TaxAuthority = s.ProviderInvoice
		}`, "cannot use s.ProviderInvoice"},
		{"compare two dimensions", `func f(s invoice.States) bool {
			return s.TaxAuthority == s.Submission
		}`, "mismatched types"},
		{"make up a value", `var s = invoice.State[invoice.Receiver]{value: "accepted"}`, "unexported field value"},
		{"make up a state without field names",
			`var s = invoice.State[invoice.Receiver]{[0]invoice.Receiver{}, "accepted", true}`, "unexported field"},
		{"set a value", `func f(s *invoice.States) { s.Receiver.value = "accepted" }`, "no field or method value"},
		{"make up a fifth dimension", `type Outcome struct{}
		var s invoice.State[Outcome]`, "does not satisfy"},
		{"convert a structure of the same form", `type copy struct {
			_ [0]invoice.Receiver
			value string
			terminal bool
		}
		var s = invoice.State[invoice.Receiver](copy{value: "accepted"})`, "cannot convert"},
	}
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", compiled(t))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file, err := parser.ParseFile(files, "program.go",
				"package program\nimport \"quittance/internal/document/invoice\"\n"+tt.body, 0)
			if err != nil {
				t.Fatal(err)
			}
			config := types.Config{Importer: imports}
			_, err = config.Check("program", files, []*ast.File{file}, nil)
			if tt.want == "" {
				if err != nil {
					t.Fatalf("does not compile: %v", err)
				}
				return
			}
			var fault types.Error
			if !errors.As(err, &fault) || !strings.Contains(fault.Msg, tt.want) {
				t.Fatalf("got %v, want a type error with %q", err, tt.want)
			}
		})
	}
}

// compiled returns the export data of this package and its imports from the go command.
func compiled(t *testing.T) importer.Lookup {
	t.Helper()
	list, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(list)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
}
