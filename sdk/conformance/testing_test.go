package conformance_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestTestingPage runs the tests of docs/testing.md in TypeScript and Python, each from the files of the page, against
// a sandbox of its own: they make its provider fail.
func TestTestingPage(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and starts the binary; make test runs it")
	}
	text, err := os.ReadFile(filepath.Join(root, "docs/testing.md"))
	if err != nil {
		t.Fatal(err)
	}
	s := startSandbox(t)
	for language, c := range map[string]struct {
		files   int
		command []string
	}{
		"js":     {2, []string{"node", "--test"}},
		"python": {2, []string{"python3", "-B", "-W", "error", "-m", "unittest"}},
	} {
		t.Run(language, func(t *testing.T) {
			dir := t.TempDir()
			files := regexp.MustCompile("(?s)```"+language+"\n(?://|#) (\\S+)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
			if len(files) != c.files {
				t.Fatalf("%d files, want %d", len(files), c.files)
			}
			for _, file := range files {
				if err := os.WriteFile(filepath.Join(dir, file[1]), []byte(file[2]), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Link(s.ready, filepath.Join(dir, "ready.json")); err != nil {
				t.Fatal(err)
			}
			installTypeScript(t, dir)
			command := exec.CommandContext(t.Context(), c.command[0], c.command[1:]...)
			command.Dir, command.Env = dir, append(os.Environ(), "PYTHONPATH="+absolute(t, "sdk/python"))
			printed, err := command.CombinedOutput()
			if err != nil || !regexp.MustCompile(`(?m)(^Ran 1 test|(# |ℹ )pass 1$)`).Match(printed) {
				t.Errorf("%v\n%s", err, printed)
			}
		})
	}
}

// TestFirstSubmission runs the first submission of the README with the address, the e-mail address and the password of
// a sandbox.
func TestFirstSubmission(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and starts the binary; make test runs it")
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)Submit an invoice.*?```sh\nAPI=[^\n]*\n(.*?)```").FindStringSubmatch(string(text))
	if found == nil {
		t.Fatal("README.md has no first submission")
	}
	s := startSandbox(t)
	command := exec.CommandContext(t.Context(), "bash", "-eu", "-c", found[1])
	command.Env = append(os.Environ(), "API="+s.BaseURL+"/api/v1", "EMAIL="+s.Email, "PASSWORD="+s.Password)
	printed, err := command.Output()
	if responses := regexp.MustCompile(`"submitted":true`).FindAll(printed, -1); err != nil || len(responses) != 2 {
		t.Errorf("%v, %d responses of a submitted invoice: %s", err, len(responses), printed)
	}
}
