package chromium

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"quittance/test/kit"
)

// lookLimit bounds a look at a page for the message of a failure. A page that hangs does not answer.
const lookLimit = 10 * time.Second

var (
	errFalse  = errors.New("it is false")
	errHidden = errors.New("it is not visible, or covered")
	errMissed = errors.New("the page moved or replaced it before the press")
)

// note records an error of a page: a request to another host, a console message, or a violated policy.
func (p *Page) note(event any) {
	fault := ""
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		own := func(prefix string) bool { return strings.HasPrefix(e.Request.URL, prefix) }
		if !slices.ContainsFunc([]string{p.base + "/", "data:", "about:"}, own) {
			fault = "asked for " + e.Request.URL
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			fault = "console:"
			for _, argument := range e.Args {
				fault += " " + cmp.Or(string(argument.Value), argument.Description)
			}
		}
	case *runtime.EventExceptionThrown:
		fault = "exception: " + e.ExceptionDetails.Error()
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			fault = "log: " + e.Entry.Text + " " + e.Entry.URL
		}
	}
	if fault != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.faults = append(p.faults, fault)
	}
}

// Allow forgets the errors that have been recorded and contain a text, such as the log of a request that was rejected
// on purpose, and returns how many they were. "" is in every error.
func (p *Page) Allow(part string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.faults)
	p.faults = slices.DeleteFunc(p.faults, func(fault string) bool { return strings.Contains(fault, part) })
	return before - len(p.faults)
}

// WantQuiet fails the test for every error since the last call: requests to other hosts, exceptions, and errors and
// warnings of the log.
func (p *Page) WantQuiet(where string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fault := range p.faults {
		p.t.Errorf("%s: %s", where, fault)
	}
	p.faults = nil
}

// Open navigates to a path of the server.
func (p *Page) Open(path string) {
	p.t.Helper()
	p.Do(chromedp.Navigate(p.base + path))
}

// Location returns the address of the page, or what is wrong if there is none.
func (p *Page) Location() (at string) {
	if err := p.run(lookLimit, chromedp.Location(&at)); err != nil {
		return err.Error()
	}
	return at
}

// Text returns the visible text of the first element of a selector, "" if there is none, or what is wrong with the
// page.
func (p *Page) Text(selector string) (text string) {
	script := fmt.Sprintf(`(document.querySelector(%q) || {}).innerText || ""`, selector)
	if err := p.run(lookLimit, chromedp.Evaluate(script, &text)); err != nil {
		return err.Error()
	}
	return text
}

// eventually looks at the page until a condition holds, for at most [kit.Patience]. A page that navigates cannot be
// looked at for a moment.
func (p *Page) eventually(what string, condition func() error) {
	p.t.Helper()
	var dead error
	err := kit.Poll(func() error {
		err := condition()
		if err != nil && p.ctx.Err() != nil {
			dead = err
			return nil //nolint:nilerr // a browser that has ended answers nothing any more
		}
		return err
	})
	if err = errors.Join(dead, err); err != nil {
		p.fail(what, err)
	}
}

// Until waits until a JavaScript expression is true of a whole page. A page that still comes has its first elements and
// not yet its last.
func (p *Page) Until(expression string) {
	p.t.Helper()
	p.eventually(expression, func() error {
		var holds bool
		err := p.run(kit.Patience(), chromedp.Evaluate(`document.readyState !== "loading" && Boolean(`+expression+`)`,
			&holds))
		if err == nil && !holds {
			return errFalse
		}
		return err
	})
}

// aim is JavaScript that shows an element and returns its middle, or null if a press there would not reach the element.
// The page then ignores the next press unless it is on the element, and records in window.missed whether it was on
// another one, or never came.
const aim = `(() => {
	const wanted = document.querySelector(%q), done = new AbortController();
	window.forget?.();
	if (!wanted || document.readyState === "loading") return null;
	wanted.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
	const box = wanted.getClientRects()[0];
	const at = box && {x: box.x + box.width / 2, y: box.y + box.height / 2};
	if (!at || !wanted.checkVisibility({visibilityProperty: true}) || !wanted.contains(document.elementFromPoint(at.x, at.y))) return null;
	window.missed = true; // until a press arrives: a browser drops those before the first frame of a page
	window.forget = () => done.abort();
	for (const type of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]) addEventListener(type, (event) => {
		if (type === "pointerdown") window.missed = !wanted.contains(event.target);
		if (window.missed) { event.preventDefault(); event.stopImmediatePropagation(); }
		if (type === "click") done.abort();
	}, { capture: true, signal: done.signal });
	return at;
})()`

