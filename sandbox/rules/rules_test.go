package rules_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/sandbox/rules"
)

// documents is the directory with documents that break no rule, in one directory for each profile.
const documents = "../../internal/document/testdata"

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestGoodDocuments judges documents that break no official rule: there is no finding.
func TestGoodDocuments(t *testing.T) {
	for _, profile := range []rules.Profile{rules.PINTAE, rules.BIS3} {
		files, err := filepath.Glob(filepath.Join(documents, string(profile), "*.xml"))
		if err != nil || len(files) < 5 {
			t.Fatalf("%d documents: %v", len(files), err)
		}
		for _, file := range files {
			if got, findings := rules.Judge(readFile(t, file)); got != profile || len(findings) > 0 {
				t.Errorf("%s: profile %q, %v", file, got, findings)
			}
		}
	}
}

// TestEveryRule changes a good document so that it breaks a rule, for every rule. testdata/broken.tsv has the changes:
// the rule, the document, a regular expression and its replacement. make official-rules demonstrates that the official
// rules find the same, except for those after a !, which they do not have.
func TestEveryRule(t *testing.T) {
	broken := map[string]bool{}
	for n, line := range strings.Split(strings.TrimSpace(string(readFile(t, "testdata/broken.tsv"))), "\n") {
		cells := strings.Split(line, "\t")
		rule := strings.TrimPrefix(cells[0], "!")
		broken[rule] = true
		text, ok := change(string(readFile(t, filepath.Join(documents, cells[1]))), cells[2], cells[3])
		if !ok {
			t.Errorf("line %d: the document has no %s", n+1, cells[2])
			continue
		}
		_, findings := rules.Judge([]byte(text))
		at := slices.IndexFunc(findings, func(f rules.Finding) bool { return f.Rule == rule })
		if at < 0 {
			t.Errorf("line %d: %s does not find %s: %v", n+1, rule, cells[2], findings)
			continue
		}
		if f := findings[at]; !strings.HasPrefix(f.Location, "/") || !strings.HasSuffix(f.Text, ".") &&
			rule != rules.RuleXML {
			t.Errorf("line %d: the finding %+v has no location or is no sentence", n+1, f)
		}
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, id := range regexp.MustCompile(
			`"((?:ibr|BR|PEPPOL|aligned|BTAE|IBT|IBG)-[-A-Za-z0-9]+)"`).FindAllStringSubmatch(string(readFile(t, name)), -1) {
			if !broken[id[1]] && id[1] != "BR-" && id[1] != "aligned-ibrp-" {
				t.Errorf("%s: no document breaks %s", name, id[1])
			}
		}
	}
}

// change replaces the first text that a regular expression matches.
func change(text, from, to string) (string, bool) {
	pattern := regexp.MustCompile(from)
	at := pattern.FindStringSubmatchIndex(text)
	if at == nil {
		return "", false
	}
	return text[:at[0]] + string(pattern.ExpandString(nil, to, text, at)) + text[at[1]:], true
}

// TestLocation checks that a finding names the element among its siblings.
func TestLocation(t *testing.T) {
	text := string(readFile(t, filepath.Join(documents, "pint-ae/mixed-categories.xml")))
	line := strings.LastIndex(text, "<cac:InvoiceLine>")
	text = text[:line] + strings.Replace(text[line:], "<cbc:Name>", "<cbc:Note>", 1)
	text = text[:line] + strings.Replace(text[line:], "</cbc:Name>", "</cbc:Note>", 1)
	_, findings := rules.Judge([]byte(text))
	want := fmt.Sprintf("/Invoice/cac:InvoiceLine[%d]", strings.Count(text, "<cac:InvoiceLine>"))
	if !slices.ContainsFunc(findings, func(f rules.Finding) bool { return f.Rule == "ibr-025" && f.Location == want }) {
		t.Errorf("no finding at %s: %v", want, findings)
	}
}

