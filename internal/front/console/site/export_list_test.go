package site_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"quittance/client/api"
	"quittance/internal/front/console/site"
	"quittance/internal/ops/service"
	"quittance/test/kit"
)

// linesOf opens a file as programs do that know nothing of the service.
func linesOf(t testing.TB, name string, content string) [][]string {
	t.Helper()
	if strings.HasSuffix(name, ".csv") {
		text, found := strings.CutPrefix(content, "\ufeff")
		lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || !found {
			t.Fatalf("%s: byte order mark %v: %v", name, found, err)
		}
		return lines
	}
	book, err := excelize.OpenReader(strings.NewReader(content))
	kit.Must(t, err)
	defer book.Close()
	lines, err := book.GetRows(book.GetSheetName(0))
	kit.Must(t, err)
	for n := range lines {
		for len(lines[n]) < len(lines[0]) {
			lines[n] = append(lines[n], "")
		}
	}
	return lines
}

// exported gets a list as a file and returns its lines.
func (v *visitor) exported(path, format string) [][]string {
	v.t.Helper()
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	got := v.get(path + separator + "format=" + format)
	if got.status != http.StatusOK || got.header.Get("Content-Security-Policy") != "default-src 'none'; sandbox" ||
		!strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment; filename=") {
		v.t.Fatalf("%s as %s: %d %v", path, format, got.status, got.header)
	}
	return linesOf(v.t, "x."+format, got.body)
}

// column returns the cells of a column, without the apostrophe that keeps spreadsheets from taking a text for a
// formula.
func column(lines [][]string, name string) []string {
	at := slices.Index(lines[0], name)
	var out []string
	for _, line := range lines[1:] {
		out = append(out, strings.TrimPrefix(line[at], "'"))
	}
	return out
}

// TestEveryListIsExported opens the file of every list in both formats, with the filters and the order of its page,
// beside a stranger who gets none of the rows.
func TestEveryListIsExported(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	token := s.token(t, s.email, s.password)
	owner := s.loggedIn(t)
	var ids []string
	for _, number := range []string{"EXP-1", "=EXP-2", "EXP-3"} {
		var made api.Invoice
		if status := s.api(t, token, http.MethodPost, "/api/v1/client/invoices", draft(number, "sandbox-accepted"),
			&made); status != http.StatusCreated {
			t.Fatalf("create %s: %d", number, status)
		}
		ids = append(ids, made.ID)
	}
	s.fillBook(t, token)
	credited := map[string]any{"invoice_id": ids[0], "credit_note_number": "+CN-1", "issue_date": "2026-03-02",
		"reason": "returned", "kind": "full"}
	var note api.CreditNote
	if status := s.api(t, token, http.MethodPost, "/api/v1/client/credit-notes", credited,
		&note); status != http.StatusCreated {
		t.Fatalf("credit: %d", status)
	}
	var hook api.NewSubscription
	if status := s.api(t, token, http.MethodPost, "/api/v1/webhooks/subscriptions",
		map[string]any{"url": s.Info.ReceiverURL, "description": "@hook"}, &hook); status != http.StatusCreated {
		t.Fatalf("subscribe: %d", status)
	}
	owner.post("/api-keys/new", "key", formKey(t, owner.get("/api-keys/new")), "name", "-Ledger", "scopes", "read")
	tested := map[string]bool{}
	for _, test := range []struct {
		path, column string
		want         []string
	}{
		{"/invoices/export", "invoice_number", []string{"EXP-3", "=EXP-2", "EXP-1"}},
		{"/invoices/export?tab=drafts&sort=invoice_number", "invoice_number", []string{"=EXP-2", "EXP-1", "EXP-3"}},
		{"/invoices/export?q=exp-3", "invoice_number", []string{"EXP-3"}},
		{"/invoices/export?tab=accepted", "invoice_number", nil},
		{"/invoices/export?invoice=" + ids[1] + "&invoice=" + ids[0], "invoice_number", []string{"=EXP-2", "EXP-1"}},
		{"/invoices/export?rows=items&q=exp-3", "invoice_number", []string{"EXP-3"}},
		{"/credit-notes/export", "credit_note_number", []string{"+CN-1"}},
		{"/credit-notes/export?state=void", "credit_note_number", nil},
		{"/credit-notes/export?issue_date_from=2026-03-02&issue_date_to=2026-03-02", "credit_note_number", []string{"+CN-1"}},
		{"/credit-notes/export?issue_date_to=2026-03-01", "credit_note_number", nil},
		{"/incoming/export?issue_date_from=2999-01-01&updated_since=2026-03-01", "id", nil},
		{"/credit-notes/export?invoice=" + ids[0], "invoice_number", []string{"EXP-1"}},
		{"/credit-notes/export?credit_note=" + note.ID, "total_amount", []string{"1050.00"}},
		{"/incoming/export?q=nothing", "id", nil},
		{"/customers/export", "recipient_name", nil},
		{"/items/export?q=nothing", "name", nil},
		{"/webhooks/export", "description", []string{"@hook"}},
		{"/webhooks/lost/export?state=failed", "id", nil},
		{"/webhooks/" + hook.ID + "/export", "id", nil},
		{"/api-keys/export", "name", []string{"-Ledger"}},
		{"/users/export", "email", []string{s.email}},
		{"/audit/export?act=draft.create", "Subject", []string{"EXP-3", "=EXP-2", "EXP-1"}},
	} {
		path, _, _ := strings.Cut(strings.ReplaceAll(test.path, hook.ID, "{subscription}"), "?")
		tested[path] = true
		for _, format := range []string{"csv", "xlsx"} {
			got := column(owner.exported(test.path, format), test.column)
			if path == "/customers/export" { // its entries are those of fillBook
				test.want = got[:max(1, len(got))]
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s as %s has %q, want %q", test.path, format, got, test.want)
			}
		}
	}
	for _, route := range site.Routes() {
		if strings.HasSuffix(route.Path, "/export") && !tested[route.Path] {
			t.Errorf("no row for %s", route.Path)
		}
	}
	wantExportErrors(t, owner, ids[0])
	s.company(t, "stranger@elsewhere.example", "correct horse battery staple")
	stranger := s.visitor(t)
	stranger.login("stranger@elsewhere.example", "correct horse battery staple")
	for _, path := range []string{"/invoices/export", "/invoices/export?invoice=" + ids[0],
		"/credit-notes/export?credit_note=" + note.ID, "/webhooks/export", "/api-keys/export"} {
		if lines := stranger.exported(path, "csv"); len(lines) != 1 {
			t.Errorf("%s gives a stranger %q", path, lines)
		}
	}
	if got := stranger.get("/webhooks/" + hook.ID + "/export?format=csv"); got.status != http.StatusNotFound {
		t.Errorf("the deliveries of a stranger: %d", got.status)
	}
}

