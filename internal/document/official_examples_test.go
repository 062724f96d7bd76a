package document_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quittance/internal/document"
	"quittance/internal/document/ubl"
)

// examplesVariable names the directory with the official examples. docs/dev/commands.md says what it contains.
const examplesVariable = "QUITTANCE_EXAMPLES"

// TestOfficialExamples makes a document of each official example, writes it, and compares every term of both. It prints
// the terms that differ: -term is lacking, +term is beside those of the example, and ~term says something else. The
// product need not be able to say everything that an example says. But it must name what it leaves, and accept what the
// authors of a format take for a document of it. The test needs examples that are not part of the repository: make
// official-examples EXAMPLES=directory.
func TestOfficialExamples(t *testing.T) {
	examples := os.Getenv(examplesVariable)
	if examples == "" {
		t.Skip("no official examples: run make official-examples EXAMPLES=directory (docs/dev/commands.md)")
	}
	same, all := 0, 0
	for _, of := range []struct {
		directory string
		profile   document.Profile
		foreign   bool // examples of another specification, of which the document has neither the name nor the rules
	}{{"pint-ae", document.PINTAE, false}, {"bis3", document.BIS3, false}, {"en16931", document.BIS3, true}} {
		files, err := filepath.Glob(filepath.Join(examples, of.directory, "*.xml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no examples in %s: %v", examples, of.directory, err)
		}
		for _, file := range files {
			differences, findings := exampleReturns(t, of.profile, file)
			if of.foreign {
				findings, differences = nil, slices.DeleteFunc(differences, func(difference string) bool {
					return slices.Contains([]string{"profile", "specification", "business_process"}, difference[1:])
				})
			}
			if all++; len(differences) == 0 {
				same++
				differences = []string{"same"}
			}
			t.Logf("%s/%s: %s", of.directory, filepath.Base(file), strings.Join(differences, " "))
			if len(findings) > 0 {
				t.Errorf("%s/%s is refused: %v", of.directory, filepath.Base(file), findings.Faults())
			}
		}
	}
	t.Logf("%d of %d", same, all)
}

// exampleReturns returns the terms that differ in the document that is made of an example, and what the product finds
// wrong with it.
func exampleReturns(t *testing.T, p document.Profile, file string) (differences []string, found document.Findings) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	said, err := ubl.Read(text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	d, _ := document.DocumentOf(p, &said.ParsedDocument)
	written := document.Draw(p, d)
	again, err := ubl.Read(written)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	lost := document.Unsaid(&said.ParsedDocument, &again.ParsedDocument)
	added := document.Unsaid(&again.ParsedDocument, &said.ParsedDocument)
	for _, path := range lost {
		sign := "-"
		if slices.Contains(added, path) {
			sign = "~"
		}
		differences = append(differences, sign+path)
	}
	for _, path := range added {
		if !slices.Contains(lost, path) {
			differences = append(differences, "+"+path)
		}
	}
	if found = document.Check(p, d); len(found) == 0 {
		for _, rule := range judge(p, written) {
			t.Errorf("%s: what is written of it violates %s", file, rule)
		}
	}
	return differences, found
}
