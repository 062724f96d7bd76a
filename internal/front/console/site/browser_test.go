package site_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"quittance/test/kit"
	"quittance/test/kit/chromium"
)

// browser is a page of the shared Chromium with what is special to the console.
type browser struct {
	*chromium.Page
	t    *testing.T
	base string
}

// newBrowser opens a page for a server. It is closed when the test ends.
func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	return &browser{Page: chromium.New(t, base), t: t, base: base}
}

func (b *browser) do(actions ...chromedp.Action)         { b.t.Helper(); b.Do(actions...) }
func (b *browser) open(path string)                      { b.t.Helper(); b.Open(path) }
func (b *browser) location() string                      { return b.Location() }
func (b *browser) text(selector string) string           { return b.Text(selector) }
func (b *browser) until(expression string)               { b.t.Helper(); b.Until(expression) }
func (b *browser) click(selector string)                 { b.t.Helper(); b.Click(selector) }
func (b *browser) hold(selector string) (release func()) { b.t.Helper(); return b.Hold(selector) }
func (b *browser) fill(selector, text string)            { b.t.Helper(); b.Fill(selector, text) }
func (b *browser) tabTo(selector string)                 { b.t.Helper(); b.TabTo(selector) }
func (b *browser) press(keys string)                     { b.t.Helper(); b.Press(keys) }
func (b *browser) markPage() (same func())               { b.t.Helper(); return b.Mark() }
func (b *browser) offline(off bool)                      { b.t.Helper(); b.Offline(off) }
func (b *browser) wantQuiet(where string)                { b.t.Helper(); b.WantQuiet(where) }

// allow removes an expected error from the browser's log: a page that was rejected on purpose.
func (b *browser) allow(part string) { b.Allow(part) }

// refused removes the browser's log message about a rejected form, which may arrive late.
func (b *browser) refused(status string) {
	b.t.Helper()
	kit.Until(b.t, "the browser logs "+status,
		func() bool { return b.Allow("the server responded with a status of "+status) > 0 })
}

// login logs in as the sandbox's user.
func (b *browser) login(email, password string) {
	b.t.Helper()
	b.open("/login")
	b.fill("#email", email)
	b.fill("#password", password)
	b.click("form button")
	b.until(`location.pathname === "/"`)
}

// appearance is how a page is shown: the width of the window in CSS pixels, the colour scheme, and the direction.
type appearance struct {
	width       int64
	dark        bool
	rightToLeft bool
}

// String returns a name such as 390-dark-rtl.
func (a appearance) String() string {
	name := fmt.Sprintf("%d-light", a.width)
	if a.dark {
		name = fmt.Sprintf("%d-dark", a.width)
	}
	if a.rightToLeft {
		name += "-rtl"
	}
	return name
}

// show applies an appearance to the current page.
func (b *browser) show(a appearance) {
	b.t.Helper()
	scheme, direction := "light", "ltr"
	if a.dark {
		scheme = "dark"
	}
	if a.rightToLeft {
		direction = "rtl"
	}
	b.Show(a.width, 900, scheme)
	b.do(chromedp.Evaluate(fmt.Sprintf(`document.documentElement.dir = %q`, direction), nil))
}

// shoot writes screenshots to the directory QUITTANCE_SCREENSHOTS: the whole page in every appearance with one of the
// directions, of which true is from right to left, and NAME-view.png with the visible part in the first direction.
// Without the variable it does nothing.
func (b *browser) shoot(name string, directions ...bool) {
	b.t.Helper()
	directory := os.Getenv("QUITTANCE_SCREENSHOTS")
	if directory == "" {
		return
	}
	write := func(suffix string, picture []byte) {
		b.t.Helper()
		kit.Must(b.t, os.WriteFile(filepath.Join(directory, name+"-"+suffix+".png"), picture, 0o600))
	}
	for _, width := range []int64{1440, 1280, 390} {
		for _, dark := range []bool{false, true} {
			for _, rightToLeft := range directions {
				a := appearance{width, dark, rightToLeft}
				b.show(a)
				var picture []byte
				b.do(chromedp.FullScreenshot(&picture, 100))
				write(a.String(), picture)
			}
		}
	}
	b.show(appearance{width: 1280, rightToLeft: directions[0]})
	var view []byte
	b.do(chromedp.CaptureScreenshot(&view))
	write("view", view)
}

// wantLegible fails the test for text below 12 pixels, for a page whose text is smaller than 14 pixels, and if the page
// does not use its own font.
func (b *browser) wantLegible(where string) {
	b.t.Helper()
	var found []string
	// Before its styles are there and laid out, a page waits for no font.
	b.do(chromedp.Evaluate(`new Promise(loaded => document.readyState === "complete" ? loaded() : addEventListener("load", loaded))
		.then(() => document.body.offsetWidth && document.fonts.ready).then(() => {
		const found = [], size = (element) => parseFloat(getComputedStyle(element).fontSize);
		if (size(document.body) < 14) found.push("the page has text of " + size(document.body) + " pixels");
		if (![...document.fonts].some(face => face.family.includes("Quittance Sans") && face.status === "loaded")) found.push("the font is not loaded");
		const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (texts.nextNode()) {
			const owner = texts.currentNode.parentElement;
			if (texts.currentNode.data.trim() && owner.getClientRects().length && size(owner) < 12) found.push(size(owner) + " pixels: " + texts.currentNode.data.trim());
		}
		return found;
	})`, &found, chromium.Awaited))
	for _, fault := range found {
		b.t.Errorf("%s: %s", where, fault)
	}
}

