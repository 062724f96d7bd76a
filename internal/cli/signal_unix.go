//go:build unix

package cli

import (
	"os/signal"
	"syscall"
)

// ignoreFileSizeSignal lets a write beyond the file size limit fail like one on a full disk instead of ending the
// process.
func ignoreFileSizeSignal() { signal.Ignore(syscall.SIGXFSZ) }
