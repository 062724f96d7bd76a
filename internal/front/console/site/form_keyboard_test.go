package site_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// TestKeyboardForms checks that a user with a keyboard alone creates an invoice and submits it, corrects and resends it
// after the provider has rejected it, and credits it.
func TestKeyboardForms(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 20*time.Millisecond)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.tabTo("#new")
		b.press(kb.Enter)
		b.until(`document.activeElement.id === "f-invoice_number"`)
		b.press("INV-1")
		for _, field := range []struct{ selector, keys string }{
			{"#f-due_date", "12312099"}, {"#f-currency", "aed"}, {"#f-payment_means_code", "bank transfer"},
			{"#f-recipient_name", "Palm Trading LLC"}, {"#f-buyer_endpoint_scheme", "tin"},
			{"#f-recipient_network_id", "sandbox-rejected-validation"}, {"#f-buyer_street", "12 Harbour Road"},
			{"#f-buyer_city", "Dubai"}, {"#f-buyer_country", "uae"}, {"#f-items-0-name", "Consulting"},
			{"#f-items-0-quantity", "10"}, {"#f-items-0-unit_code", "hours"}, {"#f-items-0-net_unit_price", "1,250.00"},
			{"#f-items-0-vat_category", "standard"}, {"#f-items-0-vat_rate", "5%"},
		} {
			b.tabTo(field.selector)
			b.press(field.keys)
		}
		submit := func() {
			t.Helper()
			b.tabTo("#submit")
			b.press(kb.Enter)
			b.until(`document.activeElement.matches("#confirm button.primary")`)
			b.press(kb.Enter)
			b.until(`location.pathname.length > 40 && !location.pathname.endsWith("/edit")`)
		}
		submit()
		b.until(`document.querySelector("#edit")`) // the provider has rejected it
		b.tabTo("#edit")
		b.press(kb.Enter)
		b.until(`document.querySelector("#f-recipient_network_id")?.value === "sandbox-rejected-validation"`)
		b.until(`document.querySelector("#f-items-0-net_unit_price").value === "1,250.00"`)
		b.tabTo("#f-recipient_network_id")
		b.press("sandbox-accepted") // the tabulator key has selected the text
		submit()
		b.until(allFinal)
		b.tabTo("#credit")
		b.press(kb.Enter)
		b.until(`document.querySelector("#kind-full:enabled")`)
		b.tabTo("#f-credit_note_number")
		b.press("CN-1")
		b.tabTo("#f-reason")
		b.press("Two hours were not worked.")
		b.tabTo("#f-items-0-quantity")
		b.press("2" + kb.Enter)
		b.until(`document.querySelector(".notice.good") && document.body.innerText.includes("2,625.00")`)
		b.wantQuiet("the keyboard")
	})
}
