package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// newParser returns the parser of the command line, except that --help prints to out and does not end the process.
func newParser(t *testing.T, out io.Writer) *kong.Kong {
	t.Helper()
	parser, err := kong.New(&cli{}, kong.Name(name), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(out, out), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

// TestEveryCommandHasHelpWithAnExample: the help of every measurement shows an example, and the program accepts it.
func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	leaves := newParser(t, io.Discard).Model.Leaves(false)
	if len(leaves) < 10 {
		t.Fatalf("only %d commands", len(leaves))
	}
	for _, leaf := range leaves {
		t.Run(leaf.Path(), func(t *testing.T) {
			var help strings.Builder
			_, _ = newParser(t, &help).Parse([]string{leaf.Path(), "--help"}) // only the help matters
			_, examples, _ := strings.Cut(help.String(), "Example:")
			var found int
			for line := range strings.Lines(examples) {
				words := strings.Fields(line)
				if len(words) < 2 || words[0] != name {
					continue
				}
				found++
				if _, err := newParser(t, io.Discard).Parse(words[1:]); err != nil || words[1] != leaf.Path() {
					t.Errorf("the example %q is not one of %s: %v", line, leaf.Path(), err)
				}
			}
			if found == 0 {
				t.Errorf("no example in the help:\n%s", &help)
			}
		})
	}
}

// TestVersion: --version prints one line with the program and its version.
func TestVersion(t *testing.T) {
	text, err := exec.CommandContext(t.Context(), name, "--version").Output()
	if want := thisBuild().Line(name) + "\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v, want %q", text, err, want)
	}
}

// TestUsageErrors: wrong usage ends with status 2 and names the program.
func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{{}, {"no-such-command"}, {"drafts", "--no-such-flag"},
		{"drafts", "--binary", os.DevNull + "/none"}} {
		command := exec.CommandContext(t.Context(), name, args...)
		text, err := command.CombinedOutput()
		if command.ProcessState == nil || command.ProcessState.ExitCode() != 2 ||
			!strings.HasPrefix(string(text), name+": ") {
			t.Errorf("%q: %v\n%s", args, err, text)
		}
	}
}
