package server

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// TestProbesAreDebug checks that a failed probe, which repeats every few seconds, is no error in the log, and that its
// line has the cause.
func TestProbesAreDebug(t *testing.T) {
	var log bytes.Buffer
	running, _ := newTestServer(t, &log)
	if got := get(t, running.URL+"/readyz"); got.status != http.StatusServiceUnavailable {
		t.Errorf("the probe answered %d", got.status)
	}
	if text := log.String(); strings.Contains(text, `"level":"ERROR"`) || !strings.Contains(text, `"level":"DEBUG"`) ||
		!strings.Contains(text, "canary") {
		t.Errorf("the log has %s", text)
	}
}
