package site_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"quittance/internal/ledger/base"
)

// TestDeletedDraft checks that a link to a deleted draft, such as one in the activity, leads to a page that says when
// and by whom it was deleted; that other companies learn nothing; and that an invoice that never was has no such page.
func TestDeletedDraft(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	path := "/invoices/" + v.created(complete("INV-1"))
	if got := v.post(path+"/delete", "version", "1"); got.status != http.StatusSeeOther {
		t.Fatalf("delete: %d", got.status)
	}
	if got := v.get("/audit"); !strings.Contains(got.body, `href="`+path+`"`) {
		t.Error("the activity has no link to the draft")
	}
	got := v.get(path)
	for _, want := range []string{"INV-1 was deleted", "This draft was deleted on <time", s.email, "Deleted the draft",
		"Created the draft"} {
		if got.status != http.StatusGone || !strings.Contains(got.body, want) {
			t.Errorf("the deleted draft: %d without %q", got.status, want)
		}
	}
	s.company(t, "other@example.com", strong)
	other := s.visitor(t)
	other.login("other@example.com", strong)
	if got := other.get(path); got.status != http.StatusNotFound || strings.Contains(got.body, "INV-1") {
		t.Errorf("another company: %d", got.status)
	}
	if got := v.get("/invoices/" + base.ID{1}.String()); got.status != http.StatusNotFound {
		t.Errorf("an invoice that never was: %d", got.status)
	}
}

// TestDeletedDraftRenders checks the page of a deleted draft in Chromium.
func TestDeletedDraftRenders(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, time.Millisecond)
		v := s.loggedIn(t)
		path := "/invoices/" + v.created(complete("INV-1"))
		v.post(path+"/delete", "version", "1")
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open(path)
		b.until(`document.querySelector("#deleted")`)
		b.allow("410")
		b.inspect("invoice-deleted")
		b.do(chromedp.Evaluate(`document.querySelector(".crumb a").click()`, nil))
		b.until(`location.pathname === "/invoices"`)
	})
}