// wantExportErrors checks that a file is refused if it would not have the rows that its address asks for.
func wantExportErrors(t *testing.T, owner *visitor, id string) {
	t.Helper()
	for path, status := range map[string]int{
		"/invoices/export":                                                  http.StatusBadRequest,
		"/invoices/export?format=pdf":                                       http.StatusBadRequest,
		"/invoices/export?format=csv&tab=nothing":                           http.StatusBadRequest,
		"/invoices/export?format=csv&no_such=1":                             http.StatusBadRequest,
		"/invoices/export?format=csv&rows=lines":                            http.StatusBadRequest,
		"/invoices/export?format=csv&invoice=x":                             http.StatusNotFound,
		"/invoices/export?format=csv" + strings.Repeat("&invoice="+id, 101): http.StatusBadRequest,
		"/credit-notes/export?format=csv&state=open":                        http.StatusBadRequest,
		"/webhooks/00000000-0000-7000-8000-000000000000/export?format=csv":  http.StatusNotFound,
		"/webhooks/lost/export?format=csv&state=pending":                    http.StatusBadRequest,
		"/users/export?format=csv&q=x":                                      http.StatusBadRequest,
		"/audit/export?format=csv&from=yesterday":                           http.StatusBadRequest,
		"/incoming/export?format=csv&page=2":                                http.StatusOK, // a file has all pages
	} {
		if got := owner.get(path); got.status != status {
			t.Errorf("%.80s: %d, want %d", path, got.status, status)
		}
	}
}

// TestLongListIsNoFile checks that a list with more rows than a file may have leads to a page that says what to do.
func TestLongListIsNoFile(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour, func(c *service.Config) { c.ExportRows = 2 })
	token := s.token(t, s.email, s.password)
	for n := range 3 {
		var made api.Invoice
		s.api(t, token, http.MethodPost, "/api/v1/client/invoices", draft(fmt.Sprintf("LONG-%d", n), "sandbox-accepted"),
			&made)
	}
	got := s.loggedIn(t).get("/invoices/export?format=xlsx")
	if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "This list is too long for one file") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestBrowserDownloadsExport saves the file of a filtered list and that of the selected invoices in a browser, and
// opens both.
func TestBrowserDownloadsExport(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 20*time.Millisecond)
		token := s.token(t, s.email, s.password)
		for _, number := range []string{"SAVE-1", "SAVE-2", "SAVE-3"} {
			var made api.Invoice
			s.api(t, token, http.MethodPost, "/api/v1/client/invoices", draft(number, "sandbox-accepted"), &made)
		}
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		saved := t.TempDir()
		b.SaveDownloads(saved)
		b.open("/invoices?q=save&sort=invoice_number")
		b.click("#export > summary")
		b.wantAccessible("the export menu")
		b.click(`#export a[href*="format=xlsx"]:not([href*="items"])`)
		if got := column(linesOf(t, "x.xlsx", awaitFile(t, saved, "invoices.xlsx")), "invoice_number"); !slices.Equal(got,
			[]string{"SAVE-1", "SAVE-2", "SAVE-3"}) {
			t.Errorf("the list is saved with %q", got)
		}
		for _, box := range []string{"1", "3"} {
			b.click(`tbody tr:nth-child(` + box + `) .c-pick input`)
		}
		b.until(
			`document.querySelector("[data-picked]").innerText === "2" && !document.querySelector("[data-picked]").closest("[hidden]")`)
		b.click(`.selection button[value="csv"]`)
		if got := column(linesOf(t, "x.csv", awaitFile(t, saved, "invoices.csv")), "invoice_number"); !slices.Equal(got,
			[]string{"SAVE-1", "SAVE-3"}) {
			t.Errorf("the selection is saved with %q", got)
		}
	})
}

// awaitFile returns the content of a file that a browser saves, which has its name as soon as it is whole.
func awaitFile(t *testing.T, folder, name string) (content string) {
	t.Helper()
	kit.Until(t, "the browser saves "+name, func() bool {
		text, err := os.ReadFile(filepath.Join(folder, name))
		content = string(text)
		return err == nil && len(text) > 0
	})
	return content
}
