package cli

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"quittance/internal/platform/buildinfo"
)

// newParser returns the parser of the command line as run creates it, except that --help prints to out and does not end
// the process.
func newParser(t *testing.T, out io.Writer) *kong.Kong {
	t.Helper()
	parser, err := kong.New(&cli{}, kong.Name("quittance"), defaults(buildinfo.Info{}),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Writers(out, out), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

// commandPaths returns the words of every executable command, such as "account user add".
func commandPaths(t *testing.T) []string {
	t.Helper()
	var paths []string
	for _, leaf := range newParser(t, io.Discard).Model.Leaves(false) {
		paths = append(paths, leaf.Path())
	}
	if len(paths) < 10 {
		t.Fatalf("only %d commands: %v", len(paths), paths)
	}
	return paths
}

// TestEveryCommandHasHelpWithAnExample checks that the help of every command has an example that the program
// accepts. It takes the commands from the parser's own model, so that a new one cannot be forgotten.
func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"key.json", "credential.txt"} {
		if err := os.WriteFile(dir+"/"+file, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paths := commandPaths(t)
	t.Chdir(dir) // where the files of the examples exist
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			help := helpOf(t, path)
			lines := exampleLines(help, strings.TrimSuffix(path, " run")) // run is what sandbox does when nothing else is said
			if len(lines) == 0 {
				t.Fatalf("no example of quittance %s in its help:\n%s", path, help)
			}
			for _, line := range lines {
				if _, err := newParser(t, io.Discard).Parse(line); err != nil {
					t.Errorf("the example %q is rejected: %v", line, err)
				}
			}
		})
	}
}

// TestHelpListsEveryCommand checks that the help of the program lists every command.
func TestHelpListsEveryCommand(t *testing.T) {
	var text strings.Builder
	if err := help(newParser(t, &text)); err != nil {
		t.Fatal(err)
	}
	for _, path := range commandPaths(t) {
		if !regexp.MustCompile(`(?m)^ *` + path + `\b`).MatchString(text.String()) {
			t.Errorf("%q is not in the help:\n%s", path, &text)
		}
	}
}

// TestCommandsThatPrintARecordHaveJSON checks that commands that print a record have the flag --json.
func TestCommandsThatPrintARecordHaveJSON(t *testing.T) {
	for _, path := range commandPaths(t) {
		family, _, _ := strings.Cut(path, " ")
		if !slices.Contains([]string{"account", "connection", "submission", "delivery", "audit", "version"}, family) {
			continue
		}
		if help := helpOf(t, path); !strings.Contains(help, "--json") {
			t.Errorf("quittance %s has no --json", path)
		}
	}
}

// helpOf returns the output of --help for a command.
func helpOf(t *testing.T, path string) string {
	t.Helper()
	var out strings.Builder
	// After it has printed the help, the parser complains about missing arguments; only the help matters here.
	_, _ = newParser(t, &out).Parse(append(strings.Fields(path), "--help"))
	return out.String()
}

// exampleLines returns the arguments of the examples of one command in a help text. A line that ends in \ continues on
// the next.
func exampleLines(help, path string) [][]string {
	_, examples, found := strings.Cut(help, "Example:")
	if !found {
		return nil
	}
	var lines [][]string
	for line := range strings.Lines(strings.ReplaceAll(examples, "\\\n", " ")) {
		words := shellWords(line)
		if len(words) > 1 && words[0] == "quittance" && strings.HasPrefix(strings.Join(words[1:], " ")+" ", path+" ") {
			lines = append(lines, words[1:])
		}
	}
	return lines
}

// shellWords splits a line like a shell, as far as the examples require: at blanks, with quotes, up to a redirection of
// input or output.
func shellWords(line string) []string {
	var words []string
	line, _, _ = strings.Cut(line, " > ")
	line, _, _ = strings.Cut(line, " < ")
	for _, word := range regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`).FindAllString(line, -1) {
		words = append(words, strings.Trim(word, `"'`))
	}
	return words
}

// TestVersionRecord checks the record of a build whose source is known, and of one whose source is not.
func TestVersionRecord(t *testing.T) {
	for want, build := range map[string]buildinfo.Info{
		`{"version":"1.2.0","commit":"0123456789abcdef","date":"2026-03-01T09:00:00Z","modified":false,"go":"go1.26.0","platform":"linux/arm64"}`: {
			Version: "1.2.0", Commit: "0123456789abcdef", Date: "2026-03-01T09:00:00Z", Go: "go1.26.0", Platform: "linux/arm64"},
		`{"version":"devel","commit":null,"date":null,"modified":null,"go":"go1.26.0","platform":"linux/arm64"}`: {
			Version: "devel", Go: "go1.26.0", Platform: "linux/arm64"},
	} {
		if got, err := json.Marshal(versionRecord(build)); string(got) != want || err != nil {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}
