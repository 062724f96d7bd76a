package server_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/incoming"
	"quittance/test/kit"
)

// exportedRows is the number of rows that a file may have in the table of operations.
const exportedRows = 2

// exportOperations are the operations that make files of lists. [TestExportsAreTheLists] compares the rows with those
// of the lists.
var exportOperations = []operation{
	{route: "GET " + invoicesPath + "/export", rows: slices.Concat([]row{
		{name: "a CSV file", status: http.StatusOK, prepare: func(t *testing.T, c *company, _ *request) { c.draft(t, least) },
			check: wantExport("invoices.csv", 2)},
		{name: "an XLSX file", status: http.StatusOK, prepare: exportAs("format=xlsx"),
			check: wantExport("invoices.xlsx", 1)},
		{name: "the items", status: http.StatusOK, prepare: exportAs("rows=items"),
			check: wantExport("invoice-items.csv", 1)},
		{name: "another unit", status: http.StatusBadRequest, code: api.CodeMalformedRequest,
			prepare: exportAs("rows=lines")},
		{name: "a filter that is not valid", status: http.StatusBadRequest, code: api.CodeMalformedRequest,
			prepare: exportAs("submitted=perhaps")},
		{name: "too many rows", status: http.StatusUnprocessableEntity, code: api.CodeTooManyRows, prepare: tooManyDrafts(""),
			check: wantRowLimit},
		{name: "too many items", status: http.StatusUnprocessableEntity, code: api.CodeTooManyRows, check: wantRowLimit,
			prepare: func(t *testing.T, c *company, r *request) {
				item := `{"name":"N","quantity":1,"net_unit_price":1}`
				c.draft(t, edit(least, "items", "["+item+strings.Repeat(","+item, exportedRows)+"]"))
				r.path += "?rows=items&format=xlsx"
			}},
		{name: "too many candidates", status: http.StatusUnprocessableEntity, code: api.CodeTooManyRows,
			prepare: tooManyDrafts("?recipient_name=nobody"), check: wantRowLimit},
	}, badFormats)},
	{route: "GET " + creditNotes + "/export", rows: slices.Concat([]row{
		{name: "an XLSX file", status: http.StatusOK, prepare: exportAs("format=xlsx"),
			check: wantExport("credit-notes.xlsx", 1)},
		{name: "of other dates", status: http.StatusOK, check: wantExport("credit-notes.csv", 1),
			prepare: func(t *testing.T, c *company, r *request) {
				aCreditNote(t, c)
				r.path += "?issue_date_from=2999-01-01"
			}},
		{name: "a date that there is not", status: http.StatusBadRequest, code: api.CodeMalformedRequest,
			prepare: exportAs("issue_date_to=2026-02-30")},
		{name: "too many candidates", status: http.StatusUnprocessableEntity, code: api.CodeTooManyRows, check: wantRowLimit,
			prepare: func(t *testing.T, c *company, r *request) {
				for range exportedRows + 1 {
					c.post(t, creditNotes, credit(c.draft(t, c.numbered("")))).want(t, http.StatusCreated, "")
				}
				r.path += "?issue_date_from=2000-01-01"
			}},
		{name: "of an invoice that does not exist", status: http.StatusOK, prepare: exportAs("invoice_id=x"),
			check: wantExport("credit-notes.csv", 1)},
		{name: "too many rows", status: http.StatusUnprocessableEntity, code: api.CodeTooManyRows, check: wantRowLimit,
			prepare: func(t *testing.T, c *company, _ *request) {
				for range exportedRows + 1 {
					c.post(t, creditNotes, credit(c.draft(t, c.numbered("")))).want(t, http.StatusCreated, "")
				}
			}},
	}, badFormats)},
	{route: "GET " + incomingPath + "/export", rows: slices.Concat([]row{
		{name: "an XLSX file", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
			anIncoming(t, c)
			r.path += "?format=xlsx"
		}, check: wantExport("incoming-invoices.xlsx", 2)},
		{name: "of other dates", status: http.StatusOK, check: wantExport("incoming-invoices.csv", 1),
			prepare: func(t *testing.T, c *company, r *request) {
				anIncoming(t, c)
				r.path += "?issue_date_to=2026-02-28&updated_since=2026-01-01T00:00:00Z"
			}},
		{name: "a time that is none", status: http.StatusBadRequest, code: api.CodeMalformedRequest,
			prepare: exportAs("updated_since=yesterday")},
		{name: "too many candidates", status: http.StatusUnprocessableEntity, code: api.CodeTooManyRows, check: wantRowLimit,
			prepare: func(t *testing.T, c *company, r *request) {
				c.receive(t, exportedRows+1)
				r.path += "?issue_date_from=2026-03-01"
			}},
		{name: "too many rows", status: http.StatusUnprocessableEntity, code: api.CodeTooManyRows, check: wantRowLimit,
			prepare: func(t *testing.T, c *company, _ *request) { c.receive(t, exportedRows+1) }},
	}, badFormats)},
}

