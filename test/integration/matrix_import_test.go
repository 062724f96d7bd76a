package integration_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"quittance/test/kit"
)

// importDrafts imports two drafts with the pages of the console, like a person who sends a form again until there is a
// response. Each draft is there once, however often the second form was sent.
func (c *customer) importDrafts(t *testing.T) {
	t.Helper()
	session, _, _ := strings.Cut(c.form(t, "/login", url.Values{"email": {c.email},
		"password": {c.password}}).header.Get("Set-Cookie"), ";")
	const file = "invoice_number,recipient_name,total_amount,currency,issue_date,name,quantity,net_unit_price\n" +
		"IMP-1,Palm,10,AED,2026-03-01,one,1,10\nIMP-2,Palm,20,AED,2026-03-01,two,1,20\n"
	uploaded := c.page(t, session, "/import", "multipart/form-data; boundary=x",
		"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\n"+file+"\r\n--x--\r\n")
	at := uploaded.header.Get("Location")
	if uploaded.status != http.StatusSeeOther || !strings.HasPrefix(at, "/import/") {
		t.Fatalf("upload: status %d, to %q", uploaded.status, at)
	}
	imported := c.page(t, session, at, "application/x-www-form-urlencoded", "")
	// the response was lost
	if imported.status != http.StatusSeeOther && !(imported.status == http.StatusNotFound && c.fired) {
		t.Fatalf("import: status %d: %s", imported.status, imported.body)
	}
	for _, number := range []string{"IMP-1", "IMP-2"} {
		if total := valueAt(t, c.do(t, http.MethodGet, atInvoices+"?invoice_number="+number, "", "", http.StatusOK),
			"/pagination/total"); total != "1" {
			t.Errorf("there are %s drafts %s", total, number)
		}
	}
}

// page sends a form of the console with a session until there is a response.
func (s *site) page(t *testing.T, session, path, mediaType, body string) response {
	t.Helper()
	var got response
	if err := kit.Poll(func() error {
		s.running(t)
		request, err := http.NewRequest(http.MethodPost, s.base+path, strings.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", mediaType)
		request.Header.Set("Cookie", session)
		if got, err = readResponse(s.caller.client.Do(request)); err == nil && got.status == http.StatusServiceUnavailable {
			err = fmt.Errorf("unavailable: %s", got.body)
		}
		return err
	}); err != nil {
		t.Fatalf("POST %s: %v", path, err)
	}
	return got
}
