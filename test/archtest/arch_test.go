// Package archtest_test holds the code to its architecture, where neither the compiler nor a linter does. It compares
// the imports with the layers in ARCHITECTURE.md, lists who reveals a secret, restores a state or reads rows with SQL
// of its own, and checks the documents: their links, their sizes, and that what they tell to run is run by a test. The
// lists are the rules. Argue in review for a change of them.
package archtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	modulePath = "quittance"
	sdkPath    = modulePath + "/client" // a module of its own, at the same place in the tree
	ledger     = "internal/ledger"
)

// guarded functions and methods, by name, are used only in these files outside of the package that declares them, tests
// excepted. Each file in a list has to use its entry.
var guarded = map[string]struct {
	home  string
	files []string
}{
	// The exits of a secret.Text.
	"Reveal": {home: "internal/platform/secret", files: []string{
		"internal/cli/account.go", "internal/cli/apikey.go", // the first password, and a new key, shown once
		// what a fresh sandbox shows once, and the key that it keeps for the commands of its machine
		"sandbox/accounts.go", "sandbox/key.go",
		"internal/account/invitation.go", "internal/account/operator.go", // the links of an invitation and an enrolment
		// the address that authenticator apps read, and codes to be checked or digested
		"internal/account/totp.go", "internal/account/second_factor.go",
		// the secret of an app and recovery codes, shown once
		"internal/front/console/people/second_factor.go", "internal/front/server/second_factor.go",
		"internal/front/page/secret.go", // the QR code of the address that authenticator apps read
		// the client's secret, for calls of the token endpoint
		"internal/account/sso/sso.go",
		// the page that shows a new key, the cookie of a session, and what an enrolment shows once
		"internal/front/console/people/apikeys.go", "internal/front/console/people/session.go",
		"internal/front/console/people/sign_on.go",
		"internal/front/operator/session.go",
		// the Authorization header of a call to the provider, and its check at start
		"internal/provider/httpcall/call.go", "internal/provider/config.go",
		"sandbox/fakeprovider/server.go", // the digest that a caller's credential is compared with
		// the token in the response to a login, and the key in that to its creation
		"internal/front/server/account.go", "internal/front/server/apikeys.go",
		// the login at a relay, and the link of an e-mail
		"internal/exchange/mail/relay.go", "internal/exchange/mail/message.go",
		// the header of an export, and its check at start
		"internal/platform/tracing/exporter.go",
		"internal/exchange/webhook/deliver.go", // the key of a signature
		// the credential that login keeps: its file, and calls of its server
		"internal/cli/remote/profile.go", "internal/cli/remote/login.go", "internal/cli/remote/trigger.go",
	}},
	// The ways of the read models to rows; TestLedgerIsClosed holds that nothing else has any.
	"ReadSnapshot": {home: ledger, files: []string{
		"internal/front/view/audit.go", "internal/front/view/book.go", "internal/front/view/credit.go",
		"internal/front/view/deliveries.go", "internal/front/view/history.go", "internal/front/view/incoming.go",
		"internal/front/view/invoices.go", "internal/front/view/keys.go", "internal/front/view/overview.go",
		"internal/front/view/notifications.go", // counts, which PostgreSQL must plan for their values
	}},
	"ReadRows": {home: ledger, files: []string{
		"internal/front/view/audit.go", "internal/front/view/invoices.go", "internal/front/view/notifications.go",
		"internal/front/view/book.go", "internal/front/view/suggest.go", // a row by its name or number
		"internal/front/view/tabs.go", "internal/front/view/view.go", // rows by identifier
	}},
	// States that come from anywhere but retained evidence: only the ledger's own rows.
	"RestoreStates": {home: "internal/document/invoice", files: []string{
		"internal/ledger/invoices/states.go",
		"internal/ledger/proof/export_verify.go", // what an exported file says, to be compared with what follows from its answers
	}},
}

func TestArchitecture(t *testing.T) {
	// The cache of go test does not see what TestMain does: it would look for the files of these tests elsewhere, and keep
	// results that are out of date.
	if err := os.Chdir("."); err != nil { //nolint:usetesting // for all tests, some of which are parallel
		t.Fatal(err)
	}
	m := loadModule(t)
	t.Run("no import points to a higher layer", m.testLayers)
	t.Run("packages have an order", m.testOrder)
	t.Run("problems are defined once", m.testProblems)
	t.Run("the product imports nothing from beside it", m.testBeside)
	t.Run("guarded functions", m.testGuarded)
	t.Run("one package listens", m.testListeners)
	t.Run("files have a readable size", m.testSizes)
	t.Run("packages and the product stay below their ceilings", m.testCeilings)
	t.Run("lines have a readable width", m.testWidth)
	t.Run("lines of templates have a readable width", testTemplates)
}

