package document_test

import (
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quittance/internal/document"
)

var documents = flag.Int("documents", 1000, "how many random documents of each profile TestOfficialRules judges")

// rulesVariable names the directory with the official rules. docs/documents.md says what it contains.
const rulesVariable = "QUITTANCE_RULES"

// TestOfficialRules judges the golden documents and random complete ones with the official schemas and rules of each
// profile. It needs rule files that are not part of the repository: make official-rules RULES=directory.
func TestOfficialRules(t *testing.T) {
	rules := os.Getenv(rulesVariable)
	if rules == "" {
		t.Skip("no official rules: run make official-rules RULES=directory (docs/documents.md)")
	}
	for _, p := range document.Profiles {
		t.Run(string(p), func(t *testing.T) {
			in := t.TempDir()
			golden, err := filepath.Glob(filepath.Join("testdata", string(p), "*.xml"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range golden {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				writeFile(t, filepath.Join(in, filepath.Base(file)), text)
			}
			for n := range *documents {
				r := newRandom(p, uint64(n))
				text, err := document.Write(p, r.document(t, n))
				if err != nil {
					t.Fatal(err)
				}
				writeFile(t, filepath.Join(in, fmt.Sprintf("random-%06d.xml", n)), text)
			}
			t.Logf("%d golden and %d random documents", len(golden), *documents)
			judgeBySchema(t, rules, in)
			for name, text := range spoiled(t, p) {
				writeFile(t, filepath.Join(in, name), text)
			}
			judgeBySchematron(t, filepath.Join(rules, string(p)), in)
		})
	}
}

// spoiledPrefix begins the names of files with documents that violate a rule; the number of the document and the rule
// follow.
const spoiledPrefix = "spoiled-"

// spoiled returns golden documents after a change, by the name of their file: those with which package rules tests that
// it finds what the official rules find. Without them, rules that judge nothing would look like documents without
// fault.
func spoiled(t *testing.T, p document.Profile) map[string][]byte {
	t.Helper()
	changes, err := os.ReadFile("../../sandbox/rules/testdata/broken.tsv")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for n, line := range strings.Split(strings.TrimSpace(string(changes)), "\n") {
		cells := strings.Split(line, "\t")
		rule, name, from, to := cells[0], cells[1], cells[2], cells[3]
		// ! marks a rule that is not an official one
		if !strings.HasPrefix(name, string(p)+"/") || strings.HasPrefix(rule, "!") {
			continue
		}
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		pattern := regexp.MustCompile(from)
		at := pattern.FindSubmatchIndex(text)
		if at == nil {
			t.Fatalf("%s has no %s", name, from)
		}
		changed := slices.Concat(text[:at[0]], pattern.Expand(nil, []byte(to), text, at), text[at[1]:])
		files[fmt.Sprintf("%s%03d-%s.xml", spoiledPrefix, n+1, rule)] = changed
	}
	return files
}

func writeFile(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// judgeBySchema validates every document with the XML schema of its root.
func judgeBySchema(t *testing.T, rules, in string) {
	t.Helper()
	for _, kind := range []string{"Invoice", "CreditNote"} {
		var files []string
		all, err := filepath.Glob(filepath.Join(in, "*.xml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range all {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "<"+kind+" ") {
				files = append(files, file)
			}
		}
		if len(files) == 0 {
			t.Errorf("no document is a %s", kind)
			continue
		}
		schema := filepath.Join(rules, "xsd", "maindoc", "UBL-"+kind+"-2.1.xsd")
		out, err := exec.CommandContext(t.Context(), "xmllint", append([]string{"--nonet", "--noout", "--schema", schema},
			files...)...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: xmllint: %v\n%s", kind, err, head(string(out)))
		}
		if valid := strings.Count(string(out), " validates\n"); valid != len(files) {
			t.Errorf("%d of %d documents are valid %ss", valid, len(files), kind)
		}
	}
}

// judgeBySchematron runs every compiled rule file of a profile over the documents. A failed assertion that is not a
// warning is an error.
func judgeBySchematron(t *testing.T, rules, in string) {
	t.Helper()
	sheets, err := filepath.Glob(filepath.Join(rules, "*.xslt"))
	if err != nil || len(sheets) < 2 {
		t.Fatalf("%s contains %d rule files, not two: %v", rules, len(sheets), err)
	}
	inputs, err := os.ReadDir(in)
	if err != nil {
		t.Fatal(err)
	}
	warnings, found := map[string]int{}, map[string]bool{}
	for _, input := range inputs {
		if id, ok := strings.CutPrefix(strings.TrimSuffix(input.Name(), ".xml"), spoiledPrefix); ok {
			found[id] = false
		}
	}
	for _, sheet := range sheets {
		out := t.TempDir()
		command := exec.CommandContext(t.Context(), "java", "-cp", "/usr/share/java/Saxon-HE.jar", "net.sf.saxon.Transform",
			"-s:"+in, "-o:"+out, "-xsl:"+sheet)
		if text, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", sheet, err, head(string(text)))
		}
		results, err := os.ReadDir(out)
		if err != nil || len(results) != len(inputs) {
			t.Fatalf("%s: %d results for %d documents: %v", sheet, len(results), len(inputs), err)
		}
		for _, result := range results {
			spoiledBy, isSpoiled := strings.CutPrefix(strings.TrimSuffix(result.Name(), ".xml"), spoiledPrefix)
			for _, finding := range readFindings(t, filepath.Join(out, result.Name())) {
				switch {
				case isSpoiled:
					found[spoiledBy] = found[spoiledBy] || strings.HasSuffix(spoiledBy, "-"+finding.ID)
					continue
				case finding.Flag == "warning":
					warnings[finding.ID]++
					continue
				}
				t.Errorf("%s: %s %s: %s", result.Name(), finding.ID, finding.Flag, strings.TrimSpace(finding.Text))
			}
		}
		t.Logf("%s: %d documents", filepath.Base(sheet), len(results))
	}
	t.Logf("warnings by rule: %v", warnings)
	for id, ok := range found {
		if !ok {
			t.Errorf("%s does not find the document that violates it", id)
		}
	}
}

// officialFinding is a failed assertion of a report in the Schematron Validation Report Language.
type officialFinding struct {
	ID   string `xml:"id,attr"`
	Flag string `xml:"flag,attr"`
	Text string `xml:"text"`
}

// readFindings reads a report. A report in which no rule was fired judges nothing and is an error.
func readFindings(t *testing.T, name string) []officialFinding {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}()
	var report struct {
		Fired  []struct{}        `xml:"fired-rule"`
		Failed []officialFinding `xml:"failed-assert"`
	}
	if err := xml.NewDecoder(file).Decode(&report); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(report.Fired) < 5 {
		t.Errorf("%s: only %d rules were fired", name, len(report.Fired))
	}
	return report.Failed
}

// head returns the beginning of a long text.
func head(s string) string { return s[:min(len(s), 4000)] }
