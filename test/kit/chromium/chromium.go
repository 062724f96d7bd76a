// Package chromium has a real browser for tests.
//
// The tests of a package share one Chromium, because its start costs more processor time than most tests. The first
// test that asks for a [Page] starts it, and [Run] ends it. Each page has a browser context of its own, which is like a
// profile: pages of different tests share no cookies, storage, cache, permissions or downloads. What the DevTools
// protocol emulates, such as the size of the window, the time zone, a lost network or an authenticator, belongs to one
// page; and every page behaves as if it had the focus. When Chromium ends too early, every test that uses it fails and
// says so; nothing starts it again, because that would hide a crash.
//
// Start reading at [New].
package chromium

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"quittance/test/kit"
)

var (
	errEnded   = errors.New("the Chromium that all tests of the package share has ended")
	errCrashed = errors.New("the page has crashed")
	errNoRun   = errors.New("nothing would end Chromium: let TestMain call chromium.Run")
)

// startAttempts is how often Chromium is started. On a busy machine it sometimes crashes before it listens.
const startAttempts = 3

// process is a running Chromium.
type process struct {
	ctx     context.Context //nolint:containedctx // chromedp keeps its browser in it
	free    func()
	profile string
}

// shared is the Chromium of this test process, from the time at which [Run] has made it possible.
var shared struct { //nolint:gochecknoglobals // tests have nothing else in common
	mu      sync.Mutex
	running bool // inside Run
	process *process
	err     error // of the last start
}

// Run calls the tests of a package, ends the Chromium that they have shared, and returns the exit code, for TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(chromium.Run(m.Run)) }
func Run(tests func() int) int {
	shared.mu.Lock()
	shared.running = true
	shared.mu.Unlock()
	code := tests()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.process == nil {
		return code
	}
	if err := shared.process.end(); err != nil {
		fmt.Fprintln(os.Stderr, "chromium:", err)
		return max(code, 1)
	}
	return code
}

// sharedProcess returns the Chromium of all tests, which it starts for the first one.
func sharedProcess() (*process, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.running {
		return nil, errNoRun
	}
	if shared.process != nil || shared.err != nil {
		return shared.process, shared.err
	}
	for range startAttempts {
		if shared.process, shared.err = start(); shared.err == nil {
			break
		}
	}
	return shared.process, shared.err
}

// start starts a Chromium with a new profile. It ends with this process, even if [Run] cannot end it.
func start() (*process, error) {
	profile, err := os.MkdirTemp("", "quittance-chromium-")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(profile), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.WSURLReadTimeout(kit.Patience()))
	allocated, free := chromedp.NewExecAllocator(context.Background(), options...)
	// A Chromium that is newer than the library sends events that the library does not know and would log.
	ctx, _ := chromedp.NewContext(allocated, chromedp.WithErrorf(func(string, ...any) {}),
		chromedp.WithBrowserOption(chromedp.WithDialTimeout(kit.Patience())))
	p := &process{ctx: ctx, free: free, profile: profile}
	if err := chromedp.Run(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start Chromium: %w", err), p.end())
	}
	return p, nil
}

// end ends Chromium and removes its profile.
func (p *process) end() error {
	limited, release := context.WithTimeout(p.ctx, kit.Patience())
	defer release()
	err := chromedp.Cancel(limited)
	p.free()
	// Its helper processes stop a moment later and write until then.
	return errors.Join(err, kit.Poll(func() error { return os.RemoveAll(p.profile) }))
}

// do carries out a command that concerns the whole browser.
func (p *process) do(command func(context.Context) error) error {
	limited, release := context.WithTimeout(p.ctx, kit.Patience())
	defer release()
	return command(cdp.WithExecutor(limited, chromedp.FromContext(p.ctx).Browser))
}

// Page is a page of Chromium in a browser context of its own. Its methods end the test when they cannot do what they
// say, and are not for concurrent use.
type Page struct {
	t       testing.TB
	owner   *process
	profile cdp.BrowserContextID
	ctx     context.Context //nolint:containedctx // chromedp keeps its page in it
	base    string

	mu     sync.Mutex
	faults []string
}

// New opens an empty page for a server with the address base, such as http://127.0.0.1:8080. The page is in Dubai, and
// closed when the test ends.
func New(t testing.TB, base string) *Page {
	t.Helper()
	owner, err := sharedProcess()
	kit.Must(t, err)
	return newPage(t, owner, base)
}

// newPage is [New] in a process.
func newPage(t testing.TB, owner *process, base string) *Page {
	t.Helper()
	p := &Page{t: t, owner: owner, base: base}
	var id target.ID
	if err := owner.do(func(ctx context.Context) (err error) {
		if p.profile, err = target.CreateBrowserContext().Do(ctx); err != nil {
			return err
		}
		id, err = target.CreateTarget("about:blank").WithBrowserContextID(p.profile).WithNewWindow(true).Do(ctx)
		return err
	}); err != nil {
		t.Fatalf("open a page: %v", p.cause(err))
	}
	inner, crashed := context.WithCancelCause(owner.ctx)
	ctx, leave := chromedp.NewContext(inner, chromedp.WithTargetID(id))
	p.ctx = ctx
	t.Cleanup(func() {
		// Before chromedp leaves the page: the messages of a page that it has left, but that is still there, block all
		// others.
		if err := owner.do(target.DisposeBrowserContext(p.profile).Do); err != nil && owner.ctx.Err() == nil {
			t.Errorf("close the page: %v", err)
		}
		leave()
		crashed(nil)
	})
	chromedp.ListenTarget(ctx, func(event any) {
		if _, ok := event.(*inspector.EventTargetCrashed); ok {
			crashed(errCrashed)
		}
		p.note(event)
	})
	if err := chromedp.Run(ctx); err != nil { // without a limit, which would be that of the page
		t.Fatalf("open a page: %v", p.cause(err))
	}
	p.Do(network.Enable(), runtime.Enable(), log.Enable(),
		emulation.SetFocusEmulationEnabled(true), emulation.SetTimezoneOverride("Asia/Dubai"))
	return p
}

// cause returns why Chromium or the page has ended, or else the error.
func (p *Page) cause(err error) error {
	switch {
	case p.owner.ctx.Err() != nil:
		return errEnded
	case p.ctx != nil && p.ctx.Err() != nil:
		return context.Cause(p.ctx)
	}
	return err
}

// run carries out actions within a time.
func (p *Page) run(limit time.Duration, actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

// fail ends the test with an error, and with what the page shows.
func (p *Page) fail(doing string, err error) {
	p.t.Helper()
	p.t.Fatalf("%s at %s: %v\n%s", doing, p.Location(), p.cause(err), p.Text("body"))
}

// Do carries out actions, for at most [kit.Patience].
func (p *Page) Do(actions ...chromedp.Action) {
	p.t.Helper()
	if err := p.run(kit.Patience(), actions...); err != nil {
		p.fail("browser", err)
	}
}
