package site_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestStyleguide checks that the style guide shows both themes in both directions, and requires a login.
func TestStyleguide(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Second)
	v := s.loggedIn(t)
	for address, want := range map[string]string{"/styleguide": `dir="ltr" lang="en"`,
		"/styleguide?dir=rtl": `dir="rtl" lang="ar"`} {
		got := v.get(address)
		for _, theme := range []string{"light", "dark"} {
			if got.status != http.StatusOK || !strings.Contains(got.body, `data-theme="`+theme+`" `+want) {
				t.Errorf("%s: %d, without the theme %s and %s", address, got.status, theme, want)
			}
		}
	}
	if got := s.visitor(t).get("/styleguide"); got.status != http.StatusSeeOther {
		t.Errorf("without a login: %d", got.status)
	}
}

// TestComponents checks the components that need scripts: the tooltip by hover, focus and tap, the combobox by keyboard
// and by pointer, the menu, the bar of a selection, and the note of a lost connection.
func TestComponents(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, time.Second)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/styleguide")
		const tip, options = `document.querySelector(".tip:popover-open")`, `document.querySelector(".choices-popup")`
		b.tabTo(".pill.negative")
		b.until(tip + `.textContent === "rejected_by_authority"`)
		b.press(kb.Escape)
		b.until(`!` + tip)
		b.click(".dots")
		b.until(tip + `.textContent.includes("Tax authority: registered")`)
		b.click("#field")
		b.until(`!` + tip)
		b.fill("#light-unit", "riyal")
		b.until(options +
			`.innerText.includes("Saudi riyal") && document.querySelector("#light-unit").getAttribute("aria-expanded") === "true"`)
		b.press(kb.ArrowDown + kb.Enter)
		b.until(`document.querySelector("#light-unit").value === "Saudi riyal" && !` + options)
		b.fill("#light-unit", "eu")
		b.until(options)
		b.click(".choices-popup li")
		b.until(`document.querySelector("#light-unit").value === "Euro" && document.activeElement.id === "light-unit" && !` +
			options)
		b.click("details.menu summary")
		b.until(`document.querySelector("details.menu[open] .sheet")`)
		b.press(kb.Escape)
		b.until(`!document.querySelector("details.menu[open]")`)
		b.click(`[data-theme="light"] tbody tr:nth-child(2) input`)
		b.until(`document.querySelector("[data-picked]").textContent === "2"`)
		b.do(chromedp.Evaluate(`document.querySelector('[data-theme="light"] [data-pick]').click()`, nil),
			chromedp.Evaluate(`document.querySelector('[data-theme="light"] [data-pick]').click()`, nil))
		b.until(`getComputedStyle(document.querySelector(".selection")).display === "none"`)
		b.wantQuiet("the components")
		b.offline(true)
		b.until(`!document.querySelector("#offline").hidden`)
		b.offline(false)
		b.until(`document.querySelector("#offline").hidden`)
	})
}