// TestNothingOfTheWorkplace looks for what says where, and not what, the project was written.
func TestNothingOfTheWorkplace(t *testing.T) {
	// In pieces, so that this file holds none of them.
	words := regexp.MustCompile(strings.Join([]string{"/wo" + "rk/", "/ro" + "ot/", "/fa" + "rm/", `\.\./sha` + "red",
		`\biss` + `ue #?[0-9]+\b`}, "|"))
	var read int
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".git", ".bin", "bin", "dist"}, name) {
				return fs.SkipDir
			}
			return nil
		}
		// Checksums, official lists and other people's scripts say what they say, and so does git of a work tree beside
		// the first.
		if name == ".git" || slices.Contains([]string{".sum", ".csv", ".js", ".css"}, path.Ext(name)) ||
			!entry.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		read++
		for n, line := range bytes.Split(text, []byte("\n")) {
			if found := words.Find(line); found != nil && !bytes.ContainsRune(text, 0) {
				t.Errorf("%s:%d: %q belongs to a workplace, not to the project", name, n+1, found)
			}
		}
		return nil
	})
	if err != nil || read < 10 {
		t.Fatalf("%d files were read: %v", read, err)
	}
}

// module is the source of the module as go list and go/parser see it.
type module struct {
	set      *token.FileSet
	packages map[string]*sourcePackage // by path relative to the module; "." is the module itself
}

type sourcePackage struct {
	name  string
	files []sourceFile
}

type sourceFile struct {
	path   string // relative to the module, with slashes
	test   bool
	syntax *ast.File
}

// loadModule parses every file of every package, those for other systems included.
func loadModule(t *testing.T) *module {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list",
		"-json=ImportPath,Name,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...", sdkPath+"/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	m := &module{set: token.NewFileSet(), packages: map[string]*sourcePackage{}}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct {
			ImportPath, Name                                             string
			GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			return m
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		p := &sourcePackage{name: listed.Name}
		dir := relative(listed.ImportPath)
		for _, name := range slices.Concat(listed.GoFiles, listed.CgoFiles, listed.IgnoredGoFiles, listed.TestGoFiles,
			listed.XTestGoFiles) {
			file := path.Join(dir, name)
			syntax, err := parser.ParseFile(m.set, file, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			p.files = append(p.files, sourceFile{path: file, test: strings.HasSuffix(name, "_test.go"), syntax: syntax})
		}
		m.packages[dir] = p
	}
}

// relative turns an import path of the module into one relative to it.
func relative(importPath string) string {
	if importPath == modulePath {
		return "."
	}
	return strings.TrimPrefix(importPath, modulePath+"/")
}

// at is the place of a node, for a message.
func (m *module) at(node ast.Node) string {
	p := m.set.Position(node.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// each calls visit for every file, in a fixed order.
func (m *module) each(visit func(pkg string, f sourceFile)) {
	for _, pkg := range slices.Sorted(maps.Keys(m.packages)) {
		for _, f := range m.packages[pkg].files {
			visit(pkg, f)
		}
	}
}

// production calls visit for every file that is no test.
func (m *module) production(visit func(pkg string, f sourceFile)) {
	m.each(func(pkg string, f sourceFile) {
		if !f.test {
			visit(pkg, f)
		}
	})
}

// imported returns the path of an import.
func imported(spec *ast.ImportSpec) string {
	name, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic(err) // the parser has accepted it
	}
	return name
}

func (m *module) testGuarded(t *testing.T) {
	used := map[string]bool{} // "name file"
	m.production(func(pkg string, f sourceFile) {
		if strings.HasPrefix(pkg, "test/") {
			return // what only tests use
		}
		ast.Inspect(f.syntax, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			rule, found := guarded[selector.Sel.Name]
			if !found || pkg == rule.home || strings.HasPrefix(pkg, rule.home+"/") {
				return true
			}
			used[selector.Sel.Name+" "+f.path] = true
			if !slices.Contains(rule.files, f.path) {
				t.Errorf(
					"%s: %s of %s is for these files alone: %s. If this is one more place for it, add the file to the list in test/archtest/arch_test.go and say there why",
					m.at(selector.Sel), selector.Sel.Name, rule.home, strings.Join(rule.files, ", "))
			}
			return true
		})
	})
	for name, rule := range guarded {
		for _, file := range rule.files {
			if !used[name+" "+file] {
				t.Errorf("test/archtest allows %s to %s, which does not use it: take the file off the list", name, file)
			}
		}
	}
}

// listens are the ways to accept connections, for packages of the standard library.
var listens = map[string][]string{
	"net":        {"Listen", "ListenConfig", "ListenTCP", "ListenUnix", "FileListener"},
	"crypto/tls": {"Listen", "NewListener"},
	"net/http":   {"Server", "Serve", "ServeTLS", "ListenAndServe", "ListenAndServeTLS"},
}

// testListeners holds that every server of the program has the limits that one package puts on connections.
func (m *module) testListeners(t *testing.T) {
	// What listens for tests alone.
	except := []string{"internal/platform/httpserver", "test/pgtest", "test/mailtest"}
	m.production(func(pkg string, f sourceFile) {
		if slices.Contains(except, pkg) {
			return
		}
		names := map[string][]string{} // by the name of the package in this file
		for _, spec := range f.syntax.Imports {
			name := path.Base(imported(spec))
			if spec.Name != nil {
				name = spec.Name.Name
			}
			names[name] = listens[imported(spec)]
		}
		ast.Inspect(f.syntax, func(node ast.Node) bool {
			if selector, ok := node.(*ast.SelectorExpr); ok {
				if from, ok := selector.X.(*ast.Ident); ok && slices.Contains(names[from.Name], selector.Sel.Name) {
					t.Errorf("%s: %s.%s: internal/platform/httpserver makes every server, so that each has limits", m.at(selector), from.Name,
						selector.Sel.Name)
				}
			}
			return true
		})
	})
}
