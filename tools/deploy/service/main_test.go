package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestRun: the program prints what the compose file of this source tree says, with a zero byte after each item, and
// refuses what it does not say.
func TestRun(t *testing.T) {
	t.Setenv("QUITTANCE_IMAGE", "quittance:1.2.0")
	file := filepath.Join("..", "..", "..", "deploy", "compose", "compose.yaml")
	for arguments, want := range map[string]string{
		"server command":        "serve\x00",
		"migration command":     "migrate\x00--create\x00",
		"server healthcheck":    "/usr/bin/quittance\x00healthcheck\x00",
		"backup command":        "backup\x00--to\x00/backups\x00--keep\x0014\x00",
		"server environment":    "QUITTANCE_LISTEN=:8080\x00",
		"database environment":  "POSTGRES_USER=quittance\x00",
		"migration environment": "QUITTANCE_DATABASE=postgres://quittance@database:5432/quittance?sslmode=disable&passfile=/run/secrets/pgpass\x00",
	} {
		var out strings.Builder
		err := run(t.Context(), append([]string{file}, strings.Fields(arguments)...), &out)
		exact := !strings.HasSuffix(arguments, "environment")
		if err != nil || exact && out.String() != want || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %q, %v, want %q", arguments, out.String(), err, want)
		}
	}
	for arguments, reason := range map[string]string{
		"": "usage", "server": "usage", "database command": "no command", "migration healthcheck": "no health check",
		"server image": "unknown property", "servers command": "servers",
	} {
		var out strings.Builder
		if err := run(t.Context(), append([]string{file}, strings.Fields(arguments)...), &out); err == nil ||
			!strings.Contains(err.Error(), reason) || out.Len() > 0 {
			t.Errorf("%q: %q, %v, want an error with %q", arguments, out.String(), err, reason)
		}
	}
}
