// Command generate writes the types of the SDKs for other languages from the OpenAPI document of the server, and the
// summary of an invoice from the fields of a draft. Run it in the root of the repository after a change of the API:
//
//	go run ./sdk/generate
//
// A new field of a draft needs two runs: the first adds it to the summary, which the document of the second has.
//
// Its invariant: its output depends on the API alone. A test fails if a file is not what the command would write.
// Start reading at generate; a language is one function, such as python.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"quittance/internal/front/server"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// write writes the files below a directory.
func write(root string) error {
	files, err := generate()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(files[name]), 0o644); err != nil { //nolint:gosec // source files
			return err
		}
	}
	return nil
}

// generate returns the text of each file by its path in the repository.
func generate() (map[string]string, error) {
	document, err := server.OpenAPI("")
	if err != nil {
		return nil, err
	}
	types, err := objects(document)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for name, language := range map[string]func([]object) (string, error){
		"sdk/python/quittance/types.py":  python,
		"sdk/typescript/src/decimals.js": typescriptDecimals,
		"sdk/typescript/src/types.d.ts":  typescript,
	} {
		if files[name], err = language(types); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	files["client/api/invoice_summary.go"], err = summary()
	return files, err
}
