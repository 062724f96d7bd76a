package db

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestListenLog: while LISTEN fails, which is repeated every second, the log has a line at the beginning and one a
// minute, and one when it works again.
func TestListenLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		attempts := 0
		listen := func(ctx context.Context, listening func(), _ func(string)) error {
			if attempts++; attempts <= 91 { // one each second
				return errors.New("connection refused")
			}
			listening()
			if attempts < 93 {
				return errors.New("connection lost") // at once: the line of a minute ago says enough
			}
			<-ctx.Done()
			return ctx.Err()
		}
		ended := make(chan struct{})
		go func() {
			newNotifier(nil).runListener(ctx, listen, slog.New(slog.NewTextHandler(&log, nil)))
			close(ended)
		}()
		time.Sleep(2 * time.Minute)
		stop()
		<-ended
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		want := []string{"failures=1 error=", "failures=61 error=", `msg="LISTEN works again" failures=91`}
		if len(lines) != len(want) {
			t.Fatalf("the log has\n%s", &log)
		}
		for n := range want {
			if !strings.Contains(lines[n], want[n]) {
				t.Errorf("line %d is %s, want %s", n, lines[n], want[n])
			}
		}
	})
}
