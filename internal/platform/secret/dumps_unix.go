//go:build unix

package secret

import "syscall"

// PreventCoreDumps sees to it that the process leaves no image of its memory, with its keys, when it crashes. It
// returns an error if the process may leave one and cannot forbid it.
func PreventCoreDumps() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &limit); err != nil {
		return err
	}
	if limit.Cur == 0 {
		return nil // systemd has said so, and does not let a service change it
	}
	limit.Cur = 0
	return syscall.Setrlimit(syscall.RLIMIT_CORE, &limit)
}
