package kit

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
)

// Build builds programs of this source tree as releases are built, without cgo and the race detector. args are the
// packages and further flags, output is the program, or ends in a slash and is the directory of several. All tests
// build in this one way, because whatever differs between two builds makes Go compile every package for both.
func Build(ctx context.Context, output string, args ...string) error {
	return BuildIn(ctx, "", output, args...)
}

// BuildIn is [Build] in a directory, for programs of another module than that of the test. output must not depend on
// the directory.
func BuildIn(ctx context.Context, dir, output string, args ...string) error {
	all := slices.Concat([]string{"build", "-trimpath", "-buildvcs=false", "-o", output}, args)
	command := exec.CommandContext(ctx, "go", all...)
	command.Dir = dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %v: %w\n%s", args, err, said)
	}
	return nil
}
