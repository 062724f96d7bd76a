//go:build unix

package secret_test

import (
	"syscall"
	"testing"

	"quittance/internal/platform/secret"
	"quittance/test/kit"
)

// TestPreventCoreDumps: a process that could leave an image of its memory no longer can.
func TestPreventCoreDumps(t *testing.T) {
	var before, after syscall.Rlimit
	kit.Must(t, syscall.Getrlimit(syscall.RLIMIT_CORE, &before))
	t.Cleanup(func() { kit.Must(t, syscall.Setrlimit(syscall.RLIMIT_CORE, &before)) })
	if before.Max == 0 {
		t.Skip("the process may not leave one anyway")
	}
	kit.Must(t, syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: before.Max, Max: before.Max}))
	kit.Must(t, secret.PreventCoreDumps())
	kit.Must(t, syscall.Getrlimit(syscall.RLIMIT_CORE, &after))
	if after.Cur != 0 {
		t.Errorf("the limit is %d bytes", after.Cur)
	}
}