// point is a place in the window in CSS pixels.
type point struct{ X, Y float64 }

// aim waits until the middle of an element can be pressed, and returns it.
func (p *Page) aim(selector string) (at point) {
	p.t.Helper()
	p.eventually(selector, func() error {
		var found *point
		if err := p.run(kit.Patience(), chromedp.Evaluate(fmt.Sprintf(aim, selector), &found)); err != nil || found == nil {
			return errors.Join(err, errHidden)
		}
		at = *found
		return nil
	})
	return at
}

// Click clicks an element when it is visible. A page may replace or move the element after Click has found it and
// before it presses the button, and a page that has just come shows nothing yet. Then the press is ignored, and Click
// tries again. A click that the page loses
// between the press and the release is lost for users too.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.eventually("click "+selector, func() error {
		at := p.aim(selector)
		if err := p.run(kit.Patience(), mouse(input.MousePressed, at), mouse(input.MouseReleased, at)); err != nil {
			return err
		}
		var missed bool
		err := p.run(kit.Patience(), chromedp.Evaluate(`Boolean(window.missed)`, &missed))
		if gone := (*cdproto.Error)(nil); errors.As(err, &gone) { // the click opens another page
			return nil
		}
		if err == nil && missed {
			return errMissed
		}
		return err
	})
}

// mouse is an event of the left button.
func mouse(event input.MouseType, at point) *input.DispatchMouseEventParams {
	return input.DispatchMouseEvent(event, at.X, at.Y).WithButton(input.Left).WithClickCount(1)
}

// Hold presses the mouse on an element when it is visible, and returns a function that releases it there.
func (p *Page) Hold(selector string) (release func()) {
	p.t.Helper()
	at := p.aim(selector)
	p.Do(mouse(input.MousePressed, at))
	return func() {
		p.t.Helper()
		p.Do(mouse(input.MouseReleased, at))
	}
}

// Fill replaces the text of a field.
func (p *Page) Fill(selector, text string) {
	p.t.Helper()
	// SendKeys would read attributes of the node while a goroutine of chromedp changes them.
	p.Until(fmt.Sprintf(`document.querySelector(%q)`, selector))
	empty := fmt.Sprintf(`{ const field = document.querySelector(%q); field.focus(); field.value = "" }`, selector)
	p.Do(chromedp.Evaluate(empty, nil), chromedp.KeyEvent(text))
}

// TabTo presses the tabulator key until an element has the focus.
func (p *Page) TabTo(selector string) {
	p.t.Helper()
	for range 200 {
		var there bool
		p.Do(chromedp.KeyEvent(kb.Tab), chromedp.Evaluate(fmt.Sprintf(`document.activeElement.matches(%q)`, selector),
			&there))
		if there {
			return
		}
	}
	p.t.Fatalf("%s: the tabulator key does not reach %s", p.Location(), selector)
}

// Press presses a key, or types a text, at the focus.
func (p *Page) Press(keys string) {
	p.t.Helper()
	p.Do(chromedp.KeyEvent(keys))
}

// Mark marks the current page and returns a check that it was not reloaded.
func (p *Page) Mark() (same func()) {
	p.t.Helper()
	p.Do(chromedp.Evaluate(`window.stayed = true`, nil))
	return func() {
		p.t.Helper()
		var stayed bool
		p.Do(chromedp.Evaluate(`window.stayed === true`, &stayed))
		if !stayed {
			p.t.Errorf("%s was reloaded", p.Location())
		}
	}
}

// Show applies the size of a window and a colour scheme, light or dark, to the page. Below 600 CSS pixels of width it
// is a phone.
func (p *Page) Show(width, height int64, scheme string) {
	p.t.Helper()
	p.Do(emulation.SetDeviceMetricsOverride(width, height, 1, width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// Offline disconnects the page from the network, or connects it again.
func (p *Page) Offline(off bool) {
	p.t.Helper()
	p.Do(network.OverrideNetworkState(off, 0, -1, -1))
}

// SaveDownloads makes the page, and those that it opens, save downloads in a folder.
func (p *Page) SaveDownloads(folder string) {
	p.t.Helper()
	kit.Must(p.t, p.owner.do(browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).
		WithBrowserContextID(p.profile).WithDownloadPath(folder).Do))
}

// Awaited makes an evaluation wait for its promise.
func Awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
