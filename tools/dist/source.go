package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// commitDigits is how many digits of a commit names show.
const commitDigits = 12

var (
	// releaseName matches a release, such as 1.2.0.
	releaseName = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)
	// releaseTag matches the tag of a release. Other tags, such as those of the SDK, are ignored.
	releaseTag = regexp.MustCompile(`^v([0-9]+\.[0-9]+\.[0-9]+)$`)
)

// source is the commit that is built.
type source struct {
	// dir is the root of the work tree.
	dir string
	// release is the release, such as 1.2.0, or "" for a development build.
	release string
	// commit is the full hash of the commit, and time its time in UTC. All files bear this time.
	commit string
	time   time.Time
	// modified says that the work tree differs from the commit.
	modified bool
}

// readSource describes the work tree dir, built as release. If release is "", the tag of the commit names the release;
// without a tag it is a development build. A release from a modified work tree is an error, because its commit would
// not lead to its source.
func readSource(ctx context.Context, dir, release string) (source, error) {
	s := source{release: strings.TrimPrefix(release, "v")}
	var err error
	if s.dir, err = filepath.Abs(dir); err != nil {
		return s, err
	}
	if s.release != "" && !releaseName.MatchString(s.release) {
		return s, fmt.Errorf("the release %q has not the form 1.2.0", release)
	}
	facts, err := output(ctx, s.dir, "git", "show", "--no-patch", "--format=%H %cI", "HEAD")
	if err != nil {
		return s, fmt.Errorf("a distribution is built from a commit: %w", err)
	}
	commit, date, _ := strings.Cut(facts, " ")
	s.commit = commit
	if s.time, err = time.Parse(time.RFC3339, date); err != nil {
		return s, fmt.Errorf("the time of the commit: %w", err)
	}
	s.time = s.time.UTC()
	changes, err := output(ctx, s.dir, "git", "status", "--porcelain")
	if err != nil {
		return s, err
	}
	s.modified = changes != ""
	if s.release == "" && !s.modified {
		if s.release, err = taggedRelease(ctx, s.dir); err != nil {
			return s, err
		}
	}
	if s.release != "" && s.modified {
		return s, errors.New("a release is built from an unmodified work tree; git status shows what to commit or remove")
	}
	return s, nil
}

// taggedRelease returns the release of the tag of the current commit, or "" without one. Two of them are an error.
func taggedRelease(ctx context.Context, dir string) (string, error) {
	tags, err := output(ctx, dir, "git", "tag", "--points-at", "HEAD")
	if err != nil {
		return "", err
	}
	release := ""
	for tag := range strings.FieldsSeq(tags) {
		found := releaseTag.FindStringSubmatch(tag)
		switch {
		case found == nil:
		case release != "":
			return "", fmt.Errorf("the commit has the tags of two releases: v%s and %s", release, tag)
		default:
			release = found[1]
		}
	}
	return release, nil
}

// version returns the version in the names of files: the release, or devel with the commit.
func (s source) version() string {
	if s.release != "" {
		return s.release
	}
	version := "devel-" + s.commit[:commitDigits]
	if s.modified {
		version += ".dirty"
	}
	return version
}

// packageVersion returns the version for package managers. By their order, every development build is older than any
// release, and than development builds of later commits.
func (s source) packageVersion() string {
	if s.release != "" {
		return s.release
	}
	version := "0~devel." + s.time.Format("20060102150405") + "." + s.commit[:commitDigits]
	if s.modified {
		version += ".dirty"
	}
	return version
}

// chartVersion returns the version of the Helm chart, which must be a semantic version. As for packages, development
// builds are older than any release, and ordered by time.
func (s source) chartVersion() string {
	if s.release != "" {
		return s.release
	}
	version := "0.0.0-devel." + s.time.Format("20060102150405") + "-" + s.commit[:commitDigits]
	if s.modified {
		version += ".dirty"
	}
	return version
}

// output runs a command in dir and returns what it prints, without the final line end. Its error has what the command
// printed on standard error.
func output(ctx context.Context, dir string, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...) //nolint:gosec // callers name the programs
	command.Dir = dir
	out, err := command.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimRight(string(out), "\n"), err
}
