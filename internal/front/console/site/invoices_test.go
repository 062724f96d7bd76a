package site_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"quittance/client/api"
	"quittance/test/kit"
)

// listed returns the texts of the elements of a page.
func (b *browser) listed(selector string) (texts []string) {
	b.t.Helper()
	b.do(chromedp.Evaluate(`[...document.querySelectorAll(`+"`"+selector+"`"+
		`)].map(e => e.innerText.trim().replace(/\s+/g, " "))`, &texts))
	return texts
}

// TestInvoiceList walks through the list as a person does: tabs with counts, the filter panel, sorting, and drafts that
// are submitted together.
func TestInvoiceList(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 20*time.Millisecond)
		token := s.token(t, s.email, s.password)
		s.submitted(t, token, "INV-1", "sandbox-rejected-authority")
		s.submitted(t, token, "INV-2", "sandbox-accepted")
		for number, change := range map[string]func(*api.Draft){
			"INV-3": func(d *api.Draft) { d.RecipientName, d.TotalAmount = new("Zenith"), new(api.MustDecimal("99.5")) },
			"INV-4": func(d *api.Draft) { d.IssueDate = new("2026-02-01") },
		} {
			d := draft(number, "sandbox-accepted")
			change(d)
			s.api(t, token, http.MethodPost, "/api/v1/client/invoices", d, nil)
		}
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/invoices")
		same := b.markPage()
		// it counts by itself
		b.until(
			`document.querySelector("#list-tabs").innerText.replace(/\s+/g, " ") === "All 4 Needs attention 1 In progress 0 Accepted 1 Drafts 2"`)
		same()
		b.show(appearance{width: 1280})

		b.click(`#list-tabs a[href*="attention"]`)
		b.until(`location.search === "?tab=attention" && document.querySelectorAll("a.row").length === 1`)
		if got := b.listed(".c-number"); !slices.Equal(got, []string{"INV-1"}) {
			t.Errorf("needs attention: %v", got)
		}
		if got := b.listed(".c-status .pill"); !slices.Equal(got, []string{"Rejected: tax authority"}) {
			t.Errorf("status: %v", got)
		}
		b.click(`#list-tabs a[href*="accepted"]`)
		b.until(
			`location.search === "?tab=accepted" && document.querySelector(".c-number").innerText === "INV-2" && document.querySelector(".pill.positive").innerText === "4 of 4 final"`)

		b.open("/invoices")
		b.click(`.w-total_amount a`)
		b.until(
			`location.search === "?sort=-total_amount" && document.querySelector(".w-total_amount").getAttribute("aria-sort") === "descending"`)
		b.click(`.w-total_amount a`)
		b.until(
			`location.search === "?sort=total_amount" && document.readyState === "complete" && document.querySelectorAll(".c-sum").length === 4`)
		if got := b.listed(".c-sum"); len(got) != 4 || got[0] != "99.50 AED" || got[3] != "1,050.00 AED" {
			t.Errorf("by amount: %v", got)
		}

		b.click("#filter summary")
		for _, width := range []int64{1280, 1000, 780, 390} {
			b.show(appearance{width: width, dark: width == 780})
			b.wantAccessible("the filter panel")
			b.until(`document.documentElement.scrollWidth <= document.documentElement.clientWidth`)
		}
		b.show(appearance{width: 1280})
		b.fill("#amount_from", "1,000")
		b.fill("#recipient_name", "palm")
		b.do(chromedp.SetValue("#issue_date_to", "2026-02-28", chromedp.ByQuery))
		b.click("#filter button.primary")
		b.until(`location.search.includes("amount_from=1%2C000") && document.querySelectorAll(".chip").length === 3`)
		if got := b.listed(".c-number"); !slices.Equal(got, []string{"INV-4"}) {
			t.Errorf("filtered: %v", got)
		}
		b.inspect("list-filtered")
		b.click(`.chip[href*="amount_from"][href*="recipient_name"]:not([href*="issue_date_to"])`)
		b.until(`document.querySelectorAll(".chip").length === 2 && document.querySelectorAll(".c-number").length === 3`)

		b.open("/invoices?tab=drafts")
		for _, box := range []string{"1", "2"} {
			b.click(`tbody tr:nth-child(` + box + `) .c-pick input`)
		}
		b.inspect("list-selected")
		b.click("#submit-selected")
		b.until(`document.querySelector("#submit-all").innerText === "Submit 2 invoices"`)
		b.click("#submit-all")
		b.until(`location.pathname === "/invoices/submitted" && document.querySelectorAll("#sent tbody tr").length === 2`)
		same = b.markPage()
		// The total of one is wrong, which the provider finds.
		b.until(
			`document.querySelectorAll("#sent .pill.positive").length === 1 && document.querySelector("#sent .pill.negative").innerText === "Rejected: provider"`)
		same()
		b.inspect("bulk-result")
	})
}