// badFormats are the rows of every export for formats that there are not.
var badFormats = []row{
	{name: "another format", status: http.StatusBadRequest, code: api.CodeMalformedRequest,
		prepare: exportAs("format=pdf"), check: func(t *testing.T, _ *company, a response) { wantFault(t, a, "format") }},
	{name: "an empty format", status: http.StatusBadRequest, code: api.CodeMalformedRequest, prepare: exportAs("format=")},
}

func exportAs(query string) func(*testing.T, *company, *request) {
	return func(_ *testing.T, _ *company, r *request) { r.path += "?" + query }
}

func tooManyDrafts(query string) func(*testing.T, *company, *request) {
	return func(t *testing.T, c *company, r *request) {
		for range exportedRows + 1 {
			c.draft(t, least)
		}
		r.path += query
	}
}

// receive stores incoming e-invoices with hostile texts.
func (c *company) receive(t *testing.T, count int) {
	t.Helper()
	tenant, err := c.db.Tenant(t.Context(), c.id)
	if err != nil {
		t.Fatal(err)
	}
	var more []incoming.NewIncoming
	for n := range count {
		received := time.Date(2026, 3, 1, 9, 30, n, 0, time.UTC)
		more = append(more, incoming.NewIncoming{ProviderDocumentID: fmt.Sprintf("=P-%d", n), InvoiceNumber: new("@S"),
			SupplierName: new("-\"Supplier\", " + fmt.Sprint(n)), IssueDate: new("2026-03-01"), Currency: new("AED"),
			TotalAmount: new(api.MustDecimal("-10.50")), ReceivedAt: &received, Metadata: fmt.Appendf(nil, `{"n":%d}`, n),
			MediaType: "application/xml", Body: fmt.Appendf(nil, "<a n='%d'/>", n), Retained: true})
	}
	if err := incoming.Seed(t.Context(), tenant, more); err != nil {
		t.Fatal(err)
	}
}

// wantExport returns a check that a response is a file with a number of lines, the header among them.
func wantExport(name string, lines int) func(*testing.T, *company, response) {
	return func(t *testing.T, _ *company, a response) {
		t.Helper()
		wantEqual(t, "disposition", a.header.Get("Content-Disposition"), "attachment; filename="+name)
		wantEqual(t, "policy", a.header.Get("Content-Security-Policy"), "default-src 'none'; sandbox")
		if rows := readExport(t, a); len(rows) != lines {
			t.Errorf("the file has %d lines, want %d", len(rows), lines)
		}
	}
}

func wantRowLimit(t *testing.T, _ *company, a response) {
	t.Helper()
	a.wantFaults(t, api.CodeTooManyRows, map[string][]string{"rows": {"max_rows"}})
	if !strings.Contains(a.text, fmt.Sprintf("at most %d,", exportedRows)) {
		t.Errorf("the error does not name the limit: %s", a.text)
	}
}

