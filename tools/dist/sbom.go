package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// billOfMaterials writes what a binary contains, as it says itself, in CycloneDX 1.6: the standard library and every
// module with its version and its checksum of go.sum.
func (d distribution) billOfMaterials(p platform, binary string) error {
	recorded, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(content)
	program := cyclonedx.Component{
		BOMRef: "quittance", Type: cyclonedx.ComponentTypeApplication, Name: "quittance", Version: d.source.version(),
		Hashes:   &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(digest[:])}},
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		Properties: &[]cyclonedx.Property{{Name: "vcs.revision", Value: d.source.commit},
			{Name: "platform", Value: p.os + "/" + p.arch}},
	}
	components := []cyclonedx.Component{library("std", strings.TrimPrefix(recorded.GoVersion, "go"), "")}
	for _, module := range recorded.Deps {
		components = append(components, moduleComponent(module))
	}
	refs := make([]string, 0, len(components))
	for _, component := range components {
		refs = append(refs, component.BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = serialNumber(digest)
	bom.Metadata = &cyclonedx.Metadata{Timestamp: d.source.time.Format(time.RFC3339), Component: &program}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: program.BOMRef, Dependencies: &refs}}
	name := "quittance-" + d.source.version() + "-" + p.os + "-" + p.arch + ".cdx.json"
	return writeFile(filepath.Join(d.out, name), func(w io.Writer) error {
		return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom,
			cyclonedx.SpecVersion1_6)
	})
}

// moduleComponent describes a module, or what replaces it.
func moduleComponent(module *debug.Module) cyclonedx.Component {
	if used := module.Replace; used != nil && !strings.HasPrefix(used.Path, ".") {
		module = used
	}
	version := module.Version
	if module.Replace != nil || version == "(devel)" {
		version = "" // a directory of the source tree
	}
	return library(module.Path, version, module.Sum)
}

// library describes a module by its package URL (https://github.com/package-url/purl-spec) and its checksum.
func library(path, version, sum string) cyclonedx.Component {
	url := "pkg:golang/" + path
	if version != "" {
		url += "@" + version
	}
	component := cyclonedx.Component{BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version,
		PackageURL: url}
	if sum != "" {
		component.Properties = &[]cyclonedx.Property{{Name: "go.sum", Value: sum}}
	}
	return component
}

// serialNumber returns a UUID of version 8 (RFC 9562) that follows from the binary, so that it is the same in every
// build.
func serialNumber(digest [sha256.Size]byte) string {
	id := digest[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
