//go:build checkpoints

package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"quittance/internal/ledger/base"
)

// The environment variables of a binary with checkpoints.
const (
	// envKillAt names the checkpoint at which the process sends itself SIGKILL, such as "before record answer#2": the
	// moment, the step, and its occurrence, which defaults to the first.
	envKillAt = "QUITTANCE_KILL_AT"
	// envTrace names a file to which every checkpoint is appended as a line.
	envTrace = "QUITTANCE_TRACE_CHECKPOINTS"
	// envMissingGap shortens the minute that must lie between two provider responses that the document is missing before
	// it is sent again. A test cannot wait a minute, nor change the times in the database, because they are sealed.
	envMissingGap = "QUITTANCE_MISSING_GAP"
)

// missingGap returns the duration in [envMissingGap], or 0 for the documented gap.
func missingGap() (time.Duration, error) {
	text := os.Getenv(envMissingGap)
	if text == "" {
		return 0, nil
	}
	gap, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", envMissingGap, err)
	}
	return gap, nil
}

var errKillAt = errors.New(envKillAt +
	`: must be a moment and a step, such as "before record answer" or "after webhook attempt#2"`)

// checkpoint returns an observer that traces checkpoints and kills the process as the environment variables specify.
func checkpoint() (base.Checkpoint, error) {
	victim, nth, err := parseKillAt(os.Getenv(envKillAt))
	if err != nil {
		return nil, err
	}
	var trace *os.File
	if path := os.Getenv(envTrace); path != "" {
		// Each line is one appending write, because several processes share the file.
		if trace, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil { //nolint:gosec // the tester chooses the file
			return nil, fmt.Errorf("%s: %w", envTrace, err)
		}
	}
	var reached atomic.Int64
	return func(moment base.Moment, step string) {
		at := string(moment) + " " + step
		if trace != nil {
			if _, err := trace.WriteString(at + "\n"); err != nil {
				panic(err) // an incomplete trace would be misleading
			}
		}
		if at == victim && reached.Add(1) == nth {
			die()
		}
	}, nil
}

// die ends the process like a power cut: no deferred function runs and nothing is flushed.
func die() {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {} // this goroutine executes nothing more before the signal arrives
}

// parseKillAt parses the value of [envKillAt]; "" selects no checkpoint.
func parseKillAt(text string) (at string, nth int64, err error) {
	if text == "" {
		return "", 0, nil
	}
	at, count, counted := strings.Cut(text, "#")
	nth = 1
	if counted {
		if nth, err = strconv.ParseInt(count, 10, 64); err != nil || nth < 1 {
			return "", 0, errKillAt
		}
	}
	moment, step, _ := strings.Cut(at, " ")
	if step == "" || moment != string(base.Before) && moment != string(base.After) {
		return "", 0, errKillAt
	}
	return at, nth, nil
}
