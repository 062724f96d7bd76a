package site_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
)

// TestFormTax checks what the form says of a tax that contradicts its category, over a connection without a format:
// it names the field, is not ready, does not submit, and a new line does not inherit it. A reverse charge has no tax,
// whatever its rate.
func TestFormTax(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	check := func(category, rate string) string {
		form := complete("INV-1")
		form["items.vat_category"], form["items.vat_rate"], form["total_amount"] = []string{category}, []string{rate},
			[]string{""}
		return v.do(http.MethodPost, "/invoices/check", form.Encode(), "HX-Request", "true").body
	}
	if body := check("Zero rated", "5"); strings.Contains(body, "Ready to submit") ||
		!strings.Contains(body, "1 field required to submit") ||
		!strings.Contains(body, "Must be 0 in the category Z") || strings.Contains(body, "1,050.00") {
		t.Errorf("a zero rate of 5: %s", body)
	}
	for _, tt := range [][2]string{{"Reverse charge", "5"}, {"Zero rated", ""}, {"Out of scope", ""}} {
		body := check(tt[0], tt[1])
		if !strings.Contains(body, "Ready to submit") || !strings.Contains(body, "Only the general rules were checked") ||
			strings.Contains(body, "1,050.00") {
			t.Errorf("%s at %q: %s", tt[0], tt[1], body)
		}
	}
	form := complete("INV-1")
	form["items.vat_category"], form["items.vat_rate"] = []string{"Exempt"}, []string{"5"}
	if got := v.send("/invoices/new", form, "submit"); got.status != http.StatusUnprocessableEntity || s.count(t) != 0 {
		t.Errorf("submit: %d, %d invoices", got.status, s.count(t))
	}
	if added := controls(t, v.send("/invoices/new", form, "add").body); added["items.vat_rate"][1] != "0" {
		t.Errorf("a new line has the rates %v", added["items.vat_rate"])
	}
}

// TestCategorySetsRate checks that choosing a tax category sets the rate of its line, by keyboard and by mouse.
func TestCategorySetsRate(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 20*time.Millisecond)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/invoices/new")
		rate := func(want string) {
			t.Helper()
			b.until(`document.querySelector("#f-items-0-vat_rate").value === "` + want + `"`)
		}
		b.fill("#f-items-0-vat_rate", "7")
		b.fill("#f-items-0-vat_category", "zero")
		b.press(kb.Tab)
		rate("0")
		b.fill("#f-items-0-vat_category", "out of")
		b.until(`document.querySelector("[role=option]")`)
		b.press(kb.ArrowDown)
		b.press(kb.Enter)
		rate("")
		b.fill("#f-items-0-vat_category", "reverse")
		b.until(`document.querySelector("[role=option]")?.innerText.includes("Reverse charge")`)
		b.click("[role=option]")
		rate("0")
		b.fill("#f-items-0-vat_rate", "20")
		b.fill("#f-items-0-vat_category", "standard rate")
		b.press(kb.Tab)
		rate("20") // it has one already
		b.wantQuiet("tax categories")
	})
}

// TestButtonsOfAForm checks that a button of a form does what it says however often it is pressed, and that its answer
// leaves what was typed meanwhile.
func TestButtonsOfAForm(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 20*time.Millisecond)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/invoices/new")
		value := func(field, want string) {
			t.Helper()
			b.until(`document.querySelector("#f-` + field + `").value === "` + want + `"`)
		}
		b.fill("#f-currency", "AED")
		b.fill("#f-items-0-quantity", "2")
		b.fill("#f-items-0-net_unit_price", "100")
		b.fill("#f-items-0-vat_rate", "5")
		for _, typed := range []string{"", "999", ""} {
			b.fill("#f-total_amount", typed)
			b.click(`button[value="total"]`)
			value("total_amount", "210.00")
		}
		b.do(chromedp.Evaluate(`(() => {
			const fetched = window.fetch;
			window.fetch = async (...all) => { const answer = await fetched(...all); await new Promise((done) => { window.release = done; }); return answer; };
		})()`, nil))
		b.click(`button[value="add"]`)
		b.until(`window.release !== undefined`)
		b.fill("#f-invoice_number", "ZZ-2")
		b.fill("#f-items-0-quantity", "7")
		b.do(chromedp.Evaluate(`window.release()`, nil))
		b.until(`document.querySelector("#f-items-1-quantity") !== null`)
		value("invoice_number", "ZZ-2")
		value("items-0-quantity", "7")
		b.wantQuiet("buttons")
	})
}

// TestCreditNoteGate checks that the pages that offer a credit note say, while its submission is disabled, who enables
// it and with which command, and that its form has the number after that of the newest credit note.
func TestCreditNoteGate(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	id := s.submitted(t, s.token(t, s.email, s.password), "INV-1", "sandbox-accepted")
	all, err := invoices.Connections(t.Context(), s.DB(), nil)
	kit.Must(t, err)
	form := "/invoices/" + id + "/credit"
	gated := func(want bool) {
		t.Helper()
		for path, text := range map[string]string{"/invoices/" + id: "until an administrator of this service enables it",
			form: "quittance connection confirm-credit-notes " + all[0].ID.String() + " --contract"} {
			if page := v.get(path); strings.Contains(page.body, text) != want {
				t.Errorf("%s has %q: %t", path, text, !want)
			}
		}
	}
	gated(true)
	note := controls(t, v.get(form).body)
	if note.Get("credit_note_number") != "" {
		t.Errorf("the first credit note has the number %q", note.Get("credit_note_number"))
	}
	note.Set("credit_note_number", "CN-009")
	note.Set("reason", "Returned goods")
	note["quantity"] = []string{"1"}
	if got := v.send(form, note, ""); got.status != http.StatusSeeOther {
		t.Fatalf("credit: %d %v", got.status, notesAt(t, got.body))
	}
	if next := controls(t, v.get(form).body); next.Get("credit_note_number") != "CN-010" {
		t.Errorf("the next credit note has the number %q", next.Get("credit_note_number"))
	}
	_, err = invoices.ConfirmCreditNotes(t.Context(), s.DB(), all[0].ID, "C-1", "M-1")
	kit.Must(t, err)
	gated(false)
}
