// Package kit has what the tests of all packages share: one way to wait for what must happen, and one way to fail.
//
// A test never sleeps until something has probably happened. It waits for the condition itself with [Eventually],
// [Until] or [Receive], for as long as [Patience] says, which is generous: on a busy machine a wait may take long, and
// a wait that ends early is a test that fails by chance. A test that wants nothing to happen checks what would be there
// if it had, after something that comes later has happened.
//
// Package [quittance/test/kit/chromium] has a browser, and [quittance/test/kit/leaks] finds goroutines that tests
// leave.
package kit

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

// EnvPatience is the environment variable with the time that tests wait for what must happen, such as 10m. The default
// is [defaultPatience].
const EnvPatience = "QUITTANCE_TEST_PATIENCE"

// defaultPatience is many times what any wait takes on two processors with a load of 30.
const defaultPatience = 5 * time.Minute

// The pauses between two looks at a condition: short at first, because most conditions hold at once, then longer, so
// that waiting tests leave the processors to those that work.
const (
	firstPause = time.Millisecond
	lastPause  = 25 * time.Millisecond
)

// Patience returns how long tests wait for what must happen. An unreadable [EnvPatience] panics, because no test could
// go on.
var Patience = sync.OnceValue(func() time.Duration { //nolint:gochecknoglobals // a constant that is read once
	text := os.Getenv(EnvPatience)
	if text == "" {
		return defaultPatience
	}
	patience, err := time.ParseDuration(text)
	if err != nil || patience <= 0 {
		panic(fmt.Sprintf("%s must be a positive duration such as 10m, not %q", EnvPatience, text))
	}
	return patience
})

// Must ends a test that cannot go on because of an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Poll looks at a condition until it returns nil, for at most [Patience]. It returns the last error of the condition.
func Poll(condition func() error) error {
	deadline := time.Now().Add(Patience())
	for pause := firstPause; ; pause = min(pause*3/2, lastPause) {
		err := condition()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v: %w", Patience(), err)
		}
		time.Sleep(pause)
	}
}

// Eventually is [Poll] for a test, which it ends with the last error of the condition.
func Eventually(t testing.TB, condition func() error) {
	t.Helper()
	if err := Poll(condition); err != nil {
		t.Fatal(err)
	}
}

// Until waits until a condition holds, and ends the test if it never does. what says in the failure what did not
// happen.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	if err := Poll(func() error {
		if holds() {
			return nil
		}
		return fmt.Errorf("%s: did not happen", what)
	}); err != nil {
		t.Fatal(err)
	}
}

// Receive returns the next value of a channel, and ends the test if none comes. A closed channel yields the zero value.
func Receive[T any](t testing.TB, from <-chan T, what string) (value T) {
	t.Helper()
	timer := time.NewTimer(Patience())
	defer timer.Stop()
	select {
	case value = <-from:
	case <-timer.C:
		t.Fatalf("%s: did not happen within %v", what, Patience())
	}
	return value
}
