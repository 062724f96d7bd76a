package archtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// snippets say for each block of commands or code in the README and the guides which test runs it, or why none does. start is the beginning of a
// block; "" stands for all others of the page in the language. TestGuideCommandLines also parses every line of the guides that calls the program.
var snippets = []struct{ page, language, start, by string }{
	{"README.md", "sh", "go run", "TestSandbox"},
	{"README.md", "sh", "go build", "TestListen"},
	{"README.md", "sh", "API=", "TestFirstSubmission"},
	{"README.md", "sh", "make test", "not run: it runs the tests"},
	{"docs/access.md", "sh", "", "TestPageCalls"},
	{"docs/access.md", "", "quittance serve", "not run: flags to add to a command"},
	{"docs/cli.md", "sh", "quittance sandbox", "TestTrigger"},
	{"docs/cli.md", "sh", "quittance listen", "TestListen"},
	{"docs/cli.md", "sh", "quittance webhooks verify", "TestScripts"},
	{"docs/cli.md", "sh", "", "TestCommandPage"},
	{"docs/guide.md", "sh", "", "TestPageCalls"},
	{"docs/guides/polling-to-webhooks.md", "sh", "", "TestConformance"},
	{"docs/guides/polling-to-webhooks.md", "go", "", "TestConformance"},
	{"docs/guides/polling-to-webhooks.md", "js", "", "TestConformance"},
	{"docs/guides/polling-to-webhooks.md", "python", "", "TestConformance"},
	{"docs/guides/unknown-outcome.md", "go", "", "TestConformance"},
	{"docs/guides/unknown-outcome.md", "js", "", "TestConformance"},
	{"docs/guides/unknown-outcome.md", "python", "", "TestConformance"},
	{"docs/install.md", "", "releases@", "not run: a line of a file"},
	{"docs/install.md", "sh", "quittance version", "TestVersion"},
	{"docs/install.md", "sh", "", "not run: it needs root, a package manager, a container engine or a cluster; make dist-check does what can be done without"},
	{"docs/operations.md", "sh", `cd "$HOME/quittance"`, "TestFromNothingToProduction"},
	{"docs/operations.md", "sh", `export QUITTANCE_ENV_FILE="$HOME`, "TestFromNothingToProduction"},
	{"docs/operations.md", "sh", "quittance version", "TestInstalledAgain"},
	{"docs/operations.md", "sh", "systemctl", "not run: it needs systemd; TestScheduleOfTheGuide runs the units"},
	{"docs/operations.md", "sh", "quittance-bench", "TestBenchAll"},
	{"docs/operations.md", "sh", "quittance sandbox", "not run: it serves until it is stopped"},
	{"docs/operations.md", "sh", "", "TestGuideCommandLines"},
	{"docs/provider-protocol.md", "sh", "", "TestGuideCommandLines"},
	{"docs/providers.md", "console", "", "not run: it shows the output of one installation"},
	{"docs/providers/e-invoice-be.md", "console", "", "not run: it needs an account of the provider"},
	{"docs/providers/phoss-ap.md", "console", "", "not run: it needs an access point"},
	{"docs/providers/storecove.md", "console", "", "not run: it needs an account of the provider"},
	{"docs/reliability.md", "sh", "", "not run: hours of tests"},
	{"docs/sandbox.md", "sh", "quittance sandbox", "TestGuideCommandLines"},
	{"docs/sandbox.md", "sh", "", "TestPageCalls"},
	{"docs/scaling.md", "sh", "", "TestGuideCommandLines"},
	{"docs/sdk.md", "sh", "export QUITTANCE_URL", "TestPageCalls"},
	{"docs/sdk.md", "sh", "quittance sandbox", "TestGuideCommandLines"},
	{"docs/sdk.md", "sh", "", "not run: paths of one machine; TestFromAnotherModule, TestSandbox and TestService use the checkout in the same way"},
	{"docs/sdk.md", "go", "", "TestConformance"},
	{"docs/sdk.md", "js", "", "TestConformance"},
	{"docs/sdk.md", "python", "", "TestConformance"},
	{"docs/testing.md", "sh", "go mod edit", "TestFromAnotherModule"},
	{"docs/testing.md", "sh", "", "TestTestingPage"},
	{"docs/testing.md", "go", "", "TestInvoiceIsSentOnce"},
	{"docs/testing.md", "js", "", "TestTestingPage"},
	{"docs/testing.md", "python", "", "TestTestingPage"},
	{"docs/webhooks.md", "sh", "", "TestPageCalls"},
	{"docs/webhooks.md", "go", "", "TestPageReceivers"},
	{"docs/webhooks.md", "js", "", "TestPageReceivers"},
	{"docs/webhooks.md", "python", "", "TestPageReceivers"},
}

// TestSnippetsAreRun checks that every block of commands or code is in the table, that every row has a block, and that the tests exist.
func TestSnippetsAreRun(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	below, belowErr := filepath.Glob("docs/*/*.md")
	if err != nil || belowErr != nil {
		t.Fatal(err, belowErr)
	}
	used := make([]bool, len(snippets))
	for _, page := range append(append(pages, below...), "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		// A block without a language can be an example of a file or of output, unless it has a command.
		for _, block := range regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```").FindAllStringSubmatch(string(text), -1) {
			language, content := block[1], strings.TrimLeft(block[2], " ")
			if !strings.Contains(" sh go js python console ", " "+language+" ") && (language != "" || !regexp.MustCompile(`(?m)^\s*(curl|quittance) `).MatchString(content)) {
				continue
			}
			if row := snippetRow(filepath.ToSlash(page), language, content); row >= 0 {
				used[row] = true
			} else {
				t.Errorf("%s: no row for the block in %q that begins with %.60q", page, language, content)
			}
		}
	}
	tests := testNames(t)
	for n, row := range snippets {
		if !used[n] && row.language != "" {
			t.Errorf("no block for the row %+v", row)
		}
		if !strings.HasPrefix(row.by, "not run: ") && !tests[row.by] {
			t.Errorf("there is no test %s", row.by)
		}
	}
}

// snippetRow returns the row of a block, or -1.
func snippetRow(page, language, content string) int {
	for n, row := range snippets {
		if row.page == page && row.language == language && strings.HasPrefix(content, row.start) {
			return n
		}
	}
	return -1
}

// testNames returns the names of all tests.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			names[string(name[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
