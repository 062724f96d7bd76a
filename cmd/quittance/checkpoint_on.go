//go:build checkpoints

package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"quittance/internal/store"
)

// The environment variables of a binary with checkpoints.
const (
	// envKillAt names the checkpoint at which the process ends itself with SIGKILL, as "before record answer#2": the
	// moment, the step, and at which time, the first when absent.
	envKillAt = "QUITTANCE_KILL_AT"
	// envTrace names a file that gets every checkpoint as a line.
	envTrace = "QUITTANCE_TRACE_CHECKPOINTS"
	// envMissingGap is a duration that stands for the minute that two answers of a provider that it has no such document are
	// apart before it is sent again: a story does not wait for it, and what it could change in the database is sealed.
	envMissingGap = "QUITTANCE_MISSING_GAP"
)

// missingGap returns the duration of [envMissingGap], 0 for the one that is promised.
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

var errKillAt = errors.New(envKillAt + `: want a moment and a step as "before record answer" or "after webhook attempt#2"`)

// checkpoint observes the checkpoints of this process as its environment says.
func checkpoint() (store.Checkpoint, error) {
	victim, nth, err := parseKillAt(os.Getenv(envKillAt))
	if err != nil {
		return nil, err
	}
	var trace *os.File
	if path := os.Getenv(envTrace); path != "" {
		// One write a line, at the end of the file: many processes share it.
		if trace, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil { //nolint:gosec // the file that the tester names
			return nil, fmt.Errorf("%s: %w", envTrace, err)
		}
	}
	var reached atomic.Int64
	return func(moment store.Moment, step string) {
		at := string(moment) + " " + step
		if trace != nil {
			if _, err := trace.WriteString(at + "\n"); err != nil {
				panic(err) // a trace with holes would prove what is not so
			}
		}
		if at == victim && reached.Add(1) == nth {
			die()
		}
	}, nil
}

// die ends the process as a power cut would: nothing deferred runs and nothing is flushed.
func die() {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {} // no other instruction of this goroutine before the signal has arrived
}

// parseKillAt reads the value of [envKillAt]; "" is no checkpoint.
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
	if step == "" || moment != string(store.Before) && moment != string(store.After) {
		return "", 0, errKillAt
	}
	return at, nth, nil
}
