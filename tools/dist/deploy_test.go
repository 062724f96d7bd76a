package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plantIgnored puts files into a work tree that git ignores, as an installation from the source tree does. They must
// not be published.
func plantIgnored(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"deploy/compose/secrets/database-password", "deploy/compose/.env"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("planted-password"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "deploy", "compose", "compose.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// filesBelow returns all files below dir by their names with slashes. Anything but a file or a directory fails the
// test.
func filesBelow(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !entry.Type().IsRegular() {
			t.Errorf("%s is no file", name)
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		found[filepath.ToSlash(relative)], err = os.ReadFile(name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// equalSource: a file of an archive is that of the source tree.
func equalSource(t *testing.T, text []byte, name string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil || len(want) == 0 || !bytes.Equal(text, want) {
		t.Errorf("the archive has not the bytes of %s: %v", name, err)
	}
}

// testChart: the chart has the version of the release, whose image it runs by default, and everything that its
// templates read.
func testChart(t *testing.T, archive []byte) {
	dir := t.TempDir()
	unpack(t, archive, dir)
	found := filesBelow(t, dir)
	for _, line := range []string{`name: quittance`, `version: "1.2.0"`, `appVersion: "1.2.0"`} {
		if !strings.Contains(string(found["quittance/Chart.yaml"]), "\n"+line+"\n") {
			t.Errorf("Chart.yaml has no line %s:\n%s", line, found["quittance/Chart.yaml"])
		}
	}
	for name, source := range map[string]string{
		"files/alerts.yml": "deploy/prometheus/alerts.yml", "files/quittance.json": "deploy/grafana/quittance.json",
		"LICENSE": "LICENSE", "values.yaml": chartDir + "/values.yaml",
		"values.schema.json":         chartDir + "/values.schema.json",
		"templates/_helpers.tpl":     chartDir + "/templates/_helpers.tpl",
		"templates/deployments.yaml": chartDir + "/templates/deployments.yaml",
		"examples/production.yaml":   chartDir + "/examples/production.yaml",
	} {
		equalSource(t, found["quittance/"+name], source)
	}
	for name := range found {
		if !strings.HasPrefix(name, "quittance/") {
			t.Errorf("%s is outside of the directory that Helm requires", name)
		}
	}
}

// testCompose: every file that the compose file mounts is in the archive, unless prepare makes it; prepare can be run;
// and nothing that git ignores is there.
func testCompose(t *testing.T, archive []byte) {
	dir := t.TempDir()
	unpack(t, archive, dir)
	found := filesBelow(t, dir)
	const top = "quittance-1.2.0-compose/"
	mounts := regexp.MustCompile(`(?m)^ +- (\.\.?/[^:]+):/`).FindAllStringSubmatch(string(found[top+
		"compose/compose.yaml"]), -1)
	if len(mounts) != 5 {
		t.Errorf("the compose file mounts %q", mounts)
	}
	for _, mount := range mounts {
		name := filepath.ToSlash(filepath.Join("compose", mount[1]))
		equalSource(t, found[top+name], "deploy/"+name)
	}
	equalSource(t, found[top+"LICENSE"], "LICENSE")
	for name, mode := range map[string]fs.FileMode{"prepare": 0o755, "compose.yaml": 0o644, "tls.yaml": 0o644} {
		if info, err := os.Stat(filepath.Join(dir, top, "compose", name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v, want the mode %v", name, info, err, mode)
		}
	}
	for name, text := range found {
		if bytes.Contains(text, []byte("planted-password")) {
			t.Errorf("%s, which git ignores, is published", name)
		}
	}
}

// TestSetVersions: a Chart.yaml that has not each version once is an error, not a chart without the versions of the
// release.
func TestSetVersions(t *testing.T) {
	for _, text := range []string{"", "version: 1.0.0\n", "appVersion: one\n",
		"version: 1.0.0\nversion: 1.0.0\nappVersion: one\n"} {
		if changed, err := setVersions([]byte(text), "1.2.0", "1.2.0"); err == nil {
			t.Errorf("%q became %q", text, changed)
		}
	}
}

// TestWithoutPlatforms: an empty list of platforms builds only what is the same for all of them.
func TestWithoutPlatforms(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	commitTree(t, dir)
	if err := run(t.Context(), []string{"-source", dir, "-out", out, "-platforms", ""}, t.Output()); err != nil {
		t.Fatal(err)
	}
	found := contents(t, out)
	version := "devel-" + strings.TrimSpace(command(t, dir, "git", "rev-parse", "HEAD"))[:commitDigits]
	if len(found) != 3 || found["quittance-"+version+"-chart.tgz"] == nil ||
		found["quittance-"+version+"-compose.tar.gz"] == nil || found[sumsFile] == nil {
		t.Errorf("%s has %d files", out, len(found))
	}
}
