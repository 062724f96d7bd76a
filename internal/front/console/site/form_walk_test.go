package site_test

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp/kb"
)

// TestDraftForm checks that a user creates an invoice by form, corrects the marked fields, sees the totals change while
// typing, saves it, changes it, and duplicates it.
func TestDraftForm(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 20*time.Millisecond)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.click("#new")
		b.until(`document.activeElement.id === "f-invoice_number"`)
		b.show(appearance{width: 1280})
		b.press("INV-77")
		b.fill("#f-recipient_name", "شركة النخيل للتجارة")
		b.fill("#f-currency", "AED")
		b.fill("#f-items-0-name", "Consulting")
		b.fill("#f-items-0-quantity", "10")
		b.fill("#f-items-0-unit_code", "hour")
		b.until(`document.querySelector("#m-items-0-unit_code").innerText === "HUR"`)
		b.fill("#f-items-0-net_unit_price", "100.00")
		b.fill("#f-items-0-vat_category", "S")
		b.fill("#f-items-0-vat_rate", "5")
		b.until(`document.querySelector("#sums").innerText.includes("1,050.00")`)
		b.until(`document.querySelector("#announcer").textContent.includes("Calculated total 1,050.00 AED")`)
		b.click("button[value=add]")
		b.until(`document.activeElement.id === "f-items-1-name"`)
		b.press("Travel")
		b.fill("#f-items-1-quantity", "abc")
		b.until(`document.querySelector("#f-items-1-quantity").getAttribute("aria-invalid") === "true"`)
		b.click(".form-actions button[value=save]")
		b.until(
			`document.querySelector(".notice.bad") && document.activeElement.id === "f-items-1-quantity" && document.activeElement.value === "abc"`)
		b.refused("422")
		b.inspect("form-faults")
		b.fill("#f-items-1-quantity", "2")
		b.fill("#f-items-1-net_unit_price", "50")
		b.fill("#f-items-1-vat_category", "O")
		b.until(`document.querySelector("#sums").innerText.includes("1,150.00")`)
		b.until(`!document.querySelector("#f-items-1-quantity").hasAttribute("aria-invalid")`)
		b.click(`button[value="up:1"]`)
		b.until(`document.querySelector("#f-items-0-name").value === "Travel" && document.activeElement.value === "down:0"`)
		b.click(`button[value="total"]`)
		b.until(`document.querySelector("#f-total_amount").value === "1,150.00"`)
		b.inspect("form-filled")
		b.click(".form-actions button[value=save]")
		b.until(`document.querySelector(".notice.good") && document.querySelector("h1").innerText === "INV-77"`)
		b.click("#edit")
		b.until(`document.querySelector("#f-items-1-name")`)
		b.click(`button[value="remove:0"]`)
		b.until(
			`!document.querySelector("#f-items-1-name") && document.querySelector("#f-items-0-name").value === "Consulting"`)
		b.until(`document.querySelector("#sums").innerText.includes("1,050.00")`)
		b.click(`button[value="total"]`)
		b.until(`document.querySelector("#f-total_amount").value === "1,050.00"`)
		b.click(".form-actions button[value=save]")
		b.until(`document.querySelector(".summary .big").innerText.startsWith("1,050.00")`)
		b.click("#duplicate")
		b.until(`document.activeElement.id === "f-invoice_number" && document.activeElement.value === "INV-78"`)
		b.click(".form-actions button[value=save]")
		b.until(`document.querySelector(".notice.good") && document.querySelector("h1").innerText === "INV-78"`)
		b.open("/codes/units?q=hour")
		b.until(`document.querySelectorAll("table.codes tr").length > 3`)
		b.wantQuiet("the codes")
	})
}

