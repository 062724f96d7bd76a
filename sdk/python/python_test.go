// Package python_test runs the tests of the Python SDK, which are written in Python, and checks its types with mypy.
package python_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"quittance/test/kit"
)

// TestUnits runs the tests that need nothing but Python.
func TestUnits(t *testing.T) {
	t.Parallel()
	python(t, nil, "-m", "unittest", "discover", "--start-directory", "tests", "--top-level-directory", ".")
}

// TestService runs the tests against the real binary, and the examples of README.md.
func TestService(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and starts the binary; make test runs it")
	}
	t.Parallel()
	dir := t.TempDir()
	kit.Must(t, kit.Build(t.Context(), dir+"/", "quittance/cmd/quittance"))
	path := []string{"PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")}
	python(t, path, "-m", "unittest", "discover", "--start-directory", "tests/service", "--top-level-directory", ".",
		"--pattern", "service_*.py")
}

// python runs the interpreter, for which every warning is an error.
func python(t *testing.T, environment []string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "python3", append([]string{"-W", "error", "-B"}, args...)...)
	command.Env = append(os.Environ(), environment...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// mypy checks programs and returns what it finds.
func mypy(t *testing.T, cache string, args ...string) (string, error) {
	t.Helper()
	var stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), "mypy", append([]string{"--cache-dir", cache, "--no-error-summary"},
		args...)...)
	command.Env = append(os.Environ(), "MYPYPATH=.")
	command.Stderr = &stderr
	out, err := command.Output()
	if stderr.Len() > 0 {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return string(out), err
}

// TestTypes checks the package, its tests, its runner and the examples of README.md with mypy in its strict mode, and
// that mypy finds each mistake in wrong.py where the file says.
func TestTypes(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes many seconds; make test runs it")
	}
	t.Parallel()
	cache := t.TempDir()
	examples := filepath.Join(t.TempDir(), "examples.py")
	write := exec.CommandContext(t.Context(), "python3", "-B", "-m", "tests.readme", examples)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := mypy(t, cache, "quittance", "tests", "conformance/runner.py", examples); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	wrong := "testdata/wrong.py"
	out, err := mypy(t, cache, wrong)
	if err == nil {
		t.Error("mypy finds no mistake in wrong.py")
	}
	text, err := os.ReadFile(wrong)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for n, line := range strings.Split(string(text), "\n") {
		if _, code, found := strings.Cut(line, "# mypy: "); found {
			want = append(want, fmt.Sprintf("%d %s", n+1, code))
		}
	}
	var got []string
	for _, found := range regexp.MustCompile(`(?m)^[^:]+:(\d+): error: .*\[([a-z-]+)\]$`).FindAllStringSubmatch(out, -1) {
		got = append(got, found[1]+" "+found[2])
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("mypy finds mistakes at %q, and they are at %q:\n%s", got, want, out)
	}
}
