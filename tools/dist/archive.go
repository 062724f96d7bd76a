package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// entry is a file or directory in an archive.
type entry struct {
	// name has slashes, and ends in one for a directory.
	name string
	// mode has the permissions, and owner the numeric user and group.
	mode  fs.FileMode
	owner int
	// content is what a file contains, unless it is in the file named by from.
	content []byte
	from    string
}

// read returns what a file contains.
func (e entry) read() ([]byte, error) {
	if e.from == "" {
		return e.content, nil
	}
	return os.ReadFile(e.from)
}

// writeTar writes entries in their order, all with the same time.
func writeTar(w io.Writer, entries []entry, at time.Time) error {
	archive := tar.NewWriter(w)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeDir, Name: e.name, Mode: int64(e.mode), Uid: e.owner, Gid: e.owner,
			ModTime: at, Format: tar.FormatUSTAR}
		var content []byte
		if e.name[len(e.name)-1] != '/' {
			var err error
			if content, err = e.read(); err != nil {
				return err
			}
			header.Typeflag, header.Size = tar.TypeReg, int64(len(content))
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// writeTarGzip writes a compressed tar file.
func writeTarGzip(w io.Writer, entries []entry, at time.Time) error {
	compressed := gzip.NewWriter(w)
	if err := writeTar(compressed, entries, at); err != nil {
		return err
	}
	return compressed.Close()
}

// writeZip writes a zip file.
func writeZip(w io.Writer, entries []entry, at time.Time) error {
	archive := zip.NewWriter(w)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		header.SetMode(e.mode)
		content, err := e.read()
		if err != nil {
			return err
		}
		file, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := file.Write(content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// writeFile creates a file with what write writes.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // for everybody
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// archive writes the archive of a platform: a directory with the binary and the documents.
func (d distribution) archive(p platform, binary string, documents []entry) error {
	name := "quittance-" + d.source.version() + "-" + p.os + "-" + p.arch
	program, suffix, write := "quittance", ".tar.gz", writeTarGzip
	if p.os == "windows" {
		program, suffix, write = "quittance.exe", ".zip", writeZip
	}
	entries := []entry{{name: path.Join(name, program), mode: 0o755, from: binary}}
	for _, document := range documents {
		document.name = path.Join(name, document.name)
		entries = append(entries, document)
	}
	return writeFile(filepath.Join(d.out, name+suffix),
		func(w io.Writer) error { return write(w, entries, d.source.time) })
}
