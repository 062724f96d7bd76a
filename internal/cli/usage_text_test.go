package cli

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"quittance/internal/platform/buildinfo"
)

// TestDecisionsHaveNoEnvironmentVariables checks that flags that confirm an action or give its reason cannot be set by
// environment variables, nor those that name where the data of a sandbox is, that QUITTANCE_ENVIRONMENT applies only to
// serve and not to connections, and that every variable has the name of its flag.
func TestDecisionsHaveNoEnvironmentVariables(t *testing.T) {
	var root cli
	parser, err := root.parser(buildinfo.Current(""))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, command := range parser.Model.Leaves(false) {
		for _, flag := range command.Flags {
			decides := slices.Contains([]string{"yes", "force", "resend", "reject", "reason"}, flag.Name) ||
				flag.Name == "environment" && command.Path() == "connection add" ||
				strings.HasPrefix(command.Path(), "sandbox ") && slices.Contains(sandboxPlaces, flag.Name)
			if decides && len(flag.Envs) > 0 {
				t.Errorf("quittance %s --%s can be set by %v", command.Path(), flag.Name, flag.Envs)
			}
			if command.Path() == "serve" && flag.Name == "environment" &&
				!slices.Equal(flag.Envs, []string{"QUITTANCE_ENVIRONMENT"}) {
				t.Errorf("quittance serve --environment can be set by %v", flag.Envs)
			}
			if want := "QUITTANCE_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_")); len(flag.Envs) > 0 &&
				!slices.Equal(flag.Envs, []string{want}) {
				t.Errorf("quittance %s --%s can be set by %v, want %s", command.Path(), flag.Name, flag.Envs, want)
			}
			seen[flag.Name] = true
		}
	}
	for _, name := range []string{"yes", "force", "resend", "reject", "reason", "environment"} {
		if !seen[name] {
			t.Errorf("no command has --%s", name)
		}
	}
}

// TestLogLinesOmitEmptyValues checks that log lines contain no nil errors and no empty texts.
func TestLogLinesOmitEmptyValues(t *testing.T) {
	for format, want := range map[string]string{"text": `count=0 ready=false` + "\n",
		"json": `"count":0,"ready":false}` + "\n"} {
		var out bytes.Buffer
		log := (&cli{LogLevel: "info", LogFormat: format}).logger(&out)
		var none error
		log.InfoContext(context.Background(), "stopped", "error", none, "class", "", "count", 0, "ready", false)
		if line := out.String(); !strings.HasSuffix(line, want) || strings.Contains(line, "class") ||
			strings.Contains(line, "error") {
			t.Errorf("%s: %s", format, line)
		}
		out.Reset()
		log.InfoContext(context.Background(), "stopped", "error", errors.New("broken"))
		if !strings.Contains(out.String(), "broken") {
			t.Errorf("%s loses an error: %s", format, &out)
		}
	}
}