// TestCombobox checks that a field with codes follows the combobox pattern: names first, with their codes, chosen by
// the keyboard alone.
func TestCombobox(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 20*time.Millisecond)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/invoices/new")
		for _, width := range []int64{1280, 390} {
			b.show(appearance{width: width})
			b.fill("#f-items-0-unit_code", "kilowatt h")
			b.until(
				`document.querySelector("[role=listbox]")?.children[0].innerText.includes("KWH") && document.activeElement.getAttribute("aria-expanded") === "true"`)
			b.wantReachable("choices")
			b.wantAccessible("choices")
			b.press(kb.Escape)
			b.until(`!document.querySelector("[role=listbox]")`)
		}
		b.show(appearance{width: 1280})
		b.fill("#f-items-0-unit_code", "hou")
		b.press(kb.ArrowDown) // before or after the server has answered
		b.press(kb.Enter)
		b.until(
			`document.activeElement.value === "hour" && document.activeElement.getAttribute("aria-expanded") === "false" && !document.querySelector("[role=listbox]")`)
		b.until(`document.querySelector("#m-items-0-unit_code").innerText === "HUR"`)
		b.fill("#f-buyer_country", "")
		b.press(kb.ArrowDown)
		b.until(
			`document.querySelector("[role=option][aria-selected=true]")?.id === document.activeElement.getAttribute("aria-activedescendant")`)
		b.press(kb.Tab)
		b.until(
			`document.querySelector("#f-buyer_country").value === "United Arab Emirates" && !document.querySelector("[role=listbox]")`)
		b.wantQuiet("combobox")
	})
}

// TestCreditNoteForm checks that a user credits some lines of an invoice, sees what remains and which amounts are too
// large, and voids the credit note.
func TestCreditNoteForm(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 20*time.Millisecond)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		id := s.submitted(t, s.token(t, s.email, s.password), "INV-1", "sandbox-accepted")
		b.open("/credit-notes")
		b.inspect("credits-none")
		b.open("/invoices/" + id)
		b.until(allFinal)
		b.click("#print")
		b.until(`document.querySelector(".paper")`)
		b.do(emulation.SetEmulatedMedia().WithMedia("print"))
		b.until(
			`["synthetic", "paper"].every(c => document.querySelector("." + c).checkVisibility()) && [".side", ".crumb", "[data-print]"].every(s => !document.querySelector(s).checkVisibility())`)
		b.do(emulation.SetEmulatedMedia().WithMedia(""))
		b.open("/invoices/" + id)
		b.click("#credit")
		b.until(`document.querySelector("#kind-full:enabled")`)
		b.fill("#f-credit_note_number", "CN-1")
		b.fill("#f-items-0-quantity", "11")
		b.until(`document.querySelector("#n-items-0-quantity").innerText.includes("More than remains on this line")`)
		b.fill("#f-items-0-quantity", "2")
		b.until(
			`document.querySelector("#sums").innerText.includes("210.00") && document.querySelector("#sums").innerText.includes("840.00")`)
		b.click("form button.primary")
		b.until(`document.querySelector(".notice.bad")`)
		b.refused("422")
		b.inspect("credit-faults")
		b.fill("#f-reason", "Two hours were not worked.")
		b.click("form button.primary")
		b.until(`document.querySelector(".notice.good") && document.querySelector(".big").innerText.startsWith("210.00")`)
		b.inspect("credit")
		b.open("/invoices/" + id + "/credit")
		b.until(`document.querySelector("#kind-full:disabled")`)
		b.inspect("credit-second")
		b.open("/invoices/" + id)
		b.until(`document.querySelector("#h-credits")`)
		b.inspect("invoice-credited")
		b.click("#h-credits ~ dl a")
		b.click("#void")
		b.until(`document.querySelector("#confirm").matches(":popover-open")`)
		b.inspect("credit-confirm")
		b.click("#confirm button.primary")
		b.until(`document.querySelector(".status.void")`)
		b.inspect("credit-void")
		b.open("/credit-notes")
		b.until(`document.querySelector("a.row")`)
		b.wantQuiet("the credit notes")
	})
}
