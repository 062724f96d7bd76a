package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quittance/test/kit"
)

// TestReadiness examines a directory: what is ready, what is not and by which record, as text and as JSON. A text of a
// document cannot command the terminal.
func TestReadiness(t *testing.T) {
	dir := t.TempDir()
	good, err := os.ReadFile("../document/testdata/pint-ae/standard.xml")
	kit.Must(t, err)
	bad := bytes.ReplaceAll(good, []byte("<cbc:Description>Integration workshop</cbc:Description>"), nil)
	bad = bytes.ReplaceAll(bad, []byte("<cbc:Name>Consulting"), []byte("<cbc:Name>\u202eConsulting"))
	for name, text := range map[string][]byte{"b.xml": good, "a.XML": bad, "c.xml": bad, "notes.txt": []byte("none")} {
		kit.Must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	kit.Must(t, os.Mkdir(filepath.Join(dir, "d.xml"), 0o700))
	t.Chdir(dir)
	run := func(c readinessCmd) (string, error) {
		var out bytes.Buffer
		err := c.Run(environment{ctx: t.Context(), stdout: &out})
		return out.String(), err
	}
	got, err := run(readinessCmd{Files: []string{"."}})
	const want = `a.XML  INV-2026-0001  not ready, obstacles: 1
  items[0].description  ibr-125-ae  the line needs a description beside its name
b.xml  INV-2026-0001  ready
c.xml  INV-2026-0001  not ready, obstacles: 1
  items[0].description  ibr-125-ae  the line needs a description beside its name

Documents by rule
  2  ibr-125-ae  the line needs a description beside its name

Documents by master record
  2  item \u202eConsulting  items.description
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err == nil || err.Error() != "2 of 3 documents are not ready" {
		t.Errorf("the error is %v", err)
	}
	got, err = run(readinessCmd{Files: []string{filepath.Join(dir, "b.xml")}, JSON: true})
	var record struct {
		Ready     bool  `json:"ready"`
		Obstacles []any `json:"obstacles"`
	}
	kit.Must(t, err)
	if err := json.Unmarshal([]byte(got), &record); err != nil || !record.Ready || record.Obstacles == nil {
		t.Errorf("%v: %s", err, got)
	}
	odd := bytes.Replace(good, []byte("<cbc:InvoiceTypeCode>380</cbc:InvoiceTypeCode>"), nil, 1)
	kit.Must(t, os.WriteFile("odd.xml", odd, 0o600))
	if got, err = run(readinessCmd{Files: []string{"odd.xml"}}); err == nil || !strings.Contains(got, "ibr-004") {
		t.Errorf("a rule about an element alone: %v\n%s", err, got)
	}
	for name, files := range map[string][]string{"no file": {filepath.Join(dir, "none.xml")},
		"no document": {filepath.Join(dir, "d.xml")}, "a device": {os.DevNull}} {
		if got, err := run(readinessCmd{Files: files}); err == nil || got != "" {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
}
