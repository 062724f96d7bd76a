// Package typescript_test runs the tests of the TypeScript SDK against a sandbox: those that are written for the test
// runner of Node.js, and a page in Chromium.
package typescript_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quittance/quittancetest"
	"quittance/test/kit/chromium"
	"quittance/test/kit/leaks"
)

func TestMain(m *testing.M) {
	os.Exit(leaks.Run(func() int { return chromium.Run(m.Run) }))
}

// run runs a program and returns its standard output.
func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Env = append(os.Environ(), env...)
	out, err := command.Output()
	if err != nil {
		var log []byte
		if failed, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output wraps nothing
			log = failed.Stderr
		}
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, log)
	}
	return string(out)
}

// tests returns the files of the tests for Node.js.
func tests(t *testing.T, names ...string) []string {
	t.Helper()
	files, err := filepath.Glob("test/*.test.js")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: %v", files, err)
	}
	return slices.DeleteFunc(files, func(file string) bool {
		return len(names) > 0 &&
			!slices.Contains(names, filepath.Base(file))
	})
}

// TestExactness runs the tests that need no service: exact decimals and the verification of webhooks.
func TestExactness(t *testing.T) {
	run(t, nil, "node", append([]string{"--test"}, tests(t, "json.test.js", "webhooks.test.js")...)...)
}

// TestSandbox runs all tests for Node.js, those of the README included, against a sandbox with its synthetic data.
func TestSandbox(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	ready := readyFile(t, quittancetest.Start(t, quittancetest.WithSeed()))
	others := slices.DeleteFunc(tests(t), func(file string) bool { return filepath.Base(file) == peopleTest })
	run(t, []string{"QUITTANCE_READY_FILE=" + ready}, "node", append([]string{"--test"}, others...)...)
}

// peopleTest ends the sessions of the user and changes the password, so it has a sandbox of its own.
const peopleTest = "people.test.js"

// TestPeople runs the tests of people and keys.
func TestPeople(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	ready := readyFile(t, quittancetest.Start(t))
	run(t, []string{"QUITTANCE_READY_FILE=" + ready}, "node", append([]string{"--test"}, tests(t, peopleTest)...)...)
}

// readyFile writes the file that quittance sandbox --ready-file would write.
func readyFile(t *testing.T, s *quittancetest.Server) string {
	t.Helper()
	text, err := json.Marshal(map[string]string{"base_url": s.BaseURL, "email": s.Email, "password": s.Password,
		"receiver_url": s.ReceiverURL})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ready.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestTypes checks the samples of test/types.ts, and the declarations themselves, with the TypeScript compiler. The
// samples contain mistakes, each of which has to be an error.
func TestTypes(t *testing.T) {
	run(t, nil, "tsc", "--noEmit", "--strict", "--noUnusedLocals", "--module", "node16", "--target", "es2022", "--lib",
		"es2022,dom,dom.iterable", "test/types.ts")
}

// TestDeclarations checks that the declarations have the names and methods that the code has, in both directions.
func TestDeclarations(t *testing.T) {
	var text []byte
	for _, name := range []string{"src/index.d.ts", "src/resources.d.ts"} {
		part, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, part...)
	}
	out := run(t, []string{"DECLARATIONS=" + string(text)}, "node", "--input-type=module", "--eval", `
		import * as sdk from "./src/index.js";
		const text = process.env.DECLARATIONS;
		const declared = [...text.matchAll(/^export (?:class|function) (\w+)/gm)].map(([, name]) => name);
		const client = new sdk.Quittance({ baseUrl: "http://127.0.0.1:1", apiKey: "qk_x" });
		const [, body] = /^export class Quittance \{(.*?)^\}/ms.exec(text);
		const methods = {};
		const found = {};
		for (const [, name, type] of body.matchAll(/readonly (\w+): (\w+)/g)) {
			const [, members] = new RegExp("^export interface " + type + "\\b[^{]*\\{(.*?)^\\}", "ms").exec(text);
			methods[name] = [...members.matchAll(/^  (\w+)\(/gm)].map(([, method]) => method).sort();
		}
		for (const name of Object.keys(client)) {
			const all = Object.getOwnPropertyNames(Object.getPrototypeOf(client[name]));
			found[name] = all.filter((method) => method !== "constructor" && !method.startsWith("_")).sort();
		}
		console.log(JSON.stringify([{ names: declared.sort(), methods }, { names: Object.keys(sdk).sort(), methods: found }]));`)
	var both [2]struct {
		Names   []string            `json:"names"`
		Methods map[string][]string `json:"methods"`
	}
	if err := json.Unmarshal([]byte(out), &both); err != nil {
		t.Fatal(err)
	}
	if len(both[0].Names) < 20 || len(both[0].Methods) < 17 {
		t.Fatalf("the declarations were not read: %s", out)
	}
	if d := cmp.Diff(both[0], both[1]); d != "" {
		t.Errorf("-declarations +code:\n%s", d)
	}
}

// TestPackage checks that the package needs nothing, that its modules import only each other, and that it would contain
// what users need.
func TestPackage(t *testing.T) {
	text, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	var description map[string]any
	if err := json.Unmarshal(text, &description); err != nil {
		t.Fatal(err)
	}
	for name := range description {
		if strings.HasSuffix(strings.ToLower(name), "dependencies") || name == "scripts" {
			t.Errorf("package.json has %s", name)
		}
	}
	if d := cmp.Diff([]any{"src"}, description["files"]); d != "" {
		t.Errorf("files:\n%s", d) // besides these, npm pack takes package.json, README.md and LICENSE
	}
	entries, err := os.ReadDir("src")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		source, err := os.ReadFile(filepath.Join("src", entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(entry.Name(), ".js") && !strings.HasSuffix(entry.Name(), ".d.ts") {
			t.Errorf("src/%s would be in the package", entry.Name())
		}
		for line := range strings.SplitSeq(string(source), "\n") {
			if _, from, found := strings.Cut(line, ` from "`); found && !strings.HasPrefix(from, "./") &&
				!strings.Contains(line, "*") {
				t.Errorf("src/%s imports more than the package: %s", entry.Name(), line)
			}
		}
	}
}

// TestLicense checks that the package contains the license of the repository.
func TestLicense(t *testing.T) {
	var texts []string
	for _, name := range []string{"../../LICENSE", "LICENSE"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if d := cmp.Diff(texts[0], texts[1]); d != "" {
		t.Error(d)
	}
}
