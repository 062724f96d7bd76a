package service

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestMetricsOnANetworkWarn checks that a metrics address that other machines can reach is logged as a warning in every
// environment; a loopback address is not.
func TestMetricsOnANetworkWarn(t *testing.T) {
	for listen, want := range map[string]bool{
		"": false, "127.0.0.1:9090": false, "[::1]:9090": false, "localhost:9090": false,
		":9090": true, "0.0.0.0:9090": true, "[::]:9090": true, "192.0.2.7:9090": true, "metrics.example:9090": true,
	} {
		for _, environment := range []string{Local, Sandbox, Production} {
			var log bytes.Buffer
			config := Config{Environment: environment, MetricsListen: listen, Log: slog.New(slog.NewTextHandler(&log, nil))}
			config.warn(t.Context())
			if got := strings.Contains(log.String(), "--metrics-listen"); got != want {
				t.Errorf("%q in %s: warned %v, want %v: %s", listen, environment, got, want, &log)
			}
		}
	}
}
