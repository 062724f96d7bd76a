package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// sumsFile has a line for each file, in the form that sha256sum --check reads.
const sumsFile = "SHA256SUMS"

// signatureNamespace is what the signature is for; it is the one that ssh-keygen's manual names for files.
const signatureNamespace = "file"

// checksums writes the checksums of all files and, if there is a key, their signature.
func (d distribution) checksums(ctx context.Context) error {
	files, err := os.ReadDir(d.out)
	if err != nil {
		return err
	}
	sums := filepath.Join(d.out, sumsFile)
	err = writeFile(sums, func(w io.Writer) error {
		for _, file := range files {
			content, err := os.ReadFile(filepath.Join(d.out, file.Name()))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%x  %s\n", sha256.Sum256(content), file.Name()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || d.key == "" {
		return err
	}
	command := exec.CommandContext(ctx, "ssh-keygen", "-q", "-Y", "sign", "-n", signatureNamespace, "-f", d.key, sums) //nolint:gosec // the key is an argument of the person who signs
	// for the passphrase
	command.Stdin = os.Stdin
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("sign with %s: %w\n%s", d.key, err, text)
	}
	return nil
}
