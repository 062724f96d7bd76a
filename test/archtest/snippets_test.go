package archtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// parsed stands for blocks that are not run, but whose commands and flags exist: TestGuideCommandLines and
// TestGuideFlags check it.
const parsed = "parsed"

// snippets say for each block of commands or code in the README and the guides which test reads it from the document
// and runs it, or why none does. start is the beginning of a block; "" stands for all others of the page in the
// language.
var snippets = []struct{ page, language, start, by string }{
	{"README.md", "sh", "go run", "not run: it serves until it is stopped"},
	{"README.md", "sh", "go build", "not run: it listens until it is stopped"},
	{"README.md", "sh", "API=", "TestFirstSubmission"},
	{"README.md", "sh", "make test", "not run: it runs the tests"},
	{"docs/access.md", "sh", "", "TestPageCalls"},
	{"docs/cli.md", "sh", "quittance sandbox", parsed},
	{"docs/cli.md", "sh", "quittance listen", parsed},
	{"docs/cli.md", "sh", "quittance webhooks verify", parsed},
	{"docs/cli.md", "sh", "", "TestCommandPage"},
	{"docs/errors.md", "sh", "", "TestPageCalls"},
	{"docs/guide.md", "sh", "", "TestPageCalls"},
	{"docs/guides/polling-to-webhooks.md", "sh", "", "TestConformance"},
	{"docs/guides/polling-to-webhooks.md", "go", "", "TestConformance"},
	{"docs/guides/polling-to-webhooks.md", "js", "", "TestConformance"},
	{"docs/guides/polling-to-webhooks.md", "python", "", "TestConformance"},
	{"docs/guides/unknown-outcome.md", "go", "", "TestConformance"},
	{"docs/guides/unknown-outcome.md", "js", "", "TestConformance"},
	{"docs/guides/unknown-outcome.md", "python", "", "TestConformance"},
	{"docs/ops/administer.md", "sh", "", parsed},
	{"docs/ops/backup.md", "sh", "systemctl", "not run: it needs systemd; TestScheduleOfTheGuide runs the units"},
	{"docs/ops/backup.md", "sh", "", parsed},
	{"docs/ops/evidence.md", "sh", "", parsed},
	{"docs/ops/go-live.md", "sh", `cd "$HOME/quittance"`, "TestFromNothingToProduction"},
	{"docs/ops/go-live.md", "sh", `export QUITTANCE_ENV_FILE="$HOME`, "TestFromNothingToProduction"},
	{"docs/ops/go-live.md", "sh", "", parsed},
	{"docs/ops/install.md", "", "releases@", "not run: a line of a file"},
	{"docs/ops/install.md", "sh", "quittance version", parsed},
	{"docs/ops/install.md", "sh", "",
		"not run: it needs root, a package manager, a container engine or a cluster; make dist-check does what can be done without"},
	{"docs/ops/keys.md", "sh", "", parsed},
	{"docs/ops/on-call.md", "sh", "", parsed},
	{"docs/ops/scaling.md", "sh", "quittance-bench", parsed},
	{"docs/ops/scaling.md", "sh", "quittance sandbox", "not run: it serves until it is stopped"},
	{"docs/ops/scaling.md", "sh", "", parsed},
	{"docs/ops/serve.md", "sh", "", parsed},
	{"docs/ops/upgrade.md", "sh", "quittance version", "TestInstalledAgain"},
	{"docs/provider-protocol.md", "sh", "", parsed},
	{"docs/providers.md", "console", "", "not run: it shows the output of one installation"},
	{"docs/providers/e-invoice-be.md", "console", "", "not run: it needs an account of the provider"},
	{"docs/providers/phoss-ap.md", "console", "", "not run: it needs an access point"},
	{"docs/providers/storecove.md", "console", "", "not run: it needs an account of the provider"},
	{"docs/reliability.md", "sh", "", "not run: hours of tests"},
	{"docs/sandbox.md", "sh", "quittance sandbox", parsed},
	{"docs/sandbox.md", "sh", "", "TestPageCalls"},
	{"docs/sdk.md", "sh", "export QUITTANCE_URL", "TestPageCalls"},
	{"docs/sdk.md", "sh", "quittance sandbox", parsed},
	{"docs/sdk.md", "sh", "",
		"not run: paths of one machine; TestFromAnotherModule, TestSandbox and TestService use the checkout in the same way"},
	{"docs/sdk.md", "go", "", "TestConformance"},
	{"docs/sdk.md", "js", "", "TestConformance"},
	{"docs/sdk.md", "python", "", "TestConformance"},
	{"docs/sign-on.md", "", "quittance serve", "not run: flags to add to a command"},
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

// TestSnippetsAreRun checks that every block of commands or code is in the table, that every row has a block, and that
// the tests of the package that runs it read the document.
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
			if !strings.Contains(" sh go js python console ", " "+language+" ") &&
				(language != "" || !regexp.MustCompile(`(?m)^\s*(curl|quittance) `).MatchString(content)) {
				continue
			}
			if row := snippetRow(filepath.ToSlash(page), language, content); row >= 0 {
				used[row] = true
			} else {
				t.Errorf("%s: no row for the block in %q that begins with %.60q", page, language, content)
			}
		}
	}
	tests := testPackages(t)
	for n, row := range snippets {
		if !used[n] && row.language != "" {
			t.Errorf("no block for the row %+v", row)
		}
		if row.by == parsed || strings.HasPrefix(row.by, "not run: ") {
			continue
		}
		if !strings.Contains(tests[row.by], filepath.Base(row.page)) {
			t.Errorf("there is no test %s in a package whose tests read %s", row.by, row.page)
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

// testPackages returns the text of all tests in the packages that have a test, by its name.
func testPackages(t *testing.T) map[string]string {
	t.Helper()
	texts, names := map[string]string{}, map[string][]string{} // by directory
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		texts[filepath.Dir(path)] += string(text)
		for _, name := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			names[filepath.Dir(path)] = append(names[filepath.Dir(path)], string(name[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{}
	for dir, found := range names {
		for _, name := range found {
			tests[name] += texts[dir]
		}
	}
	return tests
}
