package cli

import (
	"fmt"

	"quittance/internal/platform/buildinfo"
)

// versionLine describes a build in one line.
func versionLine(build buildinfo.Info) string { return build.Line("quittance") }

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
		return printJSON(env, versionRecord(env.build))
	}
	_, err := fmt.Fprintln(env.stdout, versionLine(env.build))
	return err
}

// versionRecord describes a build as a record. What is not known about its source is null.
func versionRecord(b buildinfo.Info) object {
	var commit, date, modified any
	if b.Commit != "" {
		commit, date, modified = b.Commit, b.Date, b.Modified
	}
	return object{{"version", b.Version}, {"commit", commit}, {"date", date}, {"modified", modified}, {"go", b.Go},
		{"platform", b.Platform}}
}
