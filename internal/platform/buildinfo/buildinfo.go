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
	"runtime"
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
	// Modified says that the source differed from Commit. It says nothing when Commit is unknown.
	Modified bool
	// Go is the version of Go that built the program, such as go1.26.0, and Platform the operating system and the
	// architecture for which it was built, such as linux/amd64.
	Go, Platform string
}

// tagged matches the version of a tagged module. Anything longer, such as a pseudo-version, is a development build.
var tagged = regexp.MustCompile(`^v([0-9]+\.[0-9]+\.[0-9]+)$`)

// Current describes the running program. release is the release that the linker was told, or "".
func Current(release string) Info {
	recorded, ok := debug.ReadBuildInfo()
	if !ok {
		recorded = nil
	}
	info := Read(release, recorded)
	info.Go, info.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
	return info
}

// Read describes the source of a program: release is what the linker was told, or "", and recorded what the go command
// recorded, or nil.
func Read(release string, recorded *debug.BuildInfo) Info {
	info := Info{Version: strings.TrimPrefix(release, "v")}
	if recorded != nil {
		for _, setting := range recorded.Settings {
			switch setting.Key {
			case "vcs.revision":
				info.Commit = setting.Value
			case "vcs.time":
				info.Date = setting.Value
			case "vcs.modified":
				info.Modified = setting.Value == "true"
			}
		}
		if found := tagged.FindStringSubmatch(recorded.Main.Version); found != nil && info.Version == "" {
			info.Version = found[1]
		}
	}
	if info.Version == "" {
		info.Version = unreleased(info.Commit, info.Modified)
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
