// Command dist builds the files by which a release is distributed: an archive for each platform, packages for Debian,
// Red Hat and their relatives, an image for containers, bills of materials, a Helm chart, compose files, and checksums
// with a signature.
//
// Its invariant: the files follow from the commit and the version of Go alone. Every time in them is the time of the
// commit, and nothing names the machine or the directory where they were built, so two builds of a commit are the same
// bytes. Start reading at [distribution.write].
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
)

// distribution is what is built, and where to.
type distribution struct {
	source    source
	platforms []platform
	// out is the directory for the files, and work one for what is needed only meanwhile.
	out, work string
	// key is a private key for ssh-keygen, or "".
	key string
	// maintainer is who packages name.
	maintainer string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// run builds what the arguments say and prints the names of the files.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("dist", flag.ContinueOnError)
	dir := flags.String("source", "../..", "root of the work tree")
	out := flags.String("out", "", "directory for the files, which must be new or empty (required)")
	release := flags.String("release", "",
		"release, such as 1.2.0; by default the tag of the commit, and without one a development build")
	list := flags.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64",
		"platforms to build for; \"\" builds only the Helm chart and the compose files")
	key := flags.String("key", "", "private key with which ssh-keygen signs the checksums")
	maintainer := flags.String("maintainer", "Quittance <maintainers@quittance.invalid>", "maintainer that packages name")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || flags.NArg() > 0 {
		return errors.New("usage: dist -out DIRECTORY; -help shows all flags")
	}
	platforms, err := parsePlatforms(*list)
	if err != nil {
		return err
	}
	d := distribution{platforms: platforms, key: *key, maintainer: *maintainer}
	if d.source, err = readSource(ctx, *dir, *release); err != nil {
		return err
	}
	if d.out, err = emptyDirectory(*out); err != nil {
		return err
	}
	if d.work, err = os.MkdirTemp("", "quittance-dist-"); err != nil {
		return err
	}
	err = d.write(ctx, stdout)
	return errors.Join(err, os.RemoveAll(d.work))
}

// emptyDirectory creates a directory, or accepts an empty one, and returns its absolute path.
func emptyDirectory(name string) (string, error) {
	if err := os.MkdirAll(name, 0o755); err != nil { //nolint:gosec // for everybody
		return "", err
	}
	found, err := os.ReadDir(name)
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return "", fmt.Errorf("the directory %s is not empty", name)
	}
	return filepath.Abs(name)
}

// write builds everything.
func (d distribution) write(ctx context.Context, stdout io.Writer) error {
	var images []imageSource
	for _, p := range d.platforms {
		fmt.Fprintf(stdout, "building quittance %s for %s/%s\n", d.source.version(), p.os, p.arch)
		binary := filepath.Join(d.work, p.os+"-"+p.arch)
		if err := d.source.build(ctx, p, binary); err != nil {
			return err
		}
		documents, err := d.documents(ctx, p)
		if err != nil {
			return err
		}
		if err := errors.Join(d.archive(p, binary, documents), d.billOfMaterials(p, binary)); err != nil {
			return err
		}
		if p.os != "linux" {
			continue
		}
		if err := d.packages(p, binary, documents); err != nil {
			return err
		}
		images = append(images, imageSource{p, binary, documents})
	}
	if len(images) > 0 {
		if err := d.image(images); err != nil {
			return err
		}
	}
	if err := d.deployment(ctx); err != nil {
		return err
	}
	if err := d.checksums(ctx); err != nil {
		return err
	}
	files, err := os.ReadDir(d.out)
	for _, file := range files {
		fmt.Fprintln(stdout, filepath.Join(d.out, file.Name()))
	}
	return err
}

// documents returns the documents that accompany the binary for p, at the paths that they have in the source, so that
// the links between them work. Of the guides, it is those for the people who run the service.
func (d distribution) documents(ctx context.Context, p platform) ([]entry, error) {
	licences, err := d.source.licences(ctx, p)
	if err != nil {
		return nil, err
	}
	documents := []entry{{name: "THIRD-PARTY-LICENSES", mode: 0o644, content: licences}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		documents = append(documents, entry{name: name, mode: 0o644, from: filepath.Join(d.source.dir, name)})
	}
	pages, err := d.tracked(ctx, "docs", "docs", "docs/operations.md", "docs/ops")
	return append(documents, pages...), err
}
