package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// TestArchives builds the archives of the chart and of the compose files as make dist does, and uses them as those who
// download them do.
func TestArchives(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	build := exec.CommandContext(t.Context(), "go", "run", ".", "-out", out, "-platforms", "")
	build.Dir = filepath.Join("..", "dist")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	t.Run("chart", func(t *testing.T) { testChartArchive(t, only(t, filepath.Join(out, "quittance-*-chart.tgz"))) })
	t.Run("compose files", func(t *testing.T) {
		testComposeArchive(t,
			only(t, filepath.Join(out, "quittance-*-compose.tar.gz")))
	})
}

// only returns the one file that matches a pattern.
func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

// unpack unpacks an archive below dir.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "tar", "-xzf", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// testChartArchive: Helm loads the archive and has nothing to say about it, every installation has the objects that the
// chart of the source tree has, and the default image is that of the version in the name of the archive.
func testChartArchive(t *testing.T, archive string) {
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archive), "quittance-"), "-chart.tgz")
	chart, err := loader.Load(archive)
	if err != nil {
		t.Fatal(err)
	}
	if chart.Name() != "quittance" || chart.AppVersion() != version ||
		!strings.HasPrefix(chart.Metadata.Version, "0.0.0-devel.") && chart.Metadata.Version != version {
		t.Errorf("%+v, want the version %s", chart.Metadata, version)
	}
	dir := t.TempDir() // the linter reads directories
	unpack(t, archive, dir)
	source, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range installations(t) {
		for _, message := range lint.RunAll(filepath.Join(dir, "quittance"), values, "billing").Messages {
			if message.Severity > support.InfoSev {
				t.Errorf("%s: %s", name, message)
			}
		}
		packaged, err := renderChart(archive, values)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		original, err := render(values)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := accepted(packaged); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		change := strings.NewReplacer("quittance-"+source.Metadata.Version, "quittance-"+chart.Metadata.Version,
			`version: "`+source.AppVersion()+`"`, `version: "`+version+`"`, "registry.example/quittance:"+source.AppVersion(),
			"registry.example/quittance:"+version)
		if got, want := strings.Join(packaged, "---\n"), change.Replace(strings.Join(original, "---\n")); got != want {
			t.Errorf("%s: the archive renders other objects than the source tree:\n%s\nwant\n%s", name, got, want)
		}
		if name == "sandbox" && strings.Count(strings.Join(packaged, ""),
			`image: "registry.example/quittance:`+version+`"`) != 4 {
			t.Errorf("not every pod runs the image of version %s by default", version)
		}
	}
}

// testComposeArchive: in the unpacked archive, both ways to start the services load, and every file that they mount is
// there or made by prepare, which can be run.
func testComposeArchive(t *testing.T, archive string) {
	dir := t.TempDir()
	unpack(t, archive, dir)
	dir = only(t, filepath.Join(dir, "quittance-*-compose", "compose"))
	made := map[string]secret{"database-password": {}, "pgpass": {}, "grafana-password": {}}
	if os.Getuid() == 0 {
		made = prepare(t, dir)
	}
	for _, files := range [][]string{{"compose.yaml"}, {"compose.yaml", "tls.yaml"}} {
		for n := range files {
			files[n] = filepath.Join(dir, files[n])
		}
		options, err := cli.NewProjectOptions(files, cli.WithWorkingDirectory(dir),
			cli.WithEnv([]string{"QUITTANCE_IMAGE=quittance:1.2.0"}))
		if err != nil {
			t.Fatal(err)
		}
		project, err := options.LoadProject(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mounts := 0
		for _, service := range project.Services {
			for _, volume := range service.Volumes {
				if volume.Type != types.VolumeTypeBind {
					continue
				}
				mounts++
				if info, err := os.Stat(volume.Source); err != nil || !info.Mode().IsRegular() ||
					info.Mode().Perm()&0o044 != 0o044 {
					t.Errorf("%s cannot read %s: %v, %v", service.Name, volume.Source, info, err)
				}
			}
		}
		if mounts != 5 {
			t.Errorf("%d files are mounted", mounts)
		}
		for name, file := range project.Secrets {
			_, prepared := made[name]
			if filepath.Dir(file.File) != filepath.Join(dir, "secrets") || !prepared && name != "key.json" &&
				!strings.HasPrefix(name, "tls-") {
				t.Errorf("nothing makes the secret %s", file.File)
			}
		}
	}
}
