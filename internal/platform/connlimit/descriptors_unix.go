//go:build unix

package connlimit

import (
	"math"
	"syscall"
)

// Files returns how many files this process may have open, 0 when there is no limit. The Go runtime raises the soft
// limit to the hard limit when it starts.
func Files() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	if current := uint64(limit.Cur); current < math.MaxInt32 { //nolint:unconvert // int64 on some systems, negative for no limit
		return int(current)
	}
	return 0
}
