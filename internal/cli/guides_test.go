package cli

import (
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quittance"
)

// guides returns the text of every guide by file.
func guides(t *testing.T) map[string]string {
	t.Helper()
	files, err := fs.Glob(quittance.Documents(), "docs/*.md")
	tasks, tasksErr := fs.Glob(quittance.Documents(), "docs/guides/*.md")
	ops, opsErr := fs.Glob(quittance.Documents(), "docs/ops/*.md")
	if err != nil || tasksErr != nil || opsErr != nil || len(files) < 5 || len(tasks) < 3 || len(ops) < 3 {
		t.Fatalf("%v, %v, %v: %v, %v, %v", files, tasks, ops, err, tasksErr, opsErr)
	}
	files = slices.Concat(files, tasks, ops)
	texts := map[string]string{}
	for _, file := range files {
		text, err := fs.ReadFile(quittance.Documents(), file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	return texts
}

// TestGuideCommandLines checks that the program accepts every command line in the guides.
func TestGuideCommandLines(t *testing.T) {
	texts := guides(t)
	t.Chdir(t.TempDir())
	for _, file := range []string{"key.json", "credential.txt", "profile.json", "evidence.json", "cert.pem",
		"cert-key.pem"} {
		if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tried := map[string]int{}
	for file, text := range texts {
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
			script := strings.ReplaceAll(block[1], "\\\n", " ")
			script = strings.ReplaceAll(script, "KEY_ID", "2215823711")
			for line := range strings.Lines(script) {
				line, _, _ = strings.Cut(line, " # ")
				line, _, _ = strings.Cut(line, " > ")
				if _, piped, found := strings.Cut(line, " | "); found {
					line = piped
				}
				words := shellWords(line)
				if len(words) < 2 || words[0] != "quittance" {
					continue
				}
				if len(words) == 2 && words[1] == "serve" {
					// the settings of a file
					words = append(words, "--environment", "production", "--database", "postgres://db/quittance", "--key-file",
						"key.json")
				}
				tried[file]++
				if _, err := newParser(t, io.Discard).Parse(words[1:]); err != nil {
					t.Errorf("%s: %q is rejected: %v", file, words, err)
				}
			}
		}
	}
	ops := 0
	for file, lines := range tried {
		if strings.HasPrefix(file, "docs/ops/") {
			ops += lines
		}
	}
	if ops < 20 || tried["docs/sandbox.md"] < 3 || tried["docs/provider-protocol.md"] < 4 {
		t.Errorf("only %v were tested", tried)
	}
}

// withoutBench returns the part of a guide that is about this program: tools/load checks the rest.
func withoutBench(file, text string) string {
	if file == "docs/benchmarks.md" {
		return ""
	}
	return regexp.MustCompile("(?s)## Measure it\n.*?\n(## |$)|`quittance-bench[^`]*`").ReplaceAllString(text, "$1")
}

// otherPrograms have flags of their own.
var otherPrograms = []string{"docker", "helm", "kubectl", "systemctl", "systemd-run"}

// TestGuideFlags checks that every flag and command of this program that the guides mention exists.
func TestGuideFlags(t *testing.T) {
	var flags, commands, defaults []string
	for _, leaf := range newParser(t, io.Discard).Model.Leaves(false) {
		commands = append(commands, leaf.Path())
		if leaf.Parent.DefaultCmd == leaf {
			defaults = append(defaults, leaf.Parent.Path())
		}
		for _, group := range leaf.AllFlags(false) {
			for _, flag := range group {
				flags = append(flags, "--"+flag.Name)
				if flag.Tag.Negatable != "" {
					flags = append(flags, "--no-"+flag.Name)
				}
			}
		}
	}
	seen := 0
	for file, text := range guides(t) {
		for _, code := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(withoutBench(file, text), -1) {
			words := strings.Fields(code[1])
			if slices.Contains(otherPrograms, words[0]) {
				continue
			}
			if words[0] == "quittance" {
				seen++
				named := strings.Join(words[1:], " ")
				if !slices.ContainsFunc(commands, func(path string) bool { return strings.HasPrefix(named+" ", path+" ") }) &&
					!slices.ContainsFunc(defaults,
						func(path string) bool { return path == named || strings.HasPrefix(named, path+" --") }) {
					t.Errorf("%s: there is no command %q", file, named)
				}
			}
			for _, word := range words {
				if strings.HasPrefix(word, "--") {
					seen++
					if !slices.Contains(flags, word) && word != "--help" {
						t.Errorf("%s: there is no flag %s", file, word)
					}
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d were checked", seen)
	}
}
