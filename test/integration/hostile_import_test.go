package integration_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/internal/document/tabular"
)

// maxImporting is by how many MiB a process may grow while companies import hostile files.
const maxImporting = 300

// hostileWorkbook returns a workbook of a few kilobytes with a worksheet, names of the workbook, and shared texts.
func hostileWorkbook(t *testing.T, rows, names, texts string) []byte {
	t.Helper()
	const relation = `<Relationship Id="%s" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"/>`
	relations := func(all ...string) string { return `<Relationships>` + strings.Join(all, "") + `</Relationships>` }
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range map[string]string{
		"_rels/.rels":              relations(fmt.Sprintf(relation, "r1", "officeDocument", "xl/workbook.xml")),
		"xl/workbook.xml":          `<workbook>` + names + `<sheets><sheet name="S" id="r1"/></sheets></workbook>`,
		"xl/sharedStrings.xml":     `<sst>` + texts + `</sst>`,
		"xl/worksheets/sheet1.xml": `<worksheet><sheetData>` + rows + `</sheetData></worksheet>`,
		"xl/_rels/workbook.xml.rels": relations(fmt.Sprintf(relation, "r1", "worksheet", "worksheets/sheet1.xml"),
			fmt.Sprintf(relation, "r2", "sharedStrings", "sharedStrings.xml")),
	} {
		part, err := w.Create(name)
		if err == nil {
			_, err = part.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sendFile asks what is in a file. A client that is gone has no response.
func (f *fleet) sendFile(ctx context.Context, base, token, mediaType string, file []byte) (response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/v1/client/invoices/import?dry_run=true",
		bytes.NewReader(file))
	if err != nil {
		return response{}, err
	}
	request.Header.Set("Content-Type", mediaType)
	request.Header.Set("Authorization", "Bearer "+token)
	return readResponse(f.caller.client.Do(request))
}

// TestHostileImportsFitInMemory checks that two companies which send hostile workbooks, and leave before they are
// answered, neither make the process grow beyond its bound nor keep a third one from importing.
func TestHostileImportsFitInMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	f := newFleet(t, built(t, releasedProduct), "sqlite:"+filepath.Join(t.TempDir(), "quittance.db"))
	server := f.world.running["first"]
	base := f.address(t, server)
	hostile := [2]string{f.token, f.secondCompany(t, base)}
	third := f.newCompany(t, base, "owner@third.example")
	before := server.memory(t)
	server.resetPeak(t)
	for name, file := range map[string][]byte{
		"wide rows": hostileWorkbook(t,
			strings.Repeat(`<row><c r="A1" t="str"><v>x</v></c><c r="XFD1" t="str"><v> </v></c></row>`, 9_999), "", ""),
		"empty rows": hostileWorkbook(t, strings.Repeat(`<row><c r="XFD1" t="str"><v> </v></c></row>`, 1_000_000), "", ""),
		"names":      hostileWorkbook(t, "", strings.Repeat(`<definedName/>`, 2_600_000), ""),
		"texts":      hostileWorkbook(t, "", "", strings.Repeat(`<si><t>`+strings.Repeat("y", 8_000)+`</t></si>`, 4_000)),
		"one text": hostileWorkbook(t, strings.Repeat(`<row>`+strings.Repeat(`<c t="s"><v>0</v></c>`, 20)+`</row>`, 1_000),
			"", `<si><t>`+strings.Repeat("y", 800)+`</t></si>`),
	} {
		var sending sync.WaitGroup
		for n, token := range hostile {
			sending.Go(func() {
				patient, stop := context.WithTimeout(t.Context(), time.Duration(n+1)*300*time.Millisecond)
				defer stop()
				got, err := f.sendFile(patient, base, token, tabular.XLSX.MediaType(), file)
				if err == nil && got.status != http.StatusOK {
					t.Errorf("%s: %d %s", name, got.status, got.body)
				}
			})
		}
		got, err := f.sendFile(t.Context(), base, third, "text/csv", []byte("invoice_number\nA\n"))
		if err != nil || got.status != http.StatusOK || !bytes.Contains(got.body, []byte("missing_column")) {
			t.Errorf("%s: the import of the third company: %d %s %v", name, got.status, got.body, err)
		}
		sending.Wait()
		got, err = f.sendFile(t.Context(), base, hostile[0], tabular.XLSX.MediaType(), file)
		if err != nil || got.status != http.StatusOK || !bytes.Contains(got.body, []byte(`"valid":false`)) {
			t.Errorf("%s: %d %s %v", name, got.status, got.body, err)
		}
		t.Logf("%s, %d bytes: %d MiB before, peak %d MiB", name, len(file), before, server.peak(t))
	}
	if peak := server.peak(t); peak-before > maxImporting {
		t.Errorf("the process grew from %d to %d MiB, want at most %d more", before, peak, maxImporting)
	}
}
