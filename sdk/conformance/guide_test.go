package conformance_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// guidePages are the pages with a program in each language.
var guidePages = []string{"docs/sdk.md", "docs/guides/unknown-outcome.md", "docs/guides/polling-to-webhooks.md"}

// guidePrograms prepare the programs of a page by the language of their block. Each returns the command that runs the
// program in a file, from a directory for one test.
var guidePrograms = map[string]struct {
	file, prefix string // prefix is that of the invoice number
	command      func(t *testing.T, file string) *exec.Cmd
}{
	"go": {"main.go", "GO", func(t *testing.T, file string) *exec.Cmd {
		command := exec.CommandContext(t.Context(), "go", "run", file)
		command.Dir = root
		return command
	}},
	"js": {"program.mjs", "TS", func(t *testing.T, file string) *exec.Cmd {
		installTypeScript(t, filepath.Dir(file))
		return exec.CommandContext(t.Context(), "node", file)
	}},
	"python": {"program.py", "PY", func(t *testing.T, file string) *exec.Cmd {
		command := exec.CommandContext(t.Context(), "python3", "-B", file)
		command.Env = append(os.Environ(), "PYTHONPATH="+absolute(t, "sdk/python"))
		return command
	}},
}

// installTypeScript makes the SDK for TypeScript importable in a directory, as npm install does with that of a
// checkout.
func installTypeScript(t *testing.T, dir string) {
	t.Helper()
	modules := filepath.Join(dir, "node_modules")
	if err := os.Mkdir(modules, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(absolute(t, "sdk/typescript"), filepath.Join(modules, "quittance")); err != nil {
		t.Fatal(err)
	}
}

// absolute returns the absolute path of a file of the checkout.
func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// testGuide runs the programs of a page and compares what they print with what the page says.
func (s *sandbox) testGuide(t *testing.T, page string) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	programs := map[string]string{}
	for _, block := range regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		switch language := block[1]; language {
		case "text":
			want = block[2]
		case "sh":
		default:
			programs[language] = block[2]
		}
	}
	if len(programs) != len(guidePrograms) {
		t.Errorf("%d programs, want %d", len(programs), len(guidePrograms))
	}
	for language, program := range guidePrograms {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), program.file)
			cursor := filepath.Join(filepath.Dir(file), "cursor.txt")
			if err := os.WriteFile(file, []byte(programs[language]), 0o600); err != nil {
				t.Fatal(err)
			}
			command := program.command(t, file)
			if command.Env == nil {
				command.Env = os.Environ()
			}
			command.Env = append(command.Env, "QUITTANCE_URL="+s.BaseURL, "QUITTANCE_API_KEY="+s.key, "QUITTANCE_CURSOR="+cursor)
			var log bytes.Buffer
			command.Stderr = &log
			printed, err := command.Output()
			if err != nil {
				t.Fatalf("%v\n%s%s", err, printed, log.Bytes())
			}
			if kept, err := os.ReadFile(cursor); strings.Contains(programs[language], "QUITTANCE_CURSOR") &&
				(err != nil || len(kept) == 0) {
				t.Errorf("the program kept the cursor %q, %v", kept, err)
			}
			// Python writes True.
			if got, want := strings.ToLower(string(printed)), strings.ToLower(strings.ReplaceAll(want,
				"GO-", program.prefix+"-")); got != want {
				t.Errorf("printed:\n%swant:\n%s", got, want)
			}
		})
	}
}
