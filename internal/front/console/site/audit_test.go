package site_test

import (
	"encoding/csv"
	"net/http"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/test/kit"
)

// TestActivity checks that an owner sees who submitted what and when, with filters and as a file; that no other role
// does; and that the entries of other companies never appear.
func TestActivity(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, 50*time.Millisecond)
	token := s.token(t, s.email, s.password)
	s.submitted(t, token, "AUDIT-1", "sandbox-accepted")
	hostile := draft("=AUDIT+2", "sandbox-accepted")
	var made api.Invoice
	s.api(t, token, http.MethodPost, "/api/v1/client/invoices", hostile, &made)
	const password = "a stranger's long password"
	s.company(t, "stranger@elsewhere.example", password)
	stranger := s.visitor(t)
	stranger.login("stranger@elsewhere.example", password)

	owner := s.loggedIn(t)
	wantPage(t, owner, "/audit", []string{"Submitted the invoice", "AUDIT-1", s.email, `href="/invoices/` + made.ID + `"`,
		`href="/audit/export?format=csv"`, "127.0.0.1"}, []string{"stranger@elsewhere.example"})
	later := time.Now().UTC().AddDate(0, 0, 2).Format(time.DateOnly)
	earlier := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	today := "&from=" + earlier + "&to=" + later
	wantPage(t, owner, "/audit?act=invoice.submit"+today, []string{"AUDIT-1",
		`/audit/export?act=invoice.submit&amp;format=csv&amp;from=` + earlier}, []string{"=AUDIT+2"})
	wantPage(t, owner, "/audit?act=invoice.submit&from=2001-01-01&to=2001-01-31",
		[]string{"No entry matches these filters"}, []string{"AUDIT-1"})
	wantPage(t, owner, "/audit?act=draft.create&actor="+s.email, []string{"AUDIT-1", "=AUDIT"}, nil)
	wantPage(t, owner, "/audit?actor=stranger@elsewhere.example", []string{"No entry matches these filters"},
		[]string{"Logged in</span>"})
	wantPage(t, owner, "/audit?act=no.act&from=yesterday&who=me",
		[]string{"act=no.act", "from=yesterday", "who=me", "AUDIT-1"}, nil)
	wantPage(t, owner, "/audit?per=1&page=2", []string{"2 to 2 of "}, nil)
	wantPage(t, stranger, "/audit", []string{"stranger@elsewhere.example"}, []string{"AUDIT", s.email})

	for _, role := range access.Roles {
		if role == access.Owner {
			continue
		}
		colleague := s.colleague(t, role)
		for _, path := range []string{"/audit", "/audit/export?format=csv"} {
			if got := colleague.get(path); got.status != http.StatusForbidden || strings.Contains(got.body, "AUDIT-1") {
				t.Errorf("%s: %s answered %d", role, path, got.status)
			}
		}
		if strings.Contains(colleague.get("/invoices").body, `href="/audit"`) {
			t.Errorf("the navigation of %s has the page", role)
		}
	}
	if got := s.visitor(t).get("/audit/export?format=csv"); got.status != http.StatusSeeOther {
		t.Errorf("without a session: %d", got.status)
	}
	wantFile(t, owner, s.email)
}

// wantPage checks what a page contains.
func wantPage(t *testing.T, v *visitor, path string, with, without []string) {
	t.Helper()
	got := v.get(path)
	if got.status != http.StatusOK {
		t.Errorf("%s answered %d", path, got.status)
	}
	body := strings.ReplaceAll(got.body, "&#43;", "+")
	for _, text := range with {
		if !strings.Contains(body, text) {
			t.Errorf("%s has no %s", path, text)
		}
	}
	for _, text := range without {
		if strings.Contains(body, text) {
			t.Errorf("%s has %s", path, text)
		}
	}
}

// wantFile checks the file of the drafts that were created: all columns, the filter, and a number that begins like a
// formula. The filter includes the day of an entry, and ends with its last day.
func wantFile(t *testing.T, owner *visitor, email string) {
	t.Helper()
	got := owner.get("/audit/export?format=csv&act=draft.create")
	if got.status != http.StatusOK || got.header.Get("Content-Type") != "text/csv; charset=utf-8" ||
		!strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment;") {
		t.Fatalf("the file: %d %v", got.status, got.header)
	}
	records, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(got.body, "\ufeff"))).ReadAll()
	kit.Must(t, err)
	if len(records) != 3 || strings.Join(records[0],
		"|") != "Time (UTC)|Who|Kind|What|Act|Subject type|Subject|Subject ID|Network address|By means of|Request ID|Details" {
		t.Fatalf("%q", records)
	}
	for n, number := range []string{"'=AUDIT+2", "AUDIT-1"} {
		r := records[n+1]
		at, err := time.Parse(time.RFC3339Nano, r[0])
		kit.Must(t, err)
		day, before := at.Format(time.DateOnly), at.AddDate(0, 0, -1).Format(time.DateOnly)
		shown := strings.TrimPrefix(number, "'")
		wantPage(t, owner, "/audit?act=draft.create&from="+day+"&to="+day, []string{shown}, nil)
		wantPage(t, owner, "/audit?act=draft.create&to="+before, nil, []string{shown})
		if r[1] != email || r[2] != "User" || r[3] != "Created the draft" || r[4] != "draft.create" || r[5] != "invoice" ||
			r[6] != number || r[8] != "127.0.0.1" || r[9] != "API" || r[10] == "" {
			t.Errorf("line %d: %q", n+1, r)
		}
	}
}

// TestActivityOfKeysAndAdministrators checks that an act of an API key has the name of the key, and that of an
// administrator has no name but the number of its document.
func TestActivityOfKeysAndAdministrators(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	owner := s.loggedIn(t)
	key := shownKey.FindString(owner.post("/api-keys/new", "key", formKey(t, owner.get("/api-keys/new")), "name",
		"@Ledger <b>system</b>", "scopes", "read", "scopes", "write").body)
	var made api.Invoice
	if status := s.api(t, key, http.MethodPost, "/api/v1/client/invoices", draft("KEY-1", "sandbox-accepted"),
		&made); status != http.StatusCreated {
		t.Fatalf("create with a key: %d", status)
	}
	id, err := base.ParseID(s.Info.AccountID)
	kit.Must(t, err)
	ctx := base.WithActor(t.Context(), base.Actor{Kind: base.ActorAdministrator, Name: "root@secret-host",
		Means: base.MeansCommandLine, Reason: "a secret reason"})
	kit.Must(t, s.DB().RecordAudit(ctx, base.Act{Name: "connection.activate", Account: id, SubjectType: "connection",
		Subject: made.ID}))
	kit.Must(t, s.DB().RecordAudit(ctx, base.Act{Name: "invoice.submit", Account: id, SubjectType: "invoice",
		Subject: made.ID, Details: map[string]string{"invoice_number": "SENT-7", "connection": "secret"}}))
	wantPage(t, owner, "/audit", []string{"@Ledger &lt;b&gt;system&lt;/b&gt;", "Administrator",
		"Activated a provider connection", "Command line", "SENT-7"}, []string{"secret", "<b>system"})
	file := owner.get("/audit/export?format=csv").body
	if !strings.Contains(file, "'@Ledger <b>system</b>") || strings.Contains(file, "secret") {
		t.Errorf("the file: %s", file)
	}
}
