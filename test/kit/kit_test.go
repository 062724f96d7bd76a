package kit_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"quittance/test/kit"
)

var errNotYet = errors.New("not yet")

// TestPoll checks that a wait ends as soon as its condition holds, and otherwise with the last error when patience is
// over.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		kit.Eventually(t, func() error {
			if time.Since(begun) < time.Minute {
				return errNotYet
			}
			return nil
		})
		if took := time.Since(begun); took > time.Minute+time.Second {
			t.Errorf("the wait took %v", took)
		}
		begun = time.Now()
		if err := kit.Poll(func() error { return errNotYet }); !errors.Is(err, errNotYet) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begun); took < kit.Patience() || took > kit.Patience()+time.Second {
			t.Errorf("gave up after %v", took)
		}
	})
}

// TestReceive checks that a value is returned, also of a closed channel.
func TestReceive(t *testing.T) {
	values := make(chan int, 1)
	values <- 7
	if got := kit.Receive(t, values, "a value"); got != 7 {
		t.Errorf("got %d", got)
	}
	close(values)
	if got := kit.Receive(t, values, "the end"); got != 0 {
		t.Errorf("got %d", got)
	}
}
