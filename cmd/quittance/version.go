package main

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
)

// What the linker sets with -X for a release: see build. Empty otherwise.
var release, commit, date string //nolint:gochecknoglobals // only the linker can set them

// development is the version of a binary that is no release: alone when it holds no commit, and else before a plus and the
// commit, so that an approval of one development build is none of another.
const development = "devel"

// build is what a binary says it is.
type build struct {
	// Version is the release, such as 1.2.0; of a binary that is none, devel+0123456789ab for its commit, with .dirty behind it
	// when the source was changed, or devel when no commit is known.
	Version string
	// Commit is the revision it was built from, and Date when that was committed (RFC 3339); empty when unknown.
	Commit, Date string
}

// released is the version of a tagged module; anything behind it, as in a pseudo-version, is a development build.
var released = regexp.MustCompile(`^v([0-9]+\.[0-9]+\.[0-9]+)$`)

// readBuild is what the linker was told, and else what the go command has recorded.
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

// unreleased is the version of a development build of a commit, "" when none is known.
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

// version is the release that this binary says it is; devel, and its commit, when it is none.
func version() string { return thisBuild().Version }

// String is one line for people.
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

A build that is no release says devel+ and its commit. The version is what an approval of a production connection names as its release.`
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

// textOr is null for an empty text.
func textOr(text string) any {
	if text == "" {
		return nil
	}
	return text
}