// axeLanguage are the rules of axe for a page in another language, whose sizes and directions may differ, but not its
// colours.
const axeLanguage = chromium.AxeAll + `, rules: {"color-contrast": {enabled: false}}`

// wantAccessible fails the test for every violation that axe finds on the page.
func (b *browser) wantAccessible(where string) {
	b.t.Helper()
	b.Axe(where, chromium.AxeAll)
}

// wantReachable fails the test for every link of a list whose middle is covered by something else than an open dialog,
// and for a page that is wider than the window.
func (b *browser) wantReachable(where string) {
	b.t.Helper()
	var covered []string
	var overflow float64
	b.do(chromedp.Evaluate(
		`document.querySelector(":popover-open") ? [] : [...document.querySelectorAll("a.row")].filter(link => {
			link.scrollIntoView({block: "center", behavior: "instant"});
			const box = link.getClientRects()[0];
			return !box || !link.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
		}).map(link => link.innerText)`, &covered),
		chromedp.Evaluate(`scrollTo(0, 0); document.documentElement.scrollWidth - document.documentElement.clientWidth`,
			&overflow))
	if len(covered) > 0 {
		b.t.Errorf("%s: a click does not reach %q", where, covered)
	}
	if overflow > 0 {
		b.t.Errorf("%s overflows the window by %v pixels", where, overflow)
	}
}

// inspect checks the current page and takes screenshots. Three appearances stand for all of them: each width, colour
// scheme and direction occurs in one. axe applies all rules to the first, and those that depend on colours and sizes to
// the second. Links have to be reachable at every width at which the page is laid out in another way. axe does not see
// the page from right to left, which is a layout without its language here: inspectArabic does that.
func (b *browser) inspect(name string) {
	b.t.Helper()
	for _, width := range []int64{1100, 1000, 780} {
		b.show(appearance{width: width})
		b.wantReachable(fmt.Sprintf("%s at %d pixels", name, width))
	}
	for _, a := range []appearance{{width: 1440}, {width: 390, dark: true}, {width: 1280, rightToLeft: true}} {
		b.show(a)
		where := name + " " + a.String()
		b.wantReachable(where)
		b.wantLegible(where)
		switch {
		case a.dark:
			b.Axe(where, chromium.AxeAppearance)
		case !a.rightToLeft:
			b.wantAccessible(where)
		}
		b.wantQuiet(where)
	}
	b.shoot(name, false, true)
	b.show(appearance{width: 1280})
}

// inspectArabic checks the current page, which is in Arabic, as inspect does, and that all its texts are in Arabic.
func (b *browser) inspectArabic(name string) {
	b.t.Helper()
	for _, width := range []int64{1440, 390} {
		b.show(appearance{width: width, rightToLeft: true})
		where := fmt.Sprintf("%s in Arabic at %d pixels", name, width)
		b.wantReachable(where)
		b.wantLegible(where)
		b.wantQuiet(where)
	}
	b.Axe(name+" in Arabic", axeLanguage)
	// the first has the names of an official list, and the second is for developers
	if name != "page-codes" && name != "page-styleguide" {
		b.wantArabic(name)
	}
	b.shoot(name+"-arabic", true)
	b.show(appearance{width: 1280, rightToLeft: true})
}

// wantArabic fails the test for visible English words in the texts of the page. Values that people or providers gave
// are in elements that isolate them; the words of providers in a sentence have underscores; names and codes of
// standards stay as they are.
func (b *browser) wantArabic(where string) {
	b.t.Helper()
	var english []string
	b.do(chromedp.Evaluate(`(() => {
  const names = /\b(Quittance|Webhooks?|Peppol|BIS|PINT|UBL|XML|PDF|CSV|XLSX|API|[Hh][Tt]{2}[Pp][Ss]?|JSON|UTC|TIN|TRN|IBAN|SHA-?256|HMAC|TLS|DNS|URL|English|Microsoft|Excel|UUID|Command|Ctrl|curl|localhost|Bearer|whsec|GTIN|AED|USD|EUR|ERP)\b/g;
  const found = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const at = walk.currentNode, parent = at.parentElement;
    if (parent.closest("bdi, code, pre, kbd, script, style, option, textarea, [lang=en], [dir=ltr], .company, .axe") || !parent.checkVisibility()) continue;
    if (/[A-Za-z]{3,}/.test(at.data.replace(names, "").replace(/[a-z]+_[a-z_]+/g, ""))) found.add(at.data.trim());
  }
  return [...found];
})()`, &english))
	if len(english) > 0 {
		b.t.Errorf("%s: English words: %q", where, english)
	}
}