// TestRejectionCard checks that an invoice that the tax authority rejected says so, offers the next steps, and shows
// nothing green but the values that the provider publishes as positive.
func TestRejectionCard(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 20*time.Millisecond)
		token := s.token(t, s.email, s.password)
		id := s.submitted(t, token, "INV-1", "sandbox-rejected-authority")
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/invoices/" + id)
		b.until(allFinal)
		b.until(
			`document.querySelector("#situation h2").innerText === "Rejected: tax authority" && document.querySelector("#correct[href$='/replace']") && document.querySelector("#issue-credit")`)
		b.inspect("rejected-authority")
		for _, dark := range []bool{false, true} {
			b.show(appearance{width: 1280, dark: dark})
			// Everything in the colour of a positive meaning belongs to a value that is published as positive.
			var green []string
			b.do(chromedp.Evaluate(`{ const probe = document.createElement("i");
				const colours = ["--good", "--good-tint"].map(name => { probe.style.color = "var(" + name + ")"; document.body.append(probe); return getComputedStyle(probe).color; });
				probe.remove();
				[...document.querySelectorAll("main *")].filter(e => e.checkVisibility() && !e.closest(".means-positive, .pill.positive")).filter(e => {
					const style = getComputedStyle(e), after = getComputedStyle(e, "::after");
					return [style.color, style.backgroundColor, style.borderTopColor, after.content !== "none" && after.color].some(c => colours.includes(c));
				}).map(e => e.outerHTML.slice(0, 80)) }`, &green))
			if len(green) > 0 {
				t.Errorf("dark %v: green without a positive meaning: %q", dark, green)
			}
		}
		if got := b.listed("#states .pill"); !slices.Equal(got,
			[]string{"Accepted by provider", "Accepted", "Rejected", "Accepted"}) {
			t.Errorf("states: %v", got)
		}
		b.click("#tab-evidence")
		// the provider's own words
		b.until(
			`location.search === "?tab=evidence" && document.querySelector(".entries").innerText.includes("accepted_by_provider")`)
		b.inspect("invoice-evidence")
		b.click("#tab-webhooks")
		b.until(`document.querySelector("#h-webhooks")`)
		b.inspect("invoice-webhooks")
		b.click("#tab-activity")
		b.until(`document.querySelector(".activity").innerText.includes("Submitted the invoice")`)
		b.inspect("invoice-activity")
		b.show(appearance{width: 390})
		b.do(emulation.SetTouchEmulationEnabled(true))
		b.click("#states .pill")
		b.until(`document.querySelector(".tip").innerText.includes("accepted_by_provider")`) // one tap away
		b.do(emulation.SetTouchEmulationEnabled(false))
		b.show(appearance{width: 1280})
		b.click("#correct")
		b.until(
			`location.pathname.endsWith("/replace") && document.querySelector("#f-recipient_name").value === "Palm Trading LLC"`)
	})
}

// TestUnknownFilters checks that the page names the filters in its address that it does not know, and applies those
// that the API has.
func TestUnknownFilters(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	token := s.token(t, s.email, s.password)
	id := s.submitted(t, token, "INV-1", "sandbox-rejected-authority")
	s.api(t, token, http.MethodPost, "/api/v1/client/invoices", draft("INV-2", "1"), nil)
	v := s.loggedIn(t)
	v.until("/invoices/"+id, "Rejected: tax authority")
	for _, test := range []struct {
		query   string
		ignored string
		numbers string
	}{
		{"tax_authority_state=rejected", "", "INV-1"},
		{"tax_authority_state=is:rejected", "", "INV-1"},
		{"tax_authority_state=unheard", "", ""},
		{"receiver_state=none&stage=submitted", "", ""},
		{"state=rejected", "state=rejected", "INV-2 INV-1"},
		{"tab=mine", "tab=mine", "INV-2 INV-1"},
		{"sort=colour&stage=draft", "sort=colour", "INV-2"},
		{"amount_from=many", "amount_from=many", "INV-2 INV-1"},
		{"issue_date_from=2026-02-30", "issue_date_from=2026-02-30", "INV-2 INV-1"},
		{"currency=XYZ", "currency=XYZ", "INV-2 INV-1"},
		{"receiver_state=is:%00", "receiver_state=is:", "INV-2 INV-1"},
		{"currency=USD", "", ""},
		{"amount_to=1,050.00&currency=AED", "", "INV-2 INV-1"},
		{"x=%3Cscript%3E&notice=good.created&page=1&per=20", "x=&lt;script&gt;", "INV-2 INV-1"},
	} {
		page := v.get("/invoices?" + test.query)
		var numbers []string
		for _, part := range strings.Split(page.body, `class="row"`)[1:] {
			number, _, _ := strings.Cut(part[strings.Index(part, "<bdi>")+len("<bdi>"):], "<")
			numbers = append(numbers, number)
		}
		said := strings.Contains(page.body, `id="ignored"`)
		if page.status != http.StatusOK || strings.Join(numbers, " ") != test.numbers || said != (test.ignored != "") ||
			!strings.Contains(page.body, test.ignored) {
			t.Errorf("%s: %d, %v, says that something is ignored: %v", test.query, page.status, numbers, said)
		}
	}
}

// until requests a page until it contains a text.
func (v *visitor) until(path, text string) {
	v.t.Helper()
	kit.Until(v.t, path+" says "+text, func() bool { return strings.Contains(v.get(path).body, text) })
}
