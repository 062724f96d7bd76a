package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// chartDir is the Helm chart in the work tree.
const chartDir = "deploy/helm/quittance"

// deployment writes the Helm chart and the compose files. Both name the version, and neither contains a program. Only
// files that git tracks are in them, so no password that somebody has made beside the compose file is ever published.
func (d distribution) deployment(ctx context.Context) error {
	chart, err := d.chart(ctx)
	if err != nil {
		return err
	}
	name := "quittance-" + d.source.version() + "-compose"
	compose, err := d.tracked(ctx, "deploy", name, "deploy/compose", "deploy/prometheus/alerts.yml",
		"deploy/grafana/quittance.json")
	if err != nil {
		return err
	}
	compose = append(compose, d.terms(name))
	return errors.Join(
		// Helm reads the name and the version of a chart from its Chart.yaml, so the file can be named as all others are.
		writeFile(filepath.Join(d.out, "quittance-"+d.source.version()+"-chart.tgz"),
			func(w io.Writer) error { return writeTarGzip(w, chart, d.source.time) }),
		writeFile(filepath.Join(d.out, name+".tar.gz"),
			func(w io.Writer) error { return writeTarGzip(w, compose, d.source.time) }),
	)
}

// terms returns the licence of the project as a file of dir.
func (d distribution) terms(dir string) entry {
	return entry{name: path.Join(dir, "LICENSE"), mode: 0o644, from: filepath.Join(d.source.dir, "LICENSE")}
}

// chart returns the files of the Helm chart, below the directory that Helm requires: the name of the chart.
func (d distribution) chart(ctx context.Context) ([]entry, error) {
	entries, err := d.tracked(ctx, chartDir, "quittance", chartDir)
	if err != nil {
		return nil, err
	}
	for n := range entries {
		if entries[n].name != "quittance/Chart.yaml" {
			continue
		}
		text, err := entries[n].read()
		if err != nil {
			return nil, err
		}
		entries[n].from = ""
		if entries[n].content, err = setVersions(text, d.source.chartVersion(), d.source.version()); err != nil {
			return nil, err
		}
		return append(entries, d.terms("quittance")), nil
	}
	return nil, errors.New(chartDir + " has no Chart.yaml that git tracks")
}

// setVersions returns Chart.yaml with the version of the chart, and the version of the application, which is the
// default tag of its image.
func setVersions(text []byte, version, appVersion string) ([]byte, error) {
	for key, value := range map[string]string{"version": version, "appVersion": appVersion} {
		line := regexp.MustCompile(`(?m)^` + key + `: .*$`)
		if found := len(line.FindAll(text, -1)); found != 1 {
			return nil, fmt.Errorf("%d lines with %s in Chart.yaml, want one", found, key)
		}
		text = line.ReplaceAll(text, fmt.Appendf(nil, "%s: %q", key, value))
	}
	return text, nil
}

// tracked returns the files below paths that git tracks, in the order of their names, with the directory base replaced
// by to. Their modes are those that git records.
func (d distribution) tracked(ctx context.Context, base, to string, paths ...string) ([]entry, error) {
	listed, err := output(ctx, d.source.dir, "git", append([]string{"ls-files", "--stage", "-z", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for line := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		facts, name, found := strings.Cut(line, "\t") // such as 100644 HASH 0<tab>NAME
		relative, below := strings.CutPrefix(name, base+"/")
		if !found || !below {
			return nil, fmt.Errorf("git ls-files %s: unexpected line %q", strings.Join(paths, " "), line)
		}
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(facts, "100755 ") {
			mode = 0o755
		}
		entries = append(entries, entry{name: path.Join(to, relative), mode: mode,
			from: filepath.Join(d.source.dir, filepath.FromSlash(name))})
	}
	return entries, nil
}
