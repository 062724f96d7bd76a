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

// until waits until a JavaScript expression is true.
func (b *browser) until(expression string) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var holds bool
		err := chromedp.Run(b.ctx, chromedp.Evaluate(`Boolean(`+expression+`)`, &holds))
		if err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s never satisfied %s: %v\n%s", b.location(), expression, err, b.text("body"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// click clicks an element when it is visible. A live page may replace the element after chromedp has found it and before it
// presses the button. Chromium reports that as a server error, and click searches again.
func (b *browser) click(selector string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		err := chromedp.Run(ctx, chromedp.Click(selector, chromedp.ByQuery, chromedp.NodeVisible))
		if err == nil {
			return
		}
		if replaced := (*cdproto.Error)(nil); !errors.As(err, &replaced) || replaced.Code != serverError {
			b.t.Fatalf("click %s at %s: %v\n%s", selector, b.location(), err, b.text("body"))
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
	b.until(`location.pathname === "/invoices"`)
}

// size sets the size of the window in CSS pixels and the colour scheme.
func (b *browser) size(width, height int64, dark bool) {
	b.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.do(emulation.SetDeviceMetricsOverride(width, height, 1, width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// shoot writes screenshots to the directory QUITTANCE_SCREENSHOTS: the whole page at both widths and in both colour
// schemes, and NAME-view.png with the visible part. Without the variable it does nothing.
func (b *browser) shoot(name string) {
	b.t.Helper()
	directory := os.Getenv("QUITTANCE_SCREENSHOTS")
	if directory == "" {
		return
	}
	for _, look := range []struct {
		suffix string
		width  int64
		dark   bool
	}{{"1280", 1280, false}, {"1280-dark", 1280, true}, {"900", 900, false}, {"390", 390, false}, {"390-dark", 390, true}} {
		b.size(look.width, 800, look.dark)
		var picture []byte
		b.do(chromedp.FullScreenshot(&picture, 100))
		if err := os.WriteFile(filepath.Join(directory, name+"-"+look.suffix+".png"), picture, 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	b.size(1280, 860, false)
	var view []byte
	b.do(chromedp.CaptureScreenshot(&view))
	if err := os.WriteFile(filepath.Join(directory, name+"-view.png"), view, 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.size(1280, 800, false)
}

// wantAccessible fails the test for every violation that axe finds on the page.
func (b *browser) wantAccessible(where string) {
	b.t.Helper()
	source, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		b.t.Fatal(err)
	}
	var found []string
	b.do(chromedp.Evaluate(string(source)+";0", nil),
		chromedp.Evaluate(`axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
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

// inspect checks the page at several widths and in both colour schemes, and takes screenshots.
func (b *browser) inspect(name string) {
	b.t.Helper()
	for _, width := range []int64{1280, 1100, 1000, 780, 390} {
		b.size(width, 800, false)
		b.wantReachable(fmt.Sprintf("%s at %d pixels", name, width))
	}
	for _, width := range []int64{1280, 390} {
		for _, dark := range []bool{false, true} {
			b.size(width, 800, dark)
			where := fmt.Sprintf("%s at %d pixels, dark %v", name, width, dark)
			b.wantAccessible(where)
			b.wantQuiet(where)
		}
	}
	b.size(1280, 800, false)
	b.shoot(name)
}

// awaited makes an evaluation wait for its promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
