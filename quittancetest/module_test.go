package quittancetest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFromAnotherModule: the commands of docs/testing.md let another module use this package, and the tests of the page
// compile there.
func TestFromAnotherModule(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles another module; make test runs it")
	}
	t.Parallel()
	checkout, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(checkout, "docs", "testing.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("(?s)## In Go\n.*?```sh\n(.*?)```").FindSubmatch(page)
	if commands == nil {
		t.Fatal("the page has no commands for Go")
	}
	tests, err := os.ReadFile("page_test.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "billing_test.go"), tests, 0o600); err != nil {
		t.Fatal(err)
	}
	script := "go mod init example.com/try\n" + strings.ReplaceAll(string(commands[1]), "/path/to/quittance", checkout) +
		"go vet .\n"
	command := exec.CommandContext(t.Context(), "bash", "-eu", "-c", script)
	command.Dir, command.Env = dir, append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
