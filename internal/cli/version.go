package main

import (
	"fmt"

	"quittance/internal/buildinfo"
)

// release is set by the linker (-X) for a release, and empty otherwise.
var release string //nolint:gochecknoglobals // only the linker can set it

// thisBuild describes this binary.
func thisBuild() buildinfo.Info {
	return buildinfo.Current(release)
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

The record has the version, the commit and its date, whether the source was modified, the version of Go and the platform.
A build that is not a release prints devel+ and its commit. The approval of a production connection names this version as its release.`
}

// Run prints the version.
func (c versionCmd) Run(env environment) error {
	if c.JSON {
		return printJSON(env, versionRecord(thisBuild()))
	}
	_, err := fmt.Fprintln(env.stdout, versionLine())
	return err
}

// versionRecord describes a build as a record. What is not known about its source is null.
func versionRecord(b buildinfo.Info) object {
	var commit, date, modified any
	if b.Commit != "" {
		commit, date, modified = b.Commit, b.Date, b.Modified
	}
	return object{{"version", b.Version}, {"commit", commit}, {"date", date}, {"modified", modified}, {"go", b.Go}, {"platform", b.Platform}}
}
