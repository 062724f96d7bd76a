// Command quittance is the whole product in one binary: the service, its administration commands, and a sandbox.
// Package [quittance/internal/cli] has the commands.
package main

import (
	"os"

	"quittance/internal/cli"
)

// release is set by the linker (-X) for a release, and empty otherwise.
var release string //nolint:gochecknoglobals // only the linker can set it

func main() { os.Exit(cli.Main(release)) }
