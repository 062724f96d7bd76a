// Package leaks fails the tests of a package that leave goroutines behind.
package leaks

import (
	"fmt"
	"os"

	"go.uber.org/goleak"

	"quittance/test/kit"
)

// Run calls the tests of a package, such as m.Run, for its TestMain, and returns the status to exit with. It fails if a
// goroutine is left that does not end within [kit.Patience]: on a busy machine the end of a connection takes longer
// than goleak itself would wait.
func Run(tests func() int) (status int) {
	if status = tests(); status != 0 {
		return status
	}
	if err := kit.Poll(func() error { return goleak.Find() }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
