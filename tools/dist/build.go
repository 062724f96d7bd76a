package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// platform is an operating system and an architecture, as Go names them.
type platform struct{ os, arch string }

// parsePlatforms reads a list such as linux/amd64,darwin/arm64. An empty list has no platforms.
func parsePlatforms(list string) ([]platform, error) {
	if list == "" {
		return nil, nil
	}
	var platforms []platform
	for name := range strings.SplitSeq(list, ",") {
		system, arch, found := strings.Cut(name, "/")
		if !found || system == "" || arch == "" {
			return nil, fmt.Errorf("the platform %q has not the form linux/amd64", name)
		}
		platforms = append(platforms, platform{system, arch})
	}
	return platforms, nil
}

// environment returns the environment for the go command. What a machine's own settings could change is set here, so
// that it does not change the binary.
func (p platform) environment() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=",
		"GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off")
}

// build compiles the program for a platform to the file out, without cgo, without paths of this machine and without
// debugging tables. The go command records the commit.
func (s source) build(ctx context.Context, p platform, out string) error {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w -X main.release="+s.release, "-o", out, "./cmd/quittance") //nolint:gosec // the release has been checked
	command.Dir, command.Env = s.dir, p.environment()
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go build for %s/%s: %w\n%s", p.os, p.arch, err, text)
	}
	return nil
}

// licenceFile matches the names of files with terms that must accompany a copy.
var licenceFile = regexp.MustCompile(`(?i)(^|\.)(licen[cs]e|copying|notice|ofl)(\.|$)`)

// licences returns the terms of everything that the binary for p contains beside this project's own code: the standard
// library, the modules, and the fonts and other files in the source tree that have terms of their own. A module without
// terms is an error.
func (s source) licences(ctx context.Context, p platform) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}", "./cmd/quittance")
	command.Dir, command.Env = s.dir, p.environment()
	listed, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("list the modules: %w", err)
	}
	goRoot, err := output(ctx, s.dir, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(string(listed)), "\n")
	slices.Sort(lines)
	text, err := terms("The Go standard library", goRoot)
	for _, line := range slices.Compact(lines) {
		name, dir, _ := strings.Cut(line, "\t")
		if err != nil || dir == "" || strings.HasPrefix(dir, s.dir+string(filepath.Separator)) {
			continue // packages of the standard library leave an empty line, and the SDK has the terms of this project
		}
		var more []byte
		more, err = terms(name, dir)
		text = append(text, more...)
	}
	if err != nil {
		return nil, err
	}
	return s.ownTerms(text)
}

// ownTerms appends the terms of files in the source tree that others wrote.
func (s source) ownTerms(text []byte) ([]byte, error) {
	tree := os.DirFS(filepath.Join(s.dir, "internal"))
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "testdata" {
			return fs.SkipDir
		}
		if err != nil || entry.IsDir() || !licenceFile.MatchString(entry.Name()) || filepath.Ext(name) == ".go" {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		text = append(text, heading("internal/"+name)...)
		text = append(text, content...)
		return err
	})
	return text, err
}

// terms returns the files in dir with terms, under the name of what they are for.
func terms(name, dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	text := []byte(heading(name))
	found := false
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !licenceFile.MatchString(entry.Name()) || filepath.Ext(entry.Name()) == ".go" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		text = append(text, content...)
		found = true
	}
	if !found {
		return nil, errors.New(name + " has no file with its licence")
	}
	return text, nil
}

// heading begins the terms of one component.
func heading(name string) string {
	return "\n" + strings.Repeat("=", 80) + "\n" + name + "\n" + strings.Repeat("=", 80) + "\n\n"
}
