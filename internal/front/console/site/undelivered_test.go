package site_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/test/kit"
)

// TestUndelivered checks that one page lists the undelivered deliveries of all subscriptions, and selected ones can be
// sent again. Those of deactivated subscriptions cannot be selected, and those of another company are unknown.
func TestUndelivered(t *testing.T) {
	t.Parallel()
	l, reach := listen(t, http.StatusBadRequest, "")
	s := start(t, first(), true, time.Millisecond, reach)
	v := s.loggedIn(t)
	if got := v.get("/webhooks/lost"); !strings.Contains(got.body, "No failed deliveries") ||
		strings.Contains(v.get("/webhooks").body, "Show and resend") {
		t.Errorf("without undelivered deliveries: %d", got.status)
	}
	one, two := s.subscription(t, l.url, "", api.EventIncomingReceived),
		s.subscription(t, l.url+"/two", "", api.EventIncomingReceived)
	s.purchase(t, "a", nil)
	first, second := s.ended(t, one)[0].ID.String(), s.ended(t, two)[0].ID.String()
	if got := v.get("/webhooks"); !strings.Contains(got.body, "2 deliveries failed.") {
		t.Error("the list of subscriptions has no notice")
	}
	page := v.get("/webhooks/lost")
	for _, want := range []string{"/webhooks/deliveries/" + first, "/webhooks/deliveries/" + second, l.url + "/two",
		"refused", `value="` + first + `"`, "1 to 2 of 2"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if got := v.get("/webhooks/lost?state=blocked"); strings.Contains(got.body, first) ||
		!strings.Contains(got.body, "No failed deliveries") {
		t.Error("the filter has no effect")
	}
	s.company(t, "other@example.com", strong)
	other := s.visitor(t)
	other.login("other@example.com", strong)
	if got := other.get("/webhooks/lost"); strings.Contains(got.body, first) {
		t.Error("another company sees the delivery")
	}
	if got := other.post("/webhooks/lost", "delivery", first); got.status != http.StatusNotFound {
		t.Errorf("another company: %d", got.status)
	}
	for want, chosen := range map[string][]string{"none_chosen": nil, "": {"delivery", "x"}} {
		if got := v.post("/webhooks/lost", chosen...); !strings.Contains(got.header.Get("Location"), want) || want == "" &&
			got.status != http.StatusNotFound {
			t.Errorf("%v: %d %s", chosen, got.status, got.header.Get("Location"))
		}
	}
	many := make([]string, 0, 202)
	for range 101 {
		many = append(many, "delivery", first)
	}
	if got := v.post("/webhooks/lost", many...); got.status != http.StatusBadRequest || len(l.callbacks()) != 2 {
		t.Errorf("more than a page of deliveries: %d, and %d were sent", got.status, len(l.callbacks()))
	}
	l.become(http.StatusOK, "", nil)
	if got := v.post("/webhooks/lost",
		"delivery", first); got.header.Get("Location") != "/webhooks/lost?notice=good.redelivered_chosen" {
		t.Errorf("again: %d %s", got.status, got.header.Get("Location"))
	}
	if again := s.ended(t, one)[0]; again.State != api.DeliveryDelivered || again.ID.String() != first {
		t.Errorf("again: %+v", again)
	}
	v.post("/webhooks/" + two + "/deactivate")
	if got := v.get("/webhooks/lost"); strings.Contains(got.body, first) ||
		strings.Contains(got.body, `value="`+second+`"`) || strings.Contains(got.body, `id="again"`) {
		t.Error("a delivered one is listed, or one of a deactivated subscription can be selected")
	}
	got := v.post("/webhooks/lost", "delivery", second)
	if page := v.get(got.header.Get("Location")); !strings.Contains(page.body, "Some deliveries were not sent") ||
		len(l.callbacks()) != 3 {
		t.Errorf("for a deactivated subscription: %d, and %d were sent", got.status, len(l.callbacks()))
	}
}

// TestRemarks checks that the page of an invoice shows the provider's reason for a rejection, and so does the evidence
// entry. Withheld answers stay sealed.
func TestRemarks(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	id := s.submitted(t, s.token(t, s.email, s.password), "INV-1", "sandbox-rejected-validation")
	page := v.get("/invoices/" + id + "?tab=evidence")
	said := strings.Split(page.body, `class="remarks"`)
	if len(said) != 3 || !strings.Contains(said[0], "The provider rejected this invoice") ||
		!strings.Contains(said[1], "SANDBOX-") {
		t.Errorf("%d lists of remarks", len(said)-1)
	}
	accepted := s.submitted(t, s.token(t, s.email, s.password), "INV-2", "sandbox-accepted")
	if got := v.get("/invoices/" + accepted); strings.Contains(got.body, "Messages from the provider") {
		t.Error("the page shows remarks that the provider did not make")
	}
}

// TestSearchCreditNotes checks that credit notes are found by text and state, also within one invoice, and can be
// printed.
func TestSearchCreditNotes(t *testing.T) {
	t.Parallel()
	s := start(t, first(), false, time.Millisecond) // the sandbox has ten, half of them full credit notes
	v := s.loggedIn(t)
	notes, err := view.Of(s.tenant(t)).CreditNotes(t.Context(), view.CreditNoteFilter{}, 1, 100)
	kit.Must(t, err)
	note, of := notes.Entries[0], notes.Entries[0].Invoice.String()
	if got := v.post("/credit-notes/" + note.ID.String() + "/void"); got.status != http.StatusSeeOther {
		t.Fatalf("void: %d", got.status)
	}
	for path, want := range map[string]string{
		"/credit-notes?state=lost&kind=full": "<bdi>kind=full</bdi></code> <code><bdi>state=lost</bdi>",
		"/credit-notes?q=syn-cn-00":          "1 to 9 of 9", "/credit-notes?q=SYN-CN-003": "1 to 1 of 1",
		"/credit-notes?state=void": "1 to 1 of 1", "/credit-notes?state=live": "1 to 9 of 9",
		"/credit-notes?q=in+vain": "No credit notes match", "/credit-notes?issue_date_to=2000-01-01": "No credit notes match",
		"/credit-notes?issue_date_from=2000-01-01&state=live":  "1 to 9 of 9",
		"/credit-notes?issue_date_from=2026-02-30":             "<bdi>issue_date_from=2026-02-30</bdi>",
		"/credit-notes?issue_date_to=2999-01-01&invoice=" + of: `href="/credit-notes?invoice=` + of,
		"/credit-notes?state=other":                            "1 to 10 of 10",
		"/credit-notes?q=%00&state=%ff":                        "1 to 10 of 10",
		"/credit-notes?state=void&invoice=" + of:               "1 to 1 of 1", "/credit-notes?state=live&invoice=" +
			of: "No credit notes match", "/credit-notes?q=LLC&per=3&page=2": "4 to 6 of 8",
	} {
		if got := v.get(path); got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d without %q", path, got.status, want)
		}
	}
	printed := v.get("/credit-notes/" + note.ID.String() + "/print")
	for _, want := range []string{note.Number, "Credit note, void", "Sandbox Trading LLC", "It was not sent.",
		"not the legal document", "data-print"} {
		if !strings.Contains(printed.body, want) {
			t.Errorf("the printable view lacks %q", want)
		}
	}
	s.company(t, "other@example.com", strong)
	other := s.visitor(t)
	other.login("other@example.com", strong)
	if got := other.get("/credit-notes/" + note.ID.String() + "/print"); got.status != http.StatusNotFound {
		t.Errorf("another company: %d", got.status)
	}
	if got := other.get("/credit-notes?q=SYN"); !strings.Contains(got.body, "No credit notes match") {
		t.Error("another company finds a credit note")
	}
}

