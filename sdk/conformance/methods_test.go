package conformance_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shape reads the methods of README.md, such as credit_notes.create, and without a resource those of the client itself.
func shape(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### Resources and methods\n")
	section, _, _ = strings.Cut(section, "\n### ")
	name := regexp.MustCompile("`(\\w+)`")
	var methods []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]*) \| (.*) \|$`).FindAllStringSubmatch(section, -1) {
		resources := name.FindAllStringSubmatch(row[1], -1)
		if strings.Contains(row[1], "client") {
			resources = [][]string{{"", ""}}
		}
		for _, resource := range resources {
			for _, method := range name.FindAllStringSubmatch(row[2], -1) {
				methods = append(methods, strings.TrimPrefix(resource[1]+"."+method[1], "."))
			}
		}
	}
	slices.Sort(methods)
	return methods
}

// found runs a program that prints the methods of an SDK as JSON, and returns them in the form of README.md.
func found(t *testing.T, name string, args ...string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = root
	out, err := command.CombinedOutput()
	var methods []string
	if err == nil {
		err = json.Unmarshal(out, &methods)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for n, method := range methods {
		methods[n] = snakeCase(method)
	}
	slices.Sort(methods)
	return methods
}

// snakeCase returns creditNotes.create as credit_notes.create.
func snakeCase(name string) string {
	return strings.ToLower(regexp.MustCompile(`[A-Z]`).ReplaceAllString(name, "_$0"))
}

const typescriptMethods = `
	import { Quittance } from "./sdk/typescript/src/index.js";
	const client = new Quittance({ baseUrl: "http://127.0.0.1:1", apiKey: "qk_x" });
	const methods = (object) => Object.getOwnPropertyNames(Object.getPrototypeOf(object)).filter((name) => name !== "constructor" && !name.startsWith("_"));
	const found = methods(client);
	for (const [resource, object] of Object.entries(client)) {
		found.push(...methods(object).map((name) => resource + "." + name));
	}
	console.log(JSON.stringify(found));`

const pythonMethods = `
import json, sys
sys.path.insert(0, "sdk/python")
from quittance import Client
client = Client("http://127.0.0.1:1", api_key="qk_x")
def methods(made): return [name for name in dir(made) if not name.startswith("_") and callable(getattr(type(made), name, None))]
# Only Python has a method that closes connections.
found = [name for name in methods(client) if name != "close"]
for resource, made in vars(client).items():
    if not resource.startswith("_"):
        found += [resource + "." + name for name in methods(made)]
print(json.dumps(found))`

// TestEveryOperationHasAMethod fails for an operation of the API document without a method in an SDK, and for a method
// that only some SDKs or README.md have. The method of an operation is that of its sample, of which [TestSamples]
// proves that it calls the operation.
func TestEveryOperationHasAMethod(t *testing.T) {
	want := shape(t)
	if len(want) < 70 {
		t.Fatalf("README.md has the methods %v", want)
	}
	for language, got := range map[string][]string{
		"TypeScript": found(t, "node", "--input-type=module", "--eval", typescriptMethods),
		"Python":     found(t, "python3", "-B", "-c", pythonMethods),
	} {
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-README.md +%s:\n%s", language, d)
		}
	}
	calls := map[string]*regexp.Regexp{
		"javascript": regexp.MustCompile(`\bquittance\.([\w.]+)\(`),
		"python":     regexp.MustCompile(`\bclient\.([\w.]+)\(`),
		"go":         regexp.MustCompile(`\bquittance\.(\w+)\(`),
	}
	for _, o := range sampledOperations(t) {
		used := map[string][]string{}
		for _, program := range o.Samples {
			if call := calls[program.Language]; call != nil {
				for _, match := range call.FindAllStringSubmatch(program.Source, -1) {
					used[program.Language] = append(used[program.Language], match[1])
				}
			}
		}
		for n, method := range used["javascript"] {
			used["javascript"][n] = snakeCase(method)
		}
		if d := cmp.Diff(used["javascript"], used["python"]); d != "" || len(used["python"]) == 0 || len(used["go"]) == 0 {
			t.Errorf("%s: the samples call %v\n%s", o.ID, used, d)
		}
		for _, method := range used["python"] {
			if method == "request" || method == "download" || !slices.Contains(want, method) {
				t.Errorf("%s has no method of its own but %s", o.ID, method)
			}
		}
		if strings.HasPrefix(o.ID, "list") && !strings.HasPrefix(strings.Join(used["go"], " "), "All") {
			t.Errorf("%s has no iterator in Go: %v", o.ID, used["go"])
		}
	}
}
