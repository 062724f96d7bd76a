package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"quittance/client/api"
	"quittance/internal/document/tabular"
	"quittance/test/drafttest"
	"quittance/test/kit"
)

// importFile is a CSV file with two drafts, the first of two items.
const importFile = "invoice_number,recipient_name,total_amount,currency,issue_date,name,quantity,net_unit_price,vat_rate\n" +
	"IMP-1,Palm Trading LLC,21.00,AED,2026-03-01,one,1,10.00,5\nIMP-1,,,,,two,1,10.00,5\n\nIMP-2,Oasis,10.50,AED,2026-03-02,three,1,10.00,5\n"

// importOperations are the operations that take files.
var importOperations = []operation{
	{route: "POST /api/v1/client/invoices/import", body: func(*testing.T, *company) string { return importFile },
		rows: []row{
			quotaRow(),
			{name: "two drafts", status: http.StatusCreated, check: func(t *testing.T, c *company, a response) {
				wantRaw(t, a, "/data/valid", "true")
				wantRaw(t, a, "/data/rows", "3")
				wantRaw(t, a, "/data/totals", `[{"currency":"AED","drafts":2,"total_amount":31.50}]`)
				wantRaw(t, a, "/data/invoices/1/invoice_number", `"IMP-2"`)
				list := c.get(t, invoicesPath)
				wantRaw(t, list, "/pagination/total", "2")
				wantRaw(t, list, "/data/1/item_count", "2")
				wantRaw(t, c.get(t, invoicesPath+"/"+a.textAt(t, "/data/invoices/0/id")), "/data/items/1/name", `"two"`)
				acts := c.get(t, "/api/v1/client/audit?act=draft")
				wantRaw(t, acts, "/pagination/total", "3")
			}},
			{name: "a dry run", status: http.StatusOK,
				prepare: func(t *testing.T, c *company, r *request) {
					c.draft(t, edit(least, "invoice_number", `"IMP-2"`))
					r.path += "?dry_run=true"
				},
				check: func(t *testing.T, c *company, a response) {
					wantRaw(t, a, "/data/drafts", "2")
					wantRaw(t, a, "/data/incomplete", "2")
					wantRaw(t, a, "/data/used_numbers", "1")
					wantRaw(t, a, "/data/invoices", "[]")
					wantRaw(t, c.get(t, invoicesPath), "/pagination/total", "1")
				}},
			{name: "a dry run of a file with faults", status: http.StatusOK,
				prepare: func(_ *testing.T, _ *company, r *request) {
					r.path, r.body = r.path+"?dry_run=true", strings.Replace(r.body, "2026-03-02", "2026-02-30", 1)
				},
				check: func(t *testing.T, _ *company, a response) {
					wantRaw(t, a, "/data/valid", "false")
					wantRaw(t, a, "/data/faults",
						`[{"rule":"date","message":"must be a real date, YYYY-MM-DD","row":5,"column":"issue_date","value":"2026-02-30"}]`)
				}},
			// as in a draft
			{name: "a currency that is none", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
				prepare: func(_ *testing.T, _ *company, r *request) { r.body = strings.Replace(r.body, "AED", "DHS", 1) },
				check: func(t *testing.T, c *company, a response) {
					a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"rows[2].currency": {"currency"}})
					c.post(t, invoicesPath, edit(least, "currency", `"DHS"`)).wantFaults(t, api.CodeValidationFailed,
						map[string][]string{"currency": {"currency"}})
				}},
			{name: "a file with faults", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
				prepare: func(_ *testing.T, _ *company, r *request) {
					r.body = strings.NewReplacer("2026-03-02", "2026-02-30", "two,1", ",one").Replace(r.body)
				},
				check: func(t *testing.T, c *company, a response) {
					a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"rows[3].name": {"required"},
						"rows[3].quantity": {"type"}, "rows[5].issue_date": {"date"}})
					wantRaw(t, a, "/error/details/rows[5].issue_date/0/message",
						`"must be a real date, YYYY-MM-DD; the cell has \"2026-02-30\""`)
					wantRaw(t, c.get(t, invoicesPath), "/data", "[]")
				}},
			{name: "a file that is none", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
				prepare: func(_ *testing.T, _ *company, r *request) { r.body = "PK\x03\x04 and more" },
				check: func(t *testing.T, _ *company, a response) {
					a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"body": {"file_format"}})
				}},
			{name: "no body", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
				prepare: func(_ *testing.T, _ *company, r *request) { r.body = "" }},
			{name: "more than the largest JSON body", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
				prepare: func(_ *testing.T, _ *company, r *request) { r.body += strings.Repeat("x,", 1<<20) }},
			{name: "a worksheet", status: http.StatusCreated,
				prepare: func(t *testing.T, _ *company, r *request) {
					r.body, r.path = importWorkbook(t, r.body), r.path+"?sheet=drafts"
					r.header.Set("Content-Type", tabular.XLSX.MediaType())
				},
				check: func(t *testing.T, c *company, a response) {
					wantRaw(t, a, "/data/drafts", "2")
					wantRaw(t, c.get(t, invoicesPath+"/"+a.textAt(t, "/data/invoices/1/id")), "/data/issue_date", `"2026-03-02"`)
				}},
			badPage("dry_run=yes"),
		}},
}

