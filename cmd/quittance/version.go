package main

import (
	"fmt"

	"quittance/internal/buildinfo"
)

// These are set by the linker (-X) for a release, and empty otherwise.
var release, commit, date string //nolint:gochecknoglobals // only the linker can set them

// thisBuild describes this binary.
func thisBuild() buildinfo.Info {
	return buildinfo.Current(buildinfo.Info{Version: release, Commit: commit, Date: date})
}

// version returns the release of this binary, or devel with the commit if it is not a release.
func version() string { return thisBuild().Version }

// versionLine describes this binary in one line.
func versionLine() string { return thisBuild().Line("quittance") }

type versionCmd struct {
	JSON bool `help:"Print the record as JSON."`
}

// Help is shown by --help.
func (versionCmd) Help() string {
	return `Example:
  quittance version --json

A build that is not a release prints devel+ and its commit. The approval of a production connection names this version as its release.`
}

// Run prints the version.
func (c versionCmd) Run(env environment) error {
	if c.JSON {
		b := thisBuild()
		return printJSON(env, object{{"version", b.Version}, {"commit", textOr(b.Commit)}, {"date", textOr(b.Date)}})
	}
	_, err := fmt.Fprintln(env.stdout, versionLine())
	return err
}

// textOr returns nil for an empty text.
func textOr(text string) any {
	if text == "" {
		return nil
	}
	return text
}