// TestHostileDocuments judges documents that are made to cost time or memory.
func TestHostileDocuments(t *testing.T) {
	good := string(readFile(t, filepath.Join(documents, "bis3/standard.xml")))
	from, to := strings.Index(good, "  <cac:InvoiceLine>"), strings.Index(good, "</Invoice>")
	subtotalFrom, subtotalTo := strings.Index(good, "<cac:TaxSubtotal>"), strings.Index(good, "</cac:TaxTotal>")
	big := func(part string) string { return strings.Repeat(part, (rules.MaxSize-len(good))/len(part)) }
	for name, text := range map[string]string{
		"lines": good[:to] + strings.Repeat(good[from:to], 5000) + good[to:],
		"subtotals": good[:subtotalTo] + strings.Repeat(good[subtotalFrom:subtotalTo], 5000) + good[subtotalTo:to] +
			strings.Repeat(good[from:to], 1000) + good[to:],
		"elements":   good[:to] + big("<cbc:ID/>") + good[to:],
		"depth":      good[:to] + big("<cac:Party>"),
		"siblings":   good[:to] + strings.Repeat("<cbc:ID>1</cbc:ID>", 150_000) + good[to:],
		"exponent":   strings.Replace(good, ">100.00<", ">1e999999999<", 1),
		"digits":     strings.Replace(good, ">100.00<", ">"+strings.Repeat("9", 1<<19)+"<", 1),
		"text":       strings.Replace(good, "COST-7", strings.Repeat("x", 2<<20), 1),
		"name":       strings.Replace(good, "<cbc:ID>", "<cbc:"+strings.Repeat("a", 1<<16)+"/><cbc:ID>", 1),
		"entity":     `<!DOCTYPE Invoice [<!ENTITY a "aaaa">]>` + good,
		"size":       good + big(" ") + strings.Repeat(" ", len(good)),
		"attributes": strings.Replace(good, "<cbc:ID>", "<cbc:ID "+strings.Repeat(`a="" `, 20_000)+">", 1),
		"parties": strings.Replace(good, "<cac:AccountingSupplierParty>",
			big("<cac:AccountingSupplierParty><cac:Party/></cac:AccountingSupplierParty>")+"<cac:AccountingSupplierParty>", 1),
		"no bytes":     "",
		"empty root":   `<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"/>`,
		"only a text":  "invoice",
		"other root":   `<Order xmlns="urn:oasis:names:specification:ubl:schema:xsd:Order-2"/>`,
		"no namespace": "<Invoice/>",
	} {
		started := time.Now()
		_, findings := rules.Judge([]byte(text))
		if len(findings) == 0 || len(findings) > rules.MaxFindings {
			t.Errorf("%s: %d findings", name, len(findings))
		}
		size := 0
		for _, f := range findings {
			size += len(f.Rule) + len(f.Location) + len(f.Text)
		}
		if size > 100<<10 {
			t.Errorf("%s: the findings have %d bytes", name, size)
		}
		if took := time.Since(started); took > time.Minute {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

// FuzzJudge judges arbitrary bytes: it returns bounded findings, the same every time, and a document of a known profile
// only if it is XML.
func FuzzJudge(f *testing.F) {
	for _, pattern := range []string{"pint-ae/*.xml", "bis3/*.xml"} {
		files, err := filepath.Glob(filepath.Join(documents, pattern))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			f.Add(readFile(f, file))
		}
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		given := bytes.Clone(document)
		profile, findings := rules.Judge(document)
		if !bytes.Equal(given, document) {
			t.Error("the document was changed")
		}
		if profile == "" && len(findings) != 1 || len(findings) > rules.MaxFindings {
			t.Errorf("profile %q with %d findings", profile, len(findings))
		}
		again, second := rules.Judge(document)
		if again != profile || !slices.Equal(findings, second) {
			t.Errorf("the second judgement differs: %v, %v", findings, second)
		}
	})
}