// readExport opens the file of a response as programs do that know nothing of the service, and returns its lines. It
// removes what keeps spreadsheets from taking the texts of CSV for formulas.
func readExport(t *testing.T, a response) [][]string {
	t.Helper()
	a.want(t, http.StatusOK, "")
	if a.header.Get("Content-Type") == "text/csv; charset=utf-8" {
		text, found := strings.CutPrefix(a.text, "\ufeff")
		lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || !found {
			t.Fatalf("byte order mark %v: %v", found, err)
		}
		for _, line := range lines {
			for n := range line {
				line[n] = strings.TrimPrefix(line[n], "'")
			}
		}
		return lines
	}
	wantEqual(t, "media type", a.header.Get("Content-Type"),
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")
	book, err := excelize.OpenReader(strings.NewReader(a.text))
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	lines, err := book.GetRows(book.GetSheetName(0))
	if err != nil {
		t.Fatal(err)
	}
	for n := range lines { // the library leaves out empty cells at the end of a row
		for len(lines[n]) < len(lines[0]) {
			lines[n] = append(lines[n], "")
		}
	}
	return lines
}

// listed returns all entries of a list of the API, read page by page.
func (c *company) listed(t *testing.T, path string) (out []map[string]any) {
	t.Helper()
	for page := 1; ; page++ {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		a := c.get(t, fmt.Sprintf("%s%spage=%d&per_page=2", path, separator, page))
		a.want(t, http.StatusOK, "")
		var list struct {
			Data       []map[string]any
			Pagination api.Pagination
		}
		decoder := json.NewDecoder(strings.NewReader(a.text))
		decoder.UseNumber()
		if err := decoder.Decode(&list); err != nil {
			t.Fatal(err)
		}
		if out = append(out, list.Data...); !list.Pagination.HasMore {
			return out
		}
	}
}

// cellOf returns the text that a file has for a field of an entry of a list.
func cellOf(entry map[string]any, column string, asTimes func(string) string) string {
	object := func(value any) map[string]any {
		found, _ := value.(map[string]any)
		return found
	}
	value, known := entry[column]
	switch name, of, found := strings.Cut(column, "_state_"); {
	case known:
	case found:
		value = object(object(entry["states"])[name+"_state"])[of]
	case column == "outcome":
		value = object(entry["submission"])["outcome"]
	default:
		value = object(entry["evidence"])[column]
	}
	if value == nil {
		return ""
	}
	if text := fmt.Sprint(value); strings.HasSuffix(column, "_at") {
		return asTimes(text)
	}
	return fmt.Sprint(value)
}

// exportedLists fills a company, and returns the exports and the lists that they are of.
func (c *company) exportedLists(t *testing.T) map[string]string {
	t.Helper()
	for n, name := range []string{"=1+1", "+971 4 555", "-1", "@SUM(A1)", "\u200b=1", "＝1", "plain, \"quoted\"; شركة",
		"two  spaces"} {
		body := edit(c.numbered(""), "recipient_name", string(must(json.Marshal(name))))
		c.draft(t, edit(edit(body, "note", `"first\nsecond"`), "total_amount", fmt.Sprintf("%d12345678901.10", n+1)))
	}
	for _, recipient := range []string{"", "9999000002"} {
		submitted(t, c, recipient)
	}
	for _, number := range []string{"=CN-1", "CN-2"} {
		c.post(t, creditNotes, edit(credit(c.draft(t, c.numbered(""))),
			"credit_note_number", fmt.Sprintf("%q", number))).want(t, http.StatusCreated, "")
	}
	submittedCreditNote(t, c, "")
	c.receive(t, 3)
	credited := c.listed(t, creditNotes)[0]["invoice_id"].(string)
	lists := map[string]string{}
	for list, queries := range map[string][]string{
		invoicesPath: {"", "sort=total_amount", "sort=-recipient_name", "submitted=true", "submitted=false&sort=created_at",
			"recipient_name=plain", "receiver_state=nothing"},
		creditNotes:  {"", "invoice_id=" + credited, "invoice_id=x"},
		incomingPath: {""},
	} {
		for _, query := range queries {
			lists[list+"/export?"+query] = strings.TrimSuffix(list+"?"+query, "?")
		}
	}
	return lists
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// TestExportsAreTheLists opens each export in both formats and compares its rows, in their order, with the list of the
// API that has the same filters. Another company with the same data has none of them.
func TestExportsAreTheLists(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		c, stranger := s.connected(t), s.connected(t)
		stranger.exportedLists(t)
		for export, list := range c.exportedLists(t) {
			for format, asTimes := range map[string]func(string) string{
				"csv": func(text string) string { return text },
				"xlsx": func(text string) string {
					return must(time.Parse(time.RFC3339, text)).Format(time.DateTime)
				},
			} {
				t.Run(export+"&format="+format, func(t *testing.T) {
					var want []map[string]any
					var lines [][]string
					kit.Until(t, "a list that does not change meanwhile", func() bool {
						want = c.listed(t, list)
						lines = readExport(t, c.get(t, export+"&format="+format))
						return reflect.DeepEqual(c.listed(t, list), want)
					})
					if len(lines) != len(want)+1 {
						t.Fatalf("the file has %d rows, and the list %d", len(lines)-1, len(want))
					}
					for n, entry := range want {
						for at, column := range lines[0] {
							if _, listed := entry[column]; !listed && column == "invoice_number" {
								continue // that of the credited invoice, which the list does not have
							}
							if got, want := lines[n+1][at], cellOf(entry, column, asTimes); got != want {
								t.Errorf("row %d: %s is %q, want %q", n+1, column, got, want)
							}
						}
					}
				})
			}
		}
		if lines := readExport(t, s.company(t).get(t, invoicesPath+"/export")); len(lines) != 1 {
			t.Errorf("the export of a new company has %d rows", len(lines)-1)
		}
	})
}

