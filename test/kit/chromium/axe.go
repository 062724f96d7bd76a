package chromium

import (
	_ "embed"

	"github.com/chromedp/chromedp"
)

//go:embed axe/axe.min.js
var axe string

// Rules of axe for [Page.Axe]: all of WCAG 2.2 A and AA and its best practice, and those that depend on colours and
// sizes, which differ between the appearances of a page.
const (
	AxeAll        = `runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]`
	AxeAppearance = `runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]}`
)

// Axe fails the test for every violation of some rules that axe finds on the page. The rules are members of its options
// in JavaScript.
func (p *Page) Axe(where, rules string) {
	p.t.Helper()
	var loaded bool
	p.Do(chromedp.Evaluate(`typeof axe === "object"`, &loaded))
	if !loaded { // a page keeps it in every appearance
		p.Do(chromedp.Evaluate(axe+";0", nil))
	}
	var found []string
	p.Do(chromedp.Evaluate(`axe.run(document, {resultTypes: ["violations"], `+rules+`})
			.then(r => r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.map(n => n.target.join(" ") + " " + n.failureSummary).join("; ")))`,
		&found, Awaited))
	for _, violation := range found {
		p.t.Errorf("%s: %s", where, violation)
	}
}