// TestStateValuesAreVisible checks that the time line shows every state value completely, however narrow its column,
// and right-to-left names are aligned like others.
func TestStateValuesAreVisible(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 300*time.Millisecond)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		token := s.token(t, s.email, s.password)
		d := draft("INV-RTL", "1")
		d.RecipientName = new("شركة النخيل للتجارة")
		var made api.Invoice
		s.api(t, token, http.MethodPost, "/api/v1/client/invoices", d, &made)
		id := s.submitted(t, token, "INV-1", "sandbox-reopened")
		b.show(appearance{width: 1280})
		b.open("/invoices")
		b.until(`document.querySelectorAll("a.row").length === 2`)
		b.until(
			`[...document.querySelectorAll(".c-who .under")].every(name => { const range = document.createRange(); range.selectNodeContents(name);
			return Math.abs(range.getBoundingClientRect().left - name.parentElement.getBoundingClientRect().left) < 2 })`)
		b.open("/invoices/" + id)
		b.until(`document.querySelector("[aria-label='Tax authority'] .segment.current.final .state").title === "rejected"`)
		for _, width := range []int64{1280, 800, 390} {
			b.show(appearance{width: width})
			b.until(`[...document.querySelectorAll(".segment .state")].every(word => { const text = word.querySelector("bdi");
				const label = word.title && word.title[0].toUpperCase() + word.title.slice(1).replaceAll("_", " ");
				return !word.title || text.textContent === label && text.scrollWidth <= text.clientWidth + 1 && getComputedStyle(text).textOverflow === "clip" &&
					text.getBoundingClientRect().right <= word.closest(".segment").getBoundingClientRect().right + 1 })`)
		}
		b.inspect("invoice-reopened")
	})
}

