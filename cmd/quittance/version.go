package main

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
)

// These are set by the linker (-X) for a release, and empty otherwise; see build.
var release, commit, date string //nolint:gochecknoglobals // only the linker can set them

// development is the version of a binary that is not a release. If the commit is known, a plus sign and the commit follow, so
// that the approval of one development build does not cover another.
const development = "devel"

// build describes a binary.
type build struct {
	// Version is the release, such as 1.2.0. A binary that is not a release has devel+0123456789ab for its commit, with the
	// suffix .dirty if the source was modified, or devel if the commit is unknown.
	Version string
	// Commit is the revision that was built, and Date its commit time (RFC 3339); both are empty when unknown.
	Commit, Date string
}

// released matches the version of a tagged module. A suffix, as in a pseudo-version, makes it a development build.
var released = regexp.MustCompile(`^v([0-9]+\.[0-9]+\.[0-9]+)$`)

// readBuild returns the values set by the linker or, for those not set, the values recorded by the go command.
func readBuild(info *debug.BuildInfo) build {
	b := build{Version: strings.TrimPrefix(release, "v"), Commit: commit, Date: date}
	modified := false
	if info != nil {
		for _, setting := range info.Settings {
			switch {
			case setting.Key == "vcs.revision" && b.Commit == "":
				b.Commit = setting.Value
			case setting.Key == "vcs.time" && b.Date == "":
				b.Date = setting.Value
			case setting.Key == "vcs.modified":
				modified = setting.Value == "true"
			}
		}
		if found := released.FindStringSubmatch(info.Main.Version); found != nil && b.Version == "" {
			b.Version = found[1]
		}
	}
	if b.Version == "" {
		b.Version = unreleased(b.Commit, modified)
	}
	return b
}

// unreleased returns the version of a development build. commit is "" when unknown.
func unreleased(commit string, modified bool) string {
	if commit == "" {
		return development
	}
	version := development + "+" + commit[:min(12, len(commit))]
	if modified {
		version += ".dirty"
	}
	return version
}

func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = nil
	}
	return readBuild(info)
}

// version returns the release of this binary, or devel with the commit if it is not a release.
func version() string { return thisBuild().Version }

// String returns one human-readable line.
func (b build) String() string {
	line := "quittance " + b.Version
	if b.Commit != "" {
		line += " (commit " + b.Commit[:min(12, len(b.Commit))]
		if b.Date != "" {
			line += ", " + b.Date
		}
		line += ")"
	}
	return line
}

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
	b := thisBuild()
	if c.JSON {
		return printJSON(env, object{{"version", b.Version}, {"commit", textOr(b.Commit)}, {"date", textOr(b.Date)}})
	}
	_, err := fmt.Fprintln(env.stdout, b)
	return err
}

// textOr returns nil for an empty text.
func textOr(text string) any {
	if text == "" {
		return nil
	}
	return text
}
