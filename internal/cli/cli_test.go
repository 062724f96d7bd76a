package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quittance/internal/platform/buildinfo"
)

// TestRunsUntilStopped: a stop signal is the success of the commands that run until then, and the failure of all
// others.
func TestRunsUntilStopped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]bool{
		"serve --environment sandbox --database sqlite:a --key-file " + file: true, "sandbox": true, "sandbox --data a": true,
		"sandbox reset --data a":                                   false,
		"provider-sandbox --credential-file " + file + " --data a": true, "listen --forward-to http://localhost:3000": true,
		"events tail": true, "events list": false, "migrate --database sqlite:a": false, "evidence verify --data a": false,
		"restore --from a --database sqlite:a --key-file a": false,
	} {
		var root cli
		parser, err := root.parser(buildinfo.Current(""))
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.Parse(strings.Fields(command))
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		if got := runsUntilStopped(parsed.Command()); got != want {
			t.Errorf("%s runs until it is stopped: %v, want %v", parsed.Command(), got, want)
		}
	}
}
