// Package buildinfo says which build of the project a program is: a release, or a development build of a commit.
//
// Its invariant: only a binary that was built as a release names one. The version of every other binary names its
// commit, so that an approval of a release covers no development build, and an approval of one development build covers
// no other.
//
// Start reading at [Read].
package buildinfo

import (
	"regexp"
	"runtime/debug"
	"strings"
)

// development is the version of a binary that is not a release and names no commit.
const development = "devel"

// commitDigits is how many digits of a commit a version shows.
const commitDigits = 12

// Info describes a build.
type Info struct {
	// Version is the release, such as 1.2.0. Otherwise it is devel+0123456789ab for the commit, with .dirty appended when
	// the source was changed, or devel when the commit is unknown.
	Version string
	// Commit is the revision that was built, and Date the time of that commit (RFC 3339). They are empty when unknown.
	Commit, Date string
}

// tagged matches the version of a tagged module. Anything longer, such as a pseudo-version, is a development build.
var tagged = regexp.MustCompile(`^v([0-9]+\.[0-9]+\.[0-9]+)$`)

// Current describes the running program. linked is what the linker was told.
func Current(linked Info) Info {
	recorded, ok := debug.ReadBuildInfo()
	if !ok {
		recorded = nil
	}
	return Read(linked, recorded)
}

// Read describes a program from what the linker was told and, for what that leaves open, what the go command recorded.
// recorded may be nil.
func Read(linked Info, recorded *debug.BuildInfo) Info {
	info := linked
	info.Version = strings.TrimPrefix(info.Version, "v")
	modified := false
	if recorded != nil {
		for _, setting := range recorded.Settings {
			switch {
			case setting.Key == "vcs.revision" && info.Commit == "":
				info.Commit = setting.Value
			case setting.Key == "vcs.time" && info.Date == "":
				info.Date = setting.Value
			case setting.Key == "vcs.modified":
				modified = setting.Value == "true"
			}
		}
		if found := tagged.FindStringSubmatch(recorded.Main.Version); found != nil && info.Version == "" {
			info.Version = found[1]
		}
	}
	if info.Version == "" {
		info.Version = unreleased(info.Commit, modified)
	}
	return info
}

// unreleased returns the version of a development build of a commit, which is "" when unknown.
func unreleased(commit string, modified bool) string {
	if commit == "" {
		return development
	}
	version := development + "+" + commit[:min(commitDigits, len(commit))]
	if modified {
		version += ".dirty"
	}
	return version
}

// Line describes a build of a program in one line for people.
func (i Info) Line(program string) string {
	line := program + " " + i.Version
	if i.Commit != "" {
		line += " (commit " + i.Commit[:min(commitDigits, len(i.Commit))]
		if i.Date != "" {
			line += ", " + i.Date
		}
		line += ")"
	}
	return line
}
