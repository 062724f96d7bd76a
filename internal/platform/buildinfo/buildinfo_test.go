package buildinfo_test

import (
	"runtime/debug"
	"slices"
	"testing"

	"quittance/internal/platform/buildinfo"
)

// TestRead: a binary is a release only when it was built as one. Every other binary says devel and its commit.
func TestRead(t *testing.T) {
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"},
		{Key: "vcs.time", Value: "2026-03-01T09:00:00Z"}}
	for module, want := range map[string]string{"v1.2.0": "1.2.0", "v1.2.0+dirty": "devel+0123456789ab",
		"v1.2.1-0.20260301090000-0123456789ab": "devel+0123456789ab", "(devel)": "devel+0123456789ab",
		"": "devel+0123456789ab"} {
		got := buildinfo.Read("", &debug.BuildInfo{Main: debug.Module{Version: module}, Settings: settings})
		if got != (buildinfo.Info{Version: want, Commit: "0123456789abcdef", Date: "2026-03-01T09:00:00Z"}) {
			t.Errorf("%q: %+v", module, got)
		}
	}
	changed := append(slices.Clone(settings), debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	for module, want := range map[string]string{"(devel)": "devel+0123456789ab.dirty", "v1.2.0": "1.2.0"} {
		if got := buildinfo.Read("", &debug.BuildInfo{Main: debug.Module{Version: module},
			Settings: changed}); got.Version != want || !got.Modified {
			t.Errorf("%q with changed source: %+v, want %q", module, got, want)
		}
	}
	if got := buildinfo.Read("v1.3.0", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"},
		Settings: changed}).Version; got != "1.3.0" {
		t.Errorf("linked as 1.3.0: %q", got)
	}
	if got := buildinfo.Read("", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}).Version; got != "devel" {
		t.Errorf("without a commit: %q", got)
	}
}

// TestLine: the line names the program, the version and, when they are known, the commit and its date.
func TestLine(t *testing.T) {
	if got := buildinfo.Read("", nil).Line("quittance"); got != "quittance devel" {
		t.Errorf("without build information: %q", got)
	}
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"},
		{Key: "vcs.time", Value: "2026-03-01T09:00:00Z"}}
	if got := buildinfo.Read("",
		&debug.BuildInfo{Settings: settings}).Line(
		"quittance"); got != "quittance devel+0123456789ab (commit 0123456789ab, 2026-03-01T09:00:00Z)" {
		t.Errorf("%q", got)
	}
}
