package ledgertest

import (
	"cmp"
	"embed"
	"encoding/json"
	"slices"
	"testing"
)

// Release is a released version of the product, as scripts/release-data has recorded it.
type Release struct {
	// Version is the release, such as 1.2.0.
	Version string `json:"version"`
	// Commit is the full digest of the commit that was released.
	Commit string `json:"commit"`
	// Migration is the number of its last migration.
	Migration int64 `json:"migration"`
	// Migrations has the SHA-256 of each of its migrations in hexadecimal, by the name of the file.
	Migrations map[string]string `json:"migrations"`
}

// released has a directory for each release: release.json; the statements of its own tests; and for each engine an
// archive with a database that it has served.
//
//go:embed released
var released embed.FS

// Releases returns the released versions, oldest first. There is at least one.
func Releases(t testing.TB) (releases []Release) {
	t.Helper()
	directories, err := released.ReadDir("released")
	if err != nil {
		t.Fatal(err)
	}
	for _, directory := range directories {
		var release Release
		if err := json.Unmarshal(ReleaseFile(t, directory.Name(), "release.json"), &release); err != nil ||
			release.Version != directory.Name() {
			t.Fatalf("release %s: %v", directory.Name(), err)
		}
		releases = append(releases, release)
	}
	if len(releases) == 0 {
		t.Fatal("no release is recorded")
	}
	slices.SortStableFunc(releases, func(a, b Release) int { return cmp.Compare(a.Migration, b.Migration) })
	return releases
}

// ReleaseFile returns a file of a release: release.json, statements.jsonl.gz, sqlite.tar.gz or postgres.tar.gz.
func ReleaseFile(t testing.TB, version, name string) []byte {
	t.Helper()
	text, err := released.ReadFile("released/" + version + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
