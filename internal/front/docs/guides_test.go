package docs_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quittance"
	"quittance/client/api"
	"quittance/client/receiver"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
)

// read returns the text of a document.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := fs.ReadFile(quittance.Documents(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The table of magic recipients lists those of the provider sandbox, in its order.
func TestTheGuideListsTheMagicRecipients(t *testing.T) {
	var want []string
	for _, scenario := range fakeprovider.Scenarios() {
		want = append(want, fmt.Sprintf("| `%s` | %s |", scenario.ID, scenario.Description))
	}
	got := regexp.MustCompile("(?m)^\\| `sandbox-.*$").FindAllString(read(t, "docs/sandbox.md"), -1)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the table (-provider sandbox +docs/sandbox.md):\n%s", d)
	}
	for _, name := range []string{"docs/guide.md", "docs/sandbox.md", "docs/testing.md", "docs/webhooks.md",
		"docs/guides/unknown-outcome.md"} {
		for _, id := range regexp.MustCompile("`(sandbox-[a-z0-9-]+)`").FindAllStringSubmatch(read(t, name), -1) {
			if !slices.ContainsFunc(fakeprovider.Scenarios(), func(s fakeprovider.Scenario) bool { return s.ID == id[1] }) {
				t.Errorf("%s speaks of %s, which is no scenario", name, id[1])
			}
		}
	}
}

// The table of misbehaviours lists those of the provider sandbox, in its order.
func TestTheGuideListsTheMisbehaviours(t *testing.T) {
	where := func(calls []string) string {
		switch len(calls) {
		case 0:
			return "—"
		case 4:
			return "every call"
		default:
			return strings.Join(calls, ", ")
		}
	}
	var want []string
	for _, way := range fakeprovider.Misbehaviours() {
		want = append(want, fmt.Sprintf("| `%s` | %s | %s | %s |", way.Name, way.Description,
			where(way.At(fakeprovider.ChaosLow)), where(way.At(fakeprovider.ChaosHigh))))
	}
	_, section, _ := strings.Cut(read(t, "docs/sandbox.md"), "| Misbehaviour |")
	section, _, _ = strings.Cut(section, "\n\n")
	if d := cmp.Diff(want, regexp.MustCompile("(?m)^\\| `.*$").FindAllString(section, -1)); d != "" {
		t.Errorf("the table (-provider sandbox +docs/sandbox.md):\n%s", d)
	}
}

// The guide to webhooks lists every event kind.
func TestTheGuideListsTheEvents(t *testing.T) {
	text := read(t, "docs/webhooks.md")
	for _, kind := range api.EventKinds {
		if !strings.Contains(text, "| `"+string(kind)+"` |") {
			t.Errorf("%s is not in docs/webhooks.md", kind)
		}
	}
	for _, name := range []string{api.HeaderEvent, api.HeaderDelivery, api.HeaderTimestamp, api.HeaderSignature,
		api.SchemaVersion} {
		if !strings.Contains(text, name) {
			t.Errorf("%s is not in docs/webhooks.md", name)
		}
	}
}

// The Go code of the page about tests is what runs in the package that it is about.
func TestTheTestsOfThePage(t *testing.T) {
	source, err := os.ReadFile("../../../quittancetest/page_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, "docs/testing.md"), -1)
	if len(blocks) != 4 {
		t.Errorf("%d blocks, want 4", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(string(source), block[1]) {
			t.Errorf("quittancetest/page_test.go does not contain\n%s", block[1])
		}
	}
}

// The worked example of a signature is correct.
func TestTheExampleOfASignature(t *testing.T) {
	text := read(t, "docs/webhooks.md")
	_, example, found := strings.Cut(text, "To check your own code")
	found = found && strings.Contains(text, "### Go")
	parts := regexp.MustCompile(
		"(?s)`(whsec_[^`]+)`.*?`([^`]+Z)`.*?```json\n(.+?)\n```.*?`(v1=[0-9a-f]{64})`").FindStringSubmatch(example)
	if !found || parts == nil {
		t.Fatal("the example is not there")
	}
	if got := receiver.Signature([]byte(parts[1]), parts[2], []byte(parts[3])); got != parts[4] {
		t.Errorf("the signature of the example is %s", got)
	}
}

// The Go program in the guide to webhooks compiles.
func TestTheGoProgramCompiles(t *testing.T) {
	program := regexp.MustCompile("(?s)```go\n(package main.*?)```").FindStringSubmatch(read(t, "docs/webhooks.md"))
	if program == nil {
		t.Fatal("the program is not there")
	}
	dir := t.TempDir()
	source, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(source, []byte(program[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(module, "docs", "program",
		"main.go"): source}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := kit.Build(t.Context(), filepath.Join(dir, "program"), "-overlay", overlay,
		"quittance/docs/program"); err != nil {
		t.Error(err)
	}
}
