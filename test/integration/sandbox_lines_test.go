package integration_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestSandboxOnATerminal checks what a person sees: the welcome text and then a short line for each thing that happens,
// with the log in the file that the text names. The failing deliveries of the example company are not among them.
func TestSandboxOnATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := start(dir, sandboxName, "sandbox", "--output", "lines", "--chaos", "off", "--listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	logFile, err := p.says(regexp.MustCompile(`(?s)Log +(\S+)\n.*Press Ctrl-C`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(logFile); err != nil {
			t.Error(err)
		}
	})
	trigger := exec.CommandContext(t.Context(), "quittance", "trigger", "rejected-by-provider")
	trigger.Env = bareEnvironment(dir)
	if out, err := trigger.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, line := range []string{`draft created`, `provider: rejected`, `invoice \S+: provider validation rejected\S*`,
		`webhook einvoice\S+: answered with 200`} {
		if _, err := p.says(regexp.MustCompile(`(?s)Press Ctrl-C.*\d\d:\d\d:\d\d  (` + line + `)\n`)); err != nil {
			t.Error(err)
		}
	}
	shown, err := os.ReadFile(p.log)
	if err != nil || len(shown) != 0 {
		t.Errorf("the terminal shows a log: %v\n%s", err, shown)
	}
	out, err := os.ReadFile(p.output)
	if err != nil || strings.Contains(string(out), "level=") || strings.Contains(string(out), "answered with 503") {
		t.Errorf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(logFile)
	if err != nil || !strings.Contains(string(text), "msg=request") ||
		!strings.Contains(string(text), `msg="provider call"`) {
		t.Errorf("the log is not in its file: %v\n%s", err, text)
	}
}
