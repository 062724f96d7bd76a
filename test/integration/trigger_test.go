package integration_test

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"quittance/test/kit"
)

// triggerPatience limits each scenario, in the notation of --wait.
const triggerPatience = "60s"

// TestTrigger plays every scenario that trigger lists against one sandbox. Each ends by itself, happens as it is named
// and shows what it is about. A reset of the sandbox while it runs leaves a profile that works.
func TestTrigger(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t)
	// Short intervals, so that the service sees every state of the simulated provider and soon fetches what suppliers have
	// sent.
	flags := []string{"--rate-limit", "0", "--poll-first", "50ms", "--poll-max", "200ms", "--purchase-interval", "200ms"}
	if _, err := w.runSandbox(dir, flags); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (stdout string, err error) {
		command := exec.CommandContext(t.Context(), "quittance", args...)
		command.Env = bareEnvironment(dir)
		var stderr bytes.Buffer
		command.Stderr = &stderr
		out, err := command.Output()
		if err != nil {
			err = fmt.Errorf("%v: %w\n%s%s", args, err, out, &stderr)
		}
		return string(out), err
	}
	list, err := run("trigger", "--list")
	if err != nil {
		t.Fatal(err)
	}

	var scenarios errgroup.Group
	scenarios.SetLimit(4)
	for line := range strings.Lines(list) {
		name, _, _ := strings.Cut(line, " ")
		scenarios.Go(func() error { return playScenario(name, run) })
	}
	if err := scenarios.Wait(); err != nil {
		t.Error(err)
	}

	if _, err := run("sandbox", "reset", "--data", filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	if out, err := run("invoices", "list", "--limit", "100"); err != nil || !strings.Contains(out, "SYN-001") ||
		strings.Contains(out, "TRIGGER-") {
		t.Errorf("after a reset, the invoices are: %v\n%s", err, out)
	}
	for _, args := range [][]string{{"whoami"}, {"trigger", "rejected-by-provider", "--wait", triggerPatience}} {
		if _, err := run(args...); err != nil {
			t.Errorf("after a reset: %v", err)
		}
	}
}

// scenarioPattern returns what the output of a scenario must have. Most show the states of an invoice.
func scenarioPattern(name string) *regexp.Regexp {
	switch name {
	case "provider-busy":
		return regexp.MustCompile(
			`(?s)^draft +TRIGGER-.*response +submit 429 .*response +submit 200 .*submission +acknowledged\n`)
	case "incoming":
		return regexp.MustCompile(`event +einvoice\.incoming\.received +SUP-P-\w+ +revision 1 `)
	case "incoming-changed":
		return regexp.MustCompile(
			`(?s)einvoice\.incoming\.received +SUP-P-.*einvoice\.incoming\.revised +SUP-P-\w+ +revision 2 `)
	case "failing-delivery":
		return regexp.MustCompile(`(?s)subscribed +https://.*delivery +.*answered with 503, next attempt at .*deactivated `)
	default:
		return regexp.MustCompile(`(?s)^draft +TRIGGER-.*\nresponse +submit .*\nstate +submission_state +\w+ \(final\)\n`)
	}
}

// playScenario returns an error unless a scenario happens as it is named. The simulated provider changes its states by
// the clock, so that a busy machine can miss one: trigger says so then, and the scenario is played again.
func playScenario(name string, run func(...string) (string, error)) error {
	var ended error
	err := kit.Poll(func() error {
		out, err := run("trigger", name, "--wait", triggerPatience)
		if err != nil && strings.Contains(err.Error(), "the scenario did not happen as it is named") {
			return err
		}
		ended = err
		if err == nil && !scenarioPattern(name).MatchString(out) {
			ended = fmt.Errorf("trigger %s says\n%s", name, out)
		}
		return nil
	})
	return errors.Join(err, ended)
}
