package main

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// documentation is the directory for documents on a Linux system.
const documentation = "/usr/share/doc/quittance"

// packages writes the packages of a Linux platform. They install the binary, a unit of systemd, its settings and the
// documents, and do not start the service.
func (d distribution) packages(p platform, binary string, documents []entry) error {
	contents, err := d.contents(p, binary, documents)
	if err != nil {
		return err
	}
	for _, packager := range []nfpm.Packager{deb.Default, rpm.DefaultRPM} {
		info := d.packageInfo(p, contents)
		name := packager.ConventionalFileName(info)
		if err := writeFile(filepath.Join(d.out, name),
			func(w io.Writer) error { return packager.Package(info, w) }); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// packageInfo describes a package. A packager changes the description, so each needs its own.
func (d distribution) packageInfo(p platform, contents files.Contents) *nfpm.Info {
	own := make(files.Contents, len(contents))
	for n, content := range contents {
		own[n] = new(*content)
	}
	script := func(name string) string { return filepath.Join(d.source.dir, "tools", "dist", "files", name) }
	return nfpm.WithDefaults(&nfpm.Info{
		Name: "quittance", Arch: p.arch, Platform: p.os, Version: d.source.packageVersion(), VersionSchema: "none",
		Release: "1", Section: "net", Priority: "optional", Maintainer: d.maintainer, License: "Apache-2.0",
		DisableGlobbing: true,
		MTime:           d.source.time,
		Description:     "E-invoicing client service\nQuittance passes a company's invoices to a regulated provider once, keeps\nevery response as evidence, and sends signed webhooks.",
		Overridables: nfpm.Overridables{
			Contents: own,
			Scripts: nfpm.Scripts{PostInstall: script("postinstall"), PreRemove: script("preremove"),
				PostRemove: script("postremove")},
			RPM: nfpm.RPM{BuildHost: "localhost", Summary: "E-invoicing client service", Packager: d.maintainer},
		},
	})
}

// contents returns the files of a package.
func (d distribution) contents(p platform, binary string, documents []entry) (files.Contents, error) {
	own := func(from, to, kind string, mode os.FileMode) *files.Content {
		return &files.Content{Source: from, Destination: to, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: d.source.time}}
	}
	from := func(name string) string { return filepath.Join(d.source.dir, "tools", "dist", "files", name) }
	contents := files.Contents{
		own(binary, "/usr/bin/quittance", "", 0o755),
		own(from("quittance.service"), "/usr/lib/systemd/system/quittance.service", "", 0o644),
		// Its addresses of databases may contain passwords.
		own(from("quittance.env"), "/etc/quittance/quittance.env", files.TypeConfigNoReplace, 0o640),
		own("", "/etc/quittance", files.TypeDir, 0o755),
	}
	for _, document := range documents {
		name := document.name
		if name == "LICENSE" {
			name = "copyright" // as Debian requires
		}
		// The packagers read files, so what is made here becomes one.
		if document.from == "" {
			document.from = filepath.Join(d.work, p.arch+"-"+name)
			if err := os.WriteFile(document.from, document.content, 0o600); err != nil {
				return nil, err
			}
		}
		contents = append(contents, own(document.from, path.Join(documentation, name), "", document.mode))
	}
	return contents, nil
}