// TestExportIsImportedAgain exports the items of an invoice with all fields, and several entries in lists of it
// and its lines, and imports the file: the draft is the same, and the lists of invoices count no row as an item.
func TestExportIsImportedAgain(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		from, to := s.company(t), s.company(t)
		d, _ := drafttest.Every(t)
		d.Allowances = append(d.Allowances, d.Allowances[0], api.Allowance{Percent: new(api.MustDecimal("2.50"))})
		d.PrecedingInvoices = append(d.PrecedingInvoices, api.PrecedingInvoice{Number: new("-1")})
		d.Items[0].Attributes = append(d.Items[0].Attributes, api.Attribute{Value: new("=2+2")})
		d.Items[1].Charges = append(d.Items[1].Charges, api.LineAllowance{Reason: new("=1+1")}, d.Items[1].Charges[0])
		body, err := json.Marshal(d)
		kit.Must(t, err)
		from.draft(t, string(body))
		file := from.get(t, invoicesPath+"/export?rows=items")
		if rows := readExport(t, file); len(rows) != 1+2+3 { // those of lines have entries of the invoice too
			t.Errorf("%d rows", len(rows))
		}
		made := to.send(t, request{method: http.MethodPost, path: invoicesPath + "/import", token: to.token(t),
			body: file.text, header: http.Header{"Content-Type": {"text/csv"}}})
		made.want(t, http.StatusCreated, "")
		var read struct{ Data api.Draft }
		kit.Must(t, json.Unmarshal([]byte(to.get(t, invoicesPath+"/"+made.textAt(t, "/data/invoices/0/id")).text), &read))
		wantEqual(t, "the imported draft", fieldsOf(t, read.Data), fieldsOf(t, d))
		wantRaw(t, to.get(t, invoicesPath), "/data/0/item_count", "2")
	})
}

// importWorkbook returns the rows of a CSV file as the second worksheet of a workbook.
func importWorkbook(t *testing.T, file string) string {
	t.Helper()
	f := excelize.NewFile()
	if _, err := f.NewSheet("Drafts"); err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(file, "\n") {
		cells := strings.Split(line, ",")
		at, err := excelize.CoordinatesToCellName(1, n+1)
		if err == nil {
			err = f.SetSheetRow("Drafts", at, &cells)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := f.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// fileRows are the rows of a route that takes a file, in place of those for JSON bodies.
var fileRows = []row{
	refusedBody("too large", strings.Repeat("x", tabular.MaxBytes+1), http.StatusRequestEntityTooLarge,
		api.CodePayloadTooLarge),
	{name: "too large, of unknown length", status: http.StatusRequestEntityTooLarge, code: api.CodePayloadTooLarge,
		prepare: func(_ *testing.T, _ *company, r *request) {
			r.body, r.chunked = strings.Repeat("x", tabular.MaxBytes+1), true
		}},
	fileMedia("application/json"), fileMedia("text/csv; charset=windows-1252"), fileMedia("application/vnd.ms-excel"),
	fileMedia("multipart/form-data; boundary=x"),
}

func fileMedia(value string) row {
	return row{name: "media " + value, status: http.StatusUnsupportedMediaType, code: api.CodeUnsupportedMediaType,
		prepare: func(_ *testing.T, _ *company, r *request) { r.header.Set("Content-Type", value) }}
}
