package chromium

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"quittance/test/kit"
)

func TestMain(m *testing.M) { os.Exit(Run(m.Run)) }

// serve serves a page with a field, a download, and a button that counts its presses. The page replaces and moves the
// button all the time, but not between a press and its release, where a user would lose the click too.
func serve(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<!doctype html><meta name="viewport" content="width=device-width"><title>A page</title>
			<input id="field"><a href="/file" id="file">file</a><div id="swapped"></div><script>
			let pressed = false;
			for (const type of ["pointerdown", "pointerup"]) document.addEventListener(type, () => { pressed = type === "pointerdown"; });
			window.presses = 0; window.wrong = 0;
			setInterval(() => {
				if (pressed) return;
				swapped.style.marginLeft = Math.random() * 200 + "px";
				swapped.innerHTML = "<button id=press>press</button><button id=other>other</button>";
				press.onclick = () => window.presses++;
				other.onclick = () => window.wrong++;
			}, 5);
		</script>`)
	})
	mux.HandleFunc("GET /file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="saved.txt"`)
		fmt.Fprint(w, "saved")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// TestPagesAreIsolated checks that two pages of the same server share no cookie and no storage, and that what is
// emulated in one, or saved by it, does not reach the other. Both have the focus.
func TestPagesAreIsolated(t *testing.T) {
	t.Parallel()
	base := serve(t)
	one, other := New(t, base), New(t, base)
	for _, p := range []*Page{one, other} {
		p.Open("/")
	}
	folders := map[*Page]string{one: t.TempDir(), other: t.TempDir()}
	one.Do(chromedp.Evaluate(`document.cookie = "mine=1"; localStorage.setItem("mine", "1")`, nil),
		emulation.SetTimezoneOverride("Asia/Tokyo"))
	one.Show(390, 700, "dark")
	one.Offline(true)
	const state = `[document.cookie, localStorage.getItem("mine"), innerWidth, matchMedia("(prefers-color-scheme: dark)").matches,
		navigator.onLine, Intl.DateTimeFormat().resolvedOptions().timeZone, document.hasFocus()].join(" ")`
	one.Until(state + ` === "mine=1 1 390 true false Asia/Tokyo true"`)
	other.Show(1280, 700, "light")
	other.Until(state + ` === "  1280 false true Asia/Dubai true"`)
	one.Fill("#field", "one")
	other.Fill("#field", "other")
	one.Until(`field.value === "one"`)
	other.Until(`field.value === "other"`)
	one.Offline(false)
	for _, p := range []*Page{one, other} {
		p.SaveDownloads(folders[p])
	}
	other.Click("#file")
	kit.Until(t, "the download is saved", func() bool {
		text, err := os.ReadFile(filepath.Join(folders[other], "saved.txt"))
		return err == nil && string(text) == "saved"
	})
	if found, err := os.ReadDir(folders[one]); err != nil || len(found) > 0 {
		t.Errorf("the other page saved %v, %v", found, err)
	}
}

// TestClick checks that every click reaches an element that is replaced and moved all the time, exactly once, and that
// no click reaches its neighbour.
func TestClick(t *testing.T) {
	t.Parallel()
	p := New(t, serve(t))
	p.Open("/")
	for n := range 20 {
		p.Click("#press")
		p.Until(fmt.Sprintf(`window.presses === %d && window.wrong === 0`, n+1))
	}
	p.WantQuiet("the page")
}

// TestFaults checks that an exception, a warning and a request to another host are recorded, and can be allowed.
func TestFaults(t *testing.T) {
	t.Parallel()
	p := New(t, serve(t))
	p.Open("/")
	for _, script := range []string{`setTimeout(() => { throw new Error("broken") })`, `console.warn("odd")`,
		`fetch("http://127.0.0.1:1/").catch(() => 0)`} {
		p.Do(chromedp.Evaluate(script, nil))
	}
	for _, fault := range []string{"broken", "odd", "asked for http://127.0.0.1:1/"} {
		kit.Until(t, "a fault with "+fault, func() bool { return p.Allow(fault) == 1 })
	}
}

// TestEnds checks what tests are told when a page crashes, which other pages survive, and when the whole browser has
// ended.
func TestEnds(t *testing.T) {
	t.Parallel()
	owner, err := start()
	kit.Must(t, err)
	base := serve(t)
	crashing, other := newPage(t, owner, base), newPage(t, owner, base)
	if err := crashing.run(kit.Patience(), page.Crash()); !errors.Is(crashing.cause(err), errCrashed) {
		t.Errorf("after a crash of the page: %v", crashing.cause(err))
	}
	other.Open("/")
	kit.Must(t, chromedp.FromContext(owner.ctx).Browser.Process().Kill())
	kit.Until(t, "the loss is noticed", func() bool { return owner.ctx.Err() != nil })
	if err := other.run(kit.Patience(), chromedp.Navigate(base)); !errors.Is(other.cause(err), errEnded) {
		t.Errorf("after the end of Chromium: %v", other.cause(err))
	}
	if err := owner.end(); err == nil {
		t.Error("the early end of Chromium is not reported")
	}
	if _, err := os.Stat(owner.profile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the profile is left: %v", err)
	}
}
