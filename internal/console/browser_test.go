package console_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is how long a test waits for a page. A busy machine may take long.
const patience = 90 * time.Second

// serverError is the code of every failed command of the Chrome DevTools protocol.
const serverError = -32000

// browser is one tab of a real Chromium with its own profile. It records errors of the page and requests to other hosts for
// [browser.wantQuiet].
type browser struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // chromedp keeps its browser in it
	base string

	mu     sync.Mutex
	faults []string
}

// newBrowser starts a Chromium for a server. It stops when the test ends.
func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	profile, err := os.MkdirTemp("", "quittance-chromium-") //nolint:usetesting // what is removed below, with patience
	must(t, err)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile),
		chromedp.Flag("disable-quic", true), chromedp.Flag("no-first-run", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.WSURLReadTimeout(patience))
	allocated, free := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	// A Chromium that is newer than the library sends events that the library does not know and would log.
	ctx, leave := chromedp.NewContext(allocated, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("close Chromium: %v", err)
		}
		leave()
		free()
		// Its helper processes stop a moment later and write until then.
		for deadline := time.Now().Add(patience); os.RemoveAll(profile) != nil && time.Now().Before(deadline); {
			time.Sleep(50 * time.Millisecond)
		}
	})
	b := &browser{t: t, ctx: ctx, base: base}
	chromedp.ListenTarget(ctx, b.note)
	b.do(network.Enable(), runtime.Enable(), log.Enable(), emulation.SetTimezoneOverride("Asia/Dubai"))
	return b
}

// note records an error of a page: a request to another host, a console message, or a violated policy.
func (b *browser) note(event any) {
	fault := ""
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, b.base+"/") && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "about:") {
			fault = "asked for " + u
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			fault = fmt.Sprintf("console: %v", e.Args)
		}
	case *runtime.EventExceptionThrown:
		fault = "exception: " + e.ExceptionDetails.Error()
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			fault = "log: " + e.Entry.Text + " " + e.Entry.URL
		}
	}
	if fault != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.faults = append(b.faults, fault)
	}
}

// wantQuiet fails the test for every error since the last call.
func (b *browser) wantQuiet(where string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fault := range b.faults {
		b.t.Errorf("%s: %s", where, fault)
	}
	b.faults = nil
}

// do runs actions with a time-out.
func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	if chromedp.FromContext(b.ctx).Target == nil { // the first actions start the browser, which must outlive them
		if err := chromedp.Run(b.ctx); err != nil {
			b.t.Fatalf("start Chromium: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.t.Fatalf("browser at %s: %v\n%s", b.location(), err, b.text("body"))
	}
}

// open navigates to a path of the server.
func (b *browser) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + path))
}

func (b *browser) location() string {
	var at string
	if err := chromedp.Run(b.ctx, chromedp.Location(&at)); err != nil {
		return err.Error()
	}
	return at
}

// text returns the text of an element.
func (b *browser) text(selector string) string {
	var text string
	script := fmt.Sprintf(`(document.querySelector(%q) || {}).innerText || ""`, selector)
	if err := chromedp.Run(b.ctx, chromedp.Evaluate(script, &text)); err != nil {
		return err.Error()
	}
	return text
}

// until waits until a JavaScript expression is true of a whole page. A page that still comes has its first elements and not yet its last.
func (b *browser) until(expression string) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var holds bool
		err := chromedp.Run(b.ctx, chromedp.Evaluate(`document.readyState !== "loading" && Boolean(`+expression+`)`, &holds))
		if err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s never satisfied %s: %v\n%s", b.location(), expression, err, b.text("body"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// pressOn is JavaScript that makes the page ignore the next press unless it is on the element. It records in window.missed whether it was
// on another one.
const pressOn = `{
	window.forget?.();
	const wanted = document.querySelector(%q), done = new AbortController();
	window.missed = false;
	window.forget = () => done.abort();
	for (const type of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]) addEventListener(type, (event) => {
		if (type === "pointerdown") window.missed = !wanted?.contains(event.target);
		if (window.missed) { event.preventDefault(); event.stopImmediatePropagation(); }
		if (type === "click") done.abort();
	}, { capture: true, signal: done.signal });
}`

