package kit

import (
	"fmt"
	"os"

	"go.uber.org/goleak"
)

// RunWithoutLeaks runs the tests of a package for its TestMain, and returns the status to exit with. It fails if a goroutine is left
// that does not end within [Patience]: on a busy machine the end of a connection takes longer than goleak itself would wait.
func RunWithoutLeaks(m goleak.TestingM) (status int) {
	if status = m.Run(); status != 0 {
		return status
	}
	if err := Poll(func() error { return goleak.Find() }); err != nil {
		fmt.Fprintln(os.Stderr, err) //nolint:errcheck // nobody else would be told
		return 1
	}
	return 0
}
