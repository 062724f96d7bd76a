package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"os"
	"path"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageUser is the numeric user and group as which the container runs; it has no rights outside of its data directory.
const imageUser = 65532

// dataDirectory is where the container keeps a SQLite database: the only directory besides /tmp in which it writes.
const dataDirectory = "/var/lib/quittance"

// imageSource is what the image of a platform is made from.
type imageSource struct {
	platform  platform
	binary    string
	documents []entry
}

// image writes an OCI image layout with an index of one image for each Linux platform, as a tar file.
func (d distribution) image(sources []imageSource) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, from := range sources {
		image, err := d.platformImage(from)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: from.platform.os, Architecture: from.platform.arch}}})
	}
	dir := filepath.Join(d.work, "image")
	path, err := layout.Write(dir, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index,
		layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": d.source.version()})); err != nil {
		return err
	}
	entries, err := tree(dir)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(d.out, "quittance-"+d.source.version()+"-oci.tar"),
		func(w io.Writer) error { return writeTar(w, entries, d.source.time) })
}

// tree returns the files below dir as entries, in the order of their names.
func tree(dir string) ([]entry, error) {
	var entries []entry
	err := filepath.WalkDir(dir, func(name string, found os.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if found.IsDir() {
			entries = append(entries, entry{name: filepath.ToSlash(relative) + "/", mode: 0o755})
		} else {
			entries = append(entries, entry{name: filepath.ToSlash(relative), mode: 0o644, from: name})
		}
		return nil
	})
	return entries, err
}

// platformImage makes the image of one platform: one layer with the binary and what it needs.
func (d distribution) platformImage(from imageSource) (v1.Image, error) {
	var files bytes.Buffer
	if err := writeTar(&files, rootEntries(from), d.source.time); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser,
		error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	at := v1.Time{Time: d.source.time}
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer,
		History: v1.History{Created: at, CreatedBy: "make dist"}}); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Created, config.OS, config.Architecture = at, from.platform.os, from.platform.arch
	config.Config = v1.Config{
		User: "65532:65532", WorkingDir: dataDirectory, Entrypoint: []string{"/usr/bin/quittance"}, Cmd: []string{"serve"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}}, Volumes: map[string]struct{}{dataDirectory: {}},
		StopSignal: "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title": "Quittance", "org.opencontainers.image.description": "E-invoicing client service",
			"org.opencontainers.image.version": d.source.version(), "org.opencontainers.image.revision": d.source.commit,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(image, config)
}

// rootEntries returns the root file system: the binary, the certificates of public authorities, the names of the user,
// and a data directory. There is no shell and no C library.
func rootEntries(from imageSource) []entry {
	entries := []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nquittance:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644,
			content: []byte("root:x:0:0:root:/:/sbin/nologin\nquittance:x:65532:65532:quittance:" + dataDirectory +
				":/sbin/nologin\n")},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: authorities()},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755},
		{name: "usr/bin/", mode: 0o755},
		{name: "usr/bin/quittance", mode: 0o755, from: from.binary},
		{name: "usr/share/", mode: 0o755},
		{name: "usr/share/doc/", mode: 0o755},
		{name: "usr/share/doc/quittance/", mode: 0o755},
		{name: "usr/share/doc/quittance/docs/", mode: 0o755},
		{name: "usr/share/doc/quittance/docs/ops/", mode: 0o755},
	}
	for _, document := range from.documents {
		document.name = path.Join(documentation[1:], document.name)
		entries = append(entries, document)
	}
	return append(entries, entry{name: "var/", mode: 0o755}, entry{name: "var/lib/", mode: 0o755},
		entry{name: dataDirectory[1:] + "/", mode: 0o700, owner: imageUser})
}

// authorities returns the certificate authorities of Mozilla's list as PEM. Those that are trusted only under a
// condition, which PEM cannot express, are left out. The list is a module, so it follows from the commit and not from
// the machine.
func authorities() []byte {
	var text []byte
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})...)
		}
	}
	return text
}