// click clicks an element when it is visible. A page may replace or move the element after chromedp has found it and before it presses the
// button. Chromium reports the first as a server error, and the press is on another element after the second: click then tries again.
func (b *browser) click(selector string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	failed := func(err error) bool {
		if replaced := (*cdproto.Error)(nil); err != nil && (!errors.As(err, &replaced) || replaced.Code != serverError) {
			b.t.Fatalf("click %s at %s: %v\n%s", selector, b.location(), err, b.text("body"))
		}
		return err != nil
	}
	for {
		if failed(chromedp.Run(ctx, chromedp.WaitVisible(selector, chromedp.ByQuery), chromedp.Evaluate(fmt.Sprintf(pressOn, selector), nil),
			chromedp.Click(selector, chromedp.ByQuery, chromedp.NodeVisible))) {
			continue
		}
		missed := false // stays so if the click has opened another page
		if failed(chromedp.Run(ctx, chromedp.Evaluate(`Boolean(window.missed)`, &missed))) || !missed {
			return
		}
	}
}

// hold presses the mouse on an element when it is visible, and returns a function that releases it there.
func (b *browser) hold(selector string) (release func()) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.until(fmt.Sprintf(`document.querySelector(%q)`, selector))
	b.do(chromedp.Evaluate(fmt.Sprintf(`{ const box = document.querySelector(%q).getBoundingClientRect();
		({x: box.x + box.width / 2, y: box.y + box.height / 2}) }`, selector), &at))
	mouse := func(event input.MouseType) {
		b.t.Helper()
		b.do(input.DispatchMouseEvent(event, at.X, at.Y).WithButton(input.Left).WithClickCount(1))
	}
	mouse(input.MousePressed)
	return func() {
		b.t.Helper()
		mouse(input.MouseReleased)
	}
}

// fill replaces the text of a field.
func (b *browser) fill(selector, text string) {
	b.t.Helper()
	// SendKeys would read attributes of the node while a goroutine of chromedp changes them.
	b.until(fmt.Sprintf(`document.querySelector(%q)`, selector))
	b.do(chromedp.Evaluate(fmt.Sprintf(`{ const field = document.querySelector(%q); field.focus(); field.value = "" }`, selector), nil), chromedp.KeyEvent(text))
}

// tabTo presses the tabulator key until an element has the focus.
func (b *browser) tabTo(selector string) {
	b.t.Helper()
	for range 200 {
		var there bool
		b.do(chromedp.KeyEvent(kb.Tab), chromedp.Evaluate(fmt.Sprintf(`document.activeElement.matches(%q)`, selector), &there))
		if there {
			return
		}
	}
	b.t.Fatalf("%s: the tabulator key does not reach %s", b.location(), selector)
}

