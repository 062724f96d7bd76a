package providertest

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"quittance/test/kit"
)

// StartPrism runs the program of the variable PRISM, which checks calls against an OpenAPI document, until the test
// ends, and returns its address. The test fails if prism finds a violation of the description.
func StartPrism(t *testing.T, args ...string) (url string) {
	t.Helper()
	free := httptest.NewServer(http.NotFoundHandler())
	address := free.Listener.Addr()
	free.Close()
	_, port, err := net.SplitHostPort(address.String())
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	// t.Context ends before the cleanup. The program is what the person who runs the test has named.
	command := exec.CommandContext(t.Context(), os.Getenv("PRISM"), append(args, "--errors", "--port", port)...) //nolint:gosec // see above
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Wait() // it was killed
		if text := output.String(); t.Failed() || strings.Contains(text, "Violation") {
			t.Errorf("prism says\n%s", text)
		}
	})
	kit.Eventually(t, func() error {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address.String())
		if err != nil {
			return fmt.Errorf("prism does not start: %w", err)
		}
		_ = conn.Close() // it has served its purpose
		return nil
	})
	return "http://" + address.String()
}
