package simulation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// markerPrefix begins the comment that marks the statement in which a bug is planted.
const markerPrefix = "//planted:"

// TestPlantedBugsBuild checks that every planted bug has exactly one marker, that every marker has a bug, and that the
// sources compile with all bugs in them. A compiler error names the bug in place of the file.
func TestPlantedBugsBuild(t *testing.T) {
	overlay, packages := plantBugs(t)
	build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay", overlay}, packages...)...)
	if output, err := build.CombinedOutput(); err != nil {
		t.Errorf("the planted bugs do not compile: %v\n%s", err, output)
	}
}

// source is a file of the product with marked statements.
type source struct {
	path       string
	text       []byte
	set        *token.FileSet
	syntax     *ast.File
	insertions []insertion
}

// insertion is text that is inserted into a file, at a byte offset.
type insertion struct {
	offset int
	text   string
}

// plantBugs copies the marked sources with all bugs in them, each behind its switch, so that the product itself does
// not contain them. It returns the file for the flag -overlay of the go command, and the directories of the changed
// packages.
func plantBugs(t *testing.T) (overlay string, packages []string) {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	pending := map[string]bug{}
	for _, b := range bugs() {
		pending[b.name] = b
	}
	replace := map[string]string{}
	store := func(path string, text []byte) {
		replaced := filepath.Join(dir, fmt.Sprintf("%d_%s", len(replace), filepath.Base(path)))
		if err := os.WriteFile(replaced, text, 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = replaced
	}
	for _, s := range markedSources(t, root) {
		s.plant(t, pending)
		store(s.path, s.changed())
		packages = append(packages, filepath.Dir(s.path))
	}
	for name := range pending {
		t.Errorf("no statement has the marker %s%s, or two have it", markerPrefix, name)
	}
	store(filepath.Join(root, "internal", "planted", "planted.go"), []byte(switchSource))
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	slices.Sort(packages)
	return overlay, slices.Compact(packages)
}

// switchSource is the package that switches the bugs on.
const switchSource = `// Package planted switches planted bugs on.
package planted

import "os"

// Is reports whether the bug is on.
func Is(name string) bool { return os.Getenv("QUITTANCE_PLANTED") == name }
`

// markedSources returns the files below root that contain a marker, except tests.
func markedSources(t *testing.T, root string) (marked []*source) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		s := &source{path: path, set: token.NewFileSet()}
		if s.text, err = os.ReadFile(path); err != nil || !bytes.Contains(s.text, []byte(markerPrefix)) {
			return err
		}
		s.syntax, err = parser.ParseFile(s.set, path, s.text, parser.ParseComments|parser.SkipObjectResolution)
		marked = append(marked, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return marked
}

// plant plants the bugs that the file's markers name, and removes them from pending.
func (s *source) plant(t *testing.T, pending map[string]bug) {
	t.Helper()
	s.insert(s.syntax.Name.End(), `; import "quittance/internal/planted"`)
	for _, group := range s.syntax.Comments {
		for _, comment := range group.List {
			name, marker := strings.CutPrefix(comment.Text, markerPrefix)
			if !marker {
				continue
			}
			b, found := pending[name]
			if !found {
				t.Errorf("%s: there is no bug %q, or it has two markers", s.set.Position(comment.Pos()), name)
				continue
			}
			delete(pending, name)
			if !s.change(s.statement(comment), b) {
				t.Errorf("%s: the bug %q cannot be planted in the statement that begins in this line",
					s.set.Position(comment.Pos()), name)
			}
		}
	}
}

// statement returns the outermost statement that begins in the line of a comment; nil if there is none.
func (s *source) statement(comment *ast.Comment) (found ast.Stmt) {
	line := s.set.Position(comment.Pos()).Line
	ast.Inspect(s.syntax, func(node ast.Node) bool {
		statement, ok := node.(ast.Stmt)
		if _, block := node.(*ast.BlockStmt); ok && !block && found == nil && s.set.Position(node.Pos()).Line == line {
			found = statement
		}
		return found == nil
	})
	return found
}

// change plants a bug in a statement. It returns false if the statement is not of the right kind.
func (s *source) change(statement ast.Stmt, b bug) bool {
	on := fmt.Sprintf("planted.Is(%q)", b.name)
	switch condition := condition(statement); {
	case statement == nil:
		return false
	case b.before != "":
		s.insertCode(statement.Pos(), on, b.name, b.before)
	case b.after != "":
		s.insertCode(statement.End(), on, b.name, b.after)
	case condition == nil:
		return false
	case b.never:
		s.insert(condition.Pos(), "!"+on+" && (")
		s.insert(condition.End(), ")")
	default:
		s.insert(condition.Pos(), "(")
		s.insert(condition.End(), ") || "+on+" && ("+b.or+")")
	}
	return true
}

// condition returns the condition of a statement, or nil if it has none.
func condition(statement ast.Stmt) ast.Expr {
	switch s := statement.(type) {
	case *ast.IfStmt:
		return s.Cond
	case *ast.CaseClause:
		if len(s.List) == 1 {
			return s.List[0]
		}
	case *ast.AssignStmt:
		if len(s.Rhs) == 1 {
			return s.Rhs[0]
		}
	}
	return nil
}

// insertCode inserts statements behind the switch of a bug. Line directives give the compiler the name of the bug for
// the position of an error, and the lines of the file as they are without the bug.
func (s *source) insertCode(at token.Pos, on, name, code string) {
	s.insert(at, fmt.Sprintf("\n//line %s:1\nif %s {\n//line %s:1\n%s\n}\n//line %s:%d\n",
		name, on, name, code, filepath.Base(s.path), s.set.Position(at).Line))
}

func (s *source) insert(at token.Pos, text string) {
	s.insertions = append(s.insertions, insertion{s.set.Position(at).Offset, text})
}

// changed returns the text of the file with the insertions.
func (s *source) changed() []byte {
	slices.SortStableFunc(s.insertions, func(a, b insertion) int { return cmp.Compare(b.offset, a.offset) })
	text := s.text
	for _, i := range s.insertions {
		text = slices.Insert(text, i.offset, []byte(i.text)...)
	}
	return text
}
