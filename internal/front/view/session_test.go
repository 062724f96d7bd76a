package view_test

import (
	"strings"
	"testing"

	"quittance/internal/front/view"
)

// TestDevice: people read the name of the program and of the system, and a hostile User-Agent stays short.
func TestDevice(t *testing.T) {
	t.Parallel()
	for userAgent, want := range map[string]string{
		"": "",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36":               "Chrome on Windows",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0": "Edge on Windows",
		"Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0":                                                        "Firefox on Linux",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 14_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15":            "Safari on macOS",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148":    "Safari on iPhone",
		"Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36":                  "Chrome on Android",
		"curl/8.5.0":              "curl/8.5.0",
		"Go-http-client/2.0 x":    "Go-http-client/2.0",
		"Mozilla/5.0":             "Mozilla",
		strings.Repeat("é", 3000): strings.Repeat("é", 32),
	} {
		if got := view.Device(userAgent); got != want {
			t.Errorf("%.40q: %q, want %q", userAgent, got, want)
		}
	}
}