// press presses a key, or types a text, at the focus.
func (b *browser) press(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// markPage marks the current page and returns a check that it was not reloaded.
func (b *browser) markPage() (same func()) {
	b.t.Helper()
	b.do(chromedp.Evaluate(`window.stayed = true`, nil))
	return func() {
		b.t.Helper()
		var stayed bool
		b.do(chromedp.Evaluate(`window.stayed === true`, &stayed))
		if !stayed {
			b.t.Errorf("%s was reloaded", b.location())
		}
	}
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
	b.do(emulation.SetDeviceMetricsOverride(a.width, 900, 1, a.width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.Evaluate(fmt.Sprintf(`document.documentElement.dir = %q`, direction), nil))
}

// offline disconnects the browser from the network, or connects it again.
func (b *browser) offline(off bool) {
	b.t.Helper()
	b.do(network.OverrideNetworkState(off, 0, -1, -1))
}

// shoot writes screenshots to the directory QUITTANCE_SCREENSHOTS: the whole page in every appearance with one of the directions, of which true
// is from right to left, and NAME-view.png with the visible part in the first direction. Without the variable it does nothing.
func (b *browser) shoot(name string, directions ...bool) {
	b.t.Helper()
	directory := os.Getenv("QUITTANCE_SCREENSHOTS")
	if directory == "" {
		return
	}
	write := func(suffix string, picture []byte) {
		b.t.Helper()
		must(b.t, os.WriteFile(filepath.Join(directory, name+"-"+suffix+".png"), picture, 0o600))
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

// wantLegible fails the test for text below 12 pixels, for a page whose text is smaller than 14 pixels, and if the page does not use
// its own font.
func (b *browser) wantLegible(where string) {
	b.t.Helper()
	var found []string
	b.do(chromedp.Evaluate(`document.fonts.ready.then(() => {
		const found = [], size = (element) => parseFloat(getComputedStyle(element).fontSize);
		if (size(document.body) < 14) found.push("the page has text of " + size(document.body) + " pixels");
		if (![...document.fonts].some(face => face.family.includes("Quittance Sans") && face.status === "loaded")) found.push("the font is not loaded");
		const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (texts.nextNode()) {
			const owner = texts.currentNode.parentElement;
			if (texts.currentNode.data.trim() && owner.getClientRects().length && size(owner) < 12) found.push(size(owner) + " pixels: " + texts.currentNode.data.trim());
		}
		return found;
	})`, &found, awaited))
	for _, fault := range found {
		b.t.Errorf("%s: %s", where, fault)
	}
}

// wantAccessible fails the test for every violation that axe finds on the page.
func (b *browser) wantAccessible(where string) {
	b.t.Helper()
	var loaded bool
	b.do(chromedp.Evaluate(`typeof axe === "object"`, &loaded))
	if !loaded { // a page keeps it in every appearance
		source, err := os.ReadFile("testdata/axe.min.js")
		must(b.t, err)
		b.do(chromedp.Evaluate(string(source)+";0", nil))
	}
	var found []string
	b.do(chromedp.Evaluate(`axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
			.then(r => r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.map(n => n.target.join(" ") + " " + n.failureSummary).join("; ")))`,
		&found, awaited))
	for _, violation := range found {
		b.t.Errorf("%s: %s", where, violation)
	}
}

// wantReachable fails the test for every link of a list whose middle is covered by something else than an open dialog, and for
// a page that is wider than the window.
func (b *browser) wantReachable(where string) {
	b.t.Helper()
	var covered []string
	var overflow float64
	b.do(chromedp.Evaluate(`document.querySelector(":popover-open") ? [] : [...document.querySelectorAll("a.row")].filter(link => {
			link.scrollIntoView({block: "center", behavior: "instant"});
			const box = link.getClientRects()[0];
			return !box || !link.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
		}).map(link => link.innerText)`, &covered),
		chromedp.Evaluate(`scrollTo(0, 0); document.documentElement.scrollWidth - document.documentElement.clientWidth`, &overflow))
	if len(covered) > 0 {
		b.t.Errorf("%s: a click does not reach %q", where, covered)
	}
	if overflow > 0 {
		b.t.Errorf("%s overflows the window by %v pixels", where, overflow)
	}
}

// inspect checks the current page and takes screenshots. Three appearances stand for all of them: each width, colour scheme and
// direction occurs in one. Links have to be reachable at every width at which the page is laid out in another way. axe does not see the page
// from right to left, which is a layout without its language here: inspectArabic does that.
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
		if !a.rightToLeft {
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
	b.wantAccessible(name + " in Arabic")
	if name != "page-codes" && name != "page-styleguide" { // the first has the names of an official list, and the second is for developers
		b.wantArabic(name)
	}
	b.shoot(name+"-arabic", true)
	b.show(appearance{width: 1280, rightToLeft: true})
}

// wantArabic fails the test for visible English words in the texts of the page. Values that people or providers gave are in elements that
// isolate them; the words of providers in a sentence have underscores; names and codes of standards stay as they are.
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

// awaited makes an evaluation wait for its promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
