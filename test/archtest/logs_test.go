package archtest_test

import (
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// logTable is the document with the table of log lines.
const logTable = "docs/ops/logs.md"

// unlogged are packages whose lines are not in the table: they are for developers, not for operators.
var unlogged = []string{"sandbox"}

// logMethods are the methods of slog.Logger that write a line, with their level and the position of the message.
var logMethods = map[string]struct {
	level   string
	message int
}{
	"Debug": {"debug", 0}, "Info": {"info", 0}, "Warn": {"warn", 0}, "Error": {"error", 0},
	"DebugContext": {"debug", 1}, "InfoContext": {"info", 1}, "WarnContext": {"warn", 1}, "ErrorContext": {"error", 1},
	"Log": {"", 2}, "LogAttrs": {"", 2},
}

// logLine is what the source, or the table, says about the lines with one message. The lists are sorted.
type logLine struct{ levels, fields []string }

// TestLogTable compares the table of log lines with the lines that the source can write, in both directions: messages,
// levels and fields. Messages are constant, so that a search finds every line of one event.
func TestLogTable(t *testing.T) {
	written, told := linesOfSource(t), linesOfTable(t)
	for message, line := range written {
		documented, ok := told[message]
		if !ok {
			t.Errorf("%s has no row for %q, with the levels %v and the fields %v", logTable, message, line.levels, line.fields)
			continue
		}
		if !slices.Equal(documented.levels, line.levels) || !slices.Equal(documented.fields, line.fields) {
			t.Errorf("%s says of %q: %v %v, the source: %v %v", logTable, message, documented.levels, documented.fields,
				line.levels, line.fields)
		}
	}
	for message := range told {
		if _, ok := written[message]; !ok {
			t.Errorf("%s has a row for %q, which nothing writes", logTable, message)
		}
	}
	if len(written) < 40 {
		t.Errorf("%d messages were found", len(written))
	}
}

// logRow matches a row of the table: message, levels, fields, meaning.
var logRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([a-z, ]+) \\| ([^|]*) \\| [^|]+ \\|$")

// linesOfTable returns the rows of the table by message.
func linesOfTable(t *testing.T) map[string]logLine {
	text, err := os.ReadFile(logTable)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]logLine{}
	for _, row := range logRow.FindAllStringSubmatch(string(text), -1) {
		line := logLine{levels: strings.Split(row[2], ", ")}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[3], -1) {
			line.fields = append(line.fields, name[1])
		}
		slices.Sort(line.levels)
		slices.Sort(line.fields)
		lines[row[1]] = line
	}
	return lines
}

// linesOfSource returns the log lines of the program by message.
func linesOfSource(t *testing.T) map[string]logLine {
	m, lines := loadModule(t), map[string]logLine{}
	m.each(func(pkg string, f sourceFile) {
		if f.test || slices.ContainsFunc(unlogged,
			func(p string) bool { return pkg == p || strings.HasPrefix(pkg, p+"/") }) ||
			strings.HasPrefix(f.path, "internal/cli/sandbox") {
			return
		}
		for _, declaration := range f.syntax.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(function, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !isLogCall(call) {
					return true
				}
				method := logMethods[call.Fun.(*ast.SelectorExpr).Sel.Name]
				message, ok := textLiteral(call.Args[method.message])
				if !ok {
					t.Errorf("%s: the message is not constant", m.at(call))
					return true
				}
				line := lines[message]
				if method.level != "" {
					line.levels = append(line.levels, method.level)
				} else {
					line.levels = append(line.levels, levelsIn(f.syntax, function)...)
				}
				line.fields = append(line.fields, fieldsOf(call.Args[method.message+1:])...)
				if call.Ellipsis != token.NoPos {
					line.fields = append(line.fields, collectedFields(function, call.Args[len(call.Args)-1])...)
				}
				slices.Sort(line.levels)
				slices.Sort(line.fields)
				lines[message] = logLine{slices.Compact(line.levels), slices.Compact(line.fields)}
				return true
			})
		}
	})
	return lines
}

// isLogCall reports whether a call is one of a method of a logger: of a variable, a field or the result of a method
// called log or Log.
func isLogCall(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	if _, ok := logMethods[method.Sel.Name]; !ok {
		return false
	}
	switch logger := method.X.(type) {
	case *ast.Ident:
		return strings.EqualFold(logger.Name, "log")
	case *ast.SelectorExpr:
		return strings.EqualFold(logger.Sel.Name, "log")
	case *ast.CallExpr:
		accessor, ok := logger.Fun.(*ast.SelectorExpr)
		return ok && accessor.Sel.Name == "Log"
	}
	return false
}

// levelsIn returns the levels that a function names. If it names none, those of the function levelOf of its file.
func levelsIn(file *ast.File, function *ast.FuncDecl) (levels []string) {
	find := func(n ast.Node) bool {
		if named, ok := n.(*ast.SelectorExpr); ok {
			if level, ok := strings.CutPrefix(named.Sel.Name, "Level"); ok && level != "" {
				levels = append(levels, strings.ToLower(level))
			}
		}
		return true
	}
	if ast.Inspect(function, find); len(levels) > 0 {
		return levels
	}
	for _, declaration := range file.Decls {
		if other, ok := declaration.(*ast.FuncDecl); ok && other.Name.Name == "levelOf" {
			ast.Inspect(other, find)
		}
	}
	return levels
}

// fieldsOf returns the names of the attributes among the arguments after a message.
func fieldsOf(args []ast.Expr) (names []string) {
	for n := 0; n < len(args); n++ {
		if name, ok := textLiteral(args[n]); ok {
			names = append(names, name)
			n++ // its value
		} else if attribute, ok := args[n].(*ast.CallExpr); ok && len(attribute.Args) == 2 && isSlog(attribute.Fun) {
			if name, ok := textLiteral(attribute.Args[0]); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// collectedFields returns the names of the attributes that a function collects in the slice that it passes to a logger.
func collectedFields(function *ast.FuncDecl, passed ast.Expr) (names []string) {
	ast.Inspect(function, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if list, ok := n.Type.(*ast.ArrayType); ok && list.Len == nil {
				names = append(names, fieldsOf(n.Elts)...)
			}
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.Ident); ok && called.Name == "append" && n.Pos() != passed.Pos() {
				names = append(names, fieldsOf(n.Args[1:])...)
			}
		}
		return true
	})
	if direct, ok := passed.(*ast.CallExpr); ok { // append(attributes, …)
		names = append(names, fieldsOf(direct.Args[1:])...)
	}
	return names
}

// isSlog reports whether an expression names a function of package slog.
func isSlog(function ast.Expr) bool {
	named, ok := function.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := named.X.(*ast.Ident)
	return ok && from.Name == "slog"
}

// textLiteral returns the text of a string literal.
func textLiteral(e ast.Expr) (string, bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}