// TestExportedItemsAreTheDrafts compares the export of items with the invoices themselves.
func TestExportedItemsAreTheDrafts(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		c.draft(t, edit(edit(c.numbered(""), "note", `"=1\nsecond"`), "items[0].name", `"@one"`))
		c.draft(t, edit(least, "items",
			`[{"name":"a","quantity":1.50,"net_unit_price":1},{"name":"b","quantity":2,"net_unit_price":0.000001}]`))
		for _, format := range []string{"csv", "xlsx"} {
			lines := readExport(t, c.get(t, invoicesPath+"/export?rows=items&sort=created_at&format="+format))
			var got, want []map[string]any
			for _, line := range lines[1:] {
				row := map[string]any{}
				for n, column := range lines[0] {
					if line[n] != "" {
						row[column] = line[n]
					}
				}
				got = append(got, row)
			}
			for _, entry := range c.listed(t, invoicesPath+"?sort=created_at") {
				var read struct{ Data api.Draft }
				if err := json.Unmarshal([]byte(c.get(t, invoicesPath+"/"+entry["id"].(string)).text), &read); err != nil {
					t.Fatal(err)
				}
				for _, item := range read.Data.Items {
					item.Allowances, item.Charges, item.Attributes = nil, nil, nil // see TestExportIsImportedAgain
					row := fieldsOf(t, item)
					read.Data.Items, read.Data.Allowances, read.Data.Charges, read.Data.PrecedingInvoices = nil, nil, nil, nil
					maps.Copy(row, fieldsOf(t, read.Data))
					want = append(want, row)
				}
			}
			wantEqual(t, format, got, want)
		}
	})
}

// fieldsOf returns the fields of a part of a draft that are given, as texts.
func fieldsOf(t *testing.T, part any) map[string]any {
	t.Helper()
	text, err := json.Marshal(part)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		t.Fatal(err)
	}
	for name, value := range fields {
		if fields[name] = fmt.Sprint(value); value == nil {
			delete(fields, name)
		}
	}
	return fields
}

// TestExportedStates compares the columns of a state with the names of the dimensions, of which none may be forgotten.
func TestExportedStates(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		header := readExport(t, s.company(t).get(t, invoicesPath+"/export"))[0]
		for _, dimension := range invoice.Dimensions {
			at := slices.Index(header, string(dimension))
			if at < 0 || !slices.Equal(header[at:at+3], []string{string(dimension), string(dimension) + "_final",
				string(dimension) + "_meaning"}) {
				t.Errorf("the columns are %v", header)
			}
		}
	})
}