// TestFocusIsKept checks that keyboard users keep the focus when a list or a page is refreshed, and that a refresh of
// one tab shows what has changed above it, in a narrow window too.
func TestFocusIsKept(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 20*time.Millisecond)
		b := newBrowser(t, s.base)
		token := s.token(t, s.email, s.password)
		first := s.submitted(t, token, "INV-1", "sandbox-accepted")
		b.login(s.email, s.password)
		b.show(appearance{width: 390})
		b.open("/invoices")
		b.tabTo("a.row")
		here := `document.activeElement.getAttribute("href") === "/invoices/` + first + `"`
		b.until(here)
		s.submitted(t, token, "INV-2", "sandbox-accepted")
		b.until(`document.querySelectorAll("a.row").length === 2`)
		b.until(here)
		b.press(kb.Enter)
		b.until(`location.pathname === "/invoices/` + first + `"`)
		b.until(allFinal)
		b.tabTo("#tab-evidence")
		b.press(kb.Enter)
		b.until(`location.search === "?tab=evidence" && document.readyState === "complete"`)
		b.tabTo("summary")
		b.press(kb.Enter)
		credit := map[string]any{"invoice_id": first, "credit_note_number": "CN-1", "issue_date": "2026-03-02",
			"reason": "all of it", "kind": "full"}
		if status := s.api(t, token, http.MethodPost, "/api/v1/client/credit-notes", credit,
			nil); status != http.StatusCreated {
			t.Fatalf("credit note: %d", status)
		}
		// innerText has only what is shown, unless the element itself is hidden.
		b.until(`document.querySelector("#h-credits") && document.querySelector("#live").innerText.includes("CN-1")`)
		b.until(`document.activeElement.matches("details[open] > summary")`)
	})
}

// TestOtherPages checks the remaining pages in Chromium. Selected boxes stay selected while the page is refreshed, and
// the selected deliveries are sent again.
func TestOtherPages(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		l, reach := listen(t, http.StatusBadRequest, "")
		s := start(t, first(), false, 20*time.Millisecond, reach)
		s.subscription(t, l.url, "Bookkeeping", api.EventIncomingReceived)
		for _, id := range []string{"a", "b", "c"} {
			s.purchase(t, id, nil)
		}
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/webhooks")
		b.until(`document.querySelector("#lost") && document.querySelector(".notice").innerText.includes("3 deliveries")`)
		b.click("#lost")
		b.until(`document.querySelectorAll("tbody input").length === 3 && !document.querySelector("#pick-all").hidden`)
		b.inspect("undelivered")
		b.click("#pick-all")
		b.until(`document.querySelectorAll("tbody input:checked").length === 3`)
		b.click("tbody tr:last-child input")
		same := b.markPage()
		s.purchase(t, "d", nil)
		b.until(`document.querySelectorAll("tbody input").length === 4`)
		b.until(`document.querySelectorAll("tbody input:checked").length === 2`)
		same()
		l.become(http.StatusOK, "", nil)
		b.click("#again")
		b.until(`document.querySelector("#confirm").matches(":popover-open")`)
		b.inspect("undelivered-again")
		b.click("#confirm button.primary")
		b.until(
			`document.querySelector(".notice.good") && document.querySelectorAll("tbody input").length === 2 && location.search === ""`)
		b.open("/credit-notes?state=live")
		b.inspect("credits-live")
		b.click("a.row")
		b.click("#print")
		b.until(`document.querySelector(".paper")`)
		b.wantQuiet("the print view")
	})
}
