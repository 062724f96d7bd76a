package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadSource: a release has a name or a tag and no modifications; everything else is a development build of its
// commit.
func TestReadSource(t *testing.T) {
	dir := t.TempDir()
	if _, err := readSource(t.Context(), dir, "1.2.0"); err == nil {
		t.Error("a directory without a commit was accepted")
	}
	file := filepath.Join(dir, "file")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	command(t, dir, "git", "init", "-q")
	command(t, dir, "git", "add", "-A")
	command(t, dir, "git", "commit", "-q", "-m", "One")
	commit := strings.TrimSpace(command(t, dir, "git", "rev-parse", "HEAD"))
	short := commit[:commitDigits]
	check := func(release, version, packageVersion, chartVersion string) {
		t.Helper()
		s, err := readSource(t.Context(), dir, release)
		if err != nil || s.version() != version || s.packageVersion() != packageVersion || s.chartVersion() != chartVersion ||
			s.commit != commit || s.time.Format("15:04:05 MST") != "09:00:00 UTC" {
			t.Errorf("%+v, %v: version %s, want %s; version of packages %s, want %s; version of the chart %s, want %s", s,
				err, s.version(), version, s.packageVersion(), packageVersion, s.chartVersion(), chartVersion)
		}
	}
	refuse := func(release, reason string) {
		t.Helper()
		if s, err := readSource(t.Context(), dir, release); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %+v, %v, want an error with %q", release, s, err, reason)
		}
	}
	check("", "devel-"+short, "0~devel.20260301090000."+short, "0.0.0-devel.20260301090000-"+short)
	check("v1.2.0", "1.2.0", "1.2.0", "1.2.0")
	refuse("1.2", "has not the form 1.2.0")
	command(t, dir, "git", "tag", "client/v1.0.0")
	check("", "devel-"+short, "0~devel.20260301090000."+short, "0.0.0-devel.20260301090000-"+short)
	command(t, dir, "git", "tag", "v1.3.0")
	check("", "1.3.0", "1.3.0", "1.3.0")
	write("two")
	refuse("1.2.0", "unmodified work tree")
	check("", "devel-"+short+".dirty", "0~devel.20260301090000."+short+".dirty",
		"0.0.0-devel.20260301090000-"+short+".dirty")
	write("one")
	command(t, dir, "git", "tag", "v1.4.0")
	refuse("", "two releases")
}
