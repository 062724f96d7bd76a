package site_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"golang.org/x/net/html"

	"quittance/test/kit/chromium"
)

// manyLines returns the form of a draft with a number of lines, each of 1,000.00 without tax.
func manyLines(number string, lines int) url.Values {
	form := complete(number)
	form.Set("total_amount", "")
	for name := range form {
		if strings.HasPrefix(name, "items.") {
			form[name] = slices.Repeat(form[name], lines)
		}
	}
	return form
}

// parts returns the identifiers of the elements of a response to a form.
func parts(t testing.TB, body string) (ids []string) {
	t.Helper()
	elements(parse(t, body), func(node *html.Node) {
		if parent := node.Parent; parent != nil && parent.Data == "body" {
			ids = append(ids, attribute(node, "id"))
		}
	})
	return ids
}

// TestOnlyChangedPartsTravel checks that the response to a change of a form has the parts of the page that the change
// concerns, whatever the number of lines, and everything for a page that says nothing about what it shows.
func TestOnlyChangedPartsTravel(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	id := v.created(manyLines("INV-1", 120))
	edit := "/invoices/" + id + "/edit"
	form := controls(t, v.read(edit).body)
	answer := func(path string, form url.Values) response {
		t.Helper()
		got := v.do(http.MethodPost, path, form.Encode(), "HX-Request", "true")
		if got.status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, got.status, got.body)
		}
		return got
	}
	want := func(what, body string, wanted, unwanted []string) {
		t.Helper()
		got := parts(t, body)
		for _, id := range wanted {
			if !slices.Contains(got, id) {
				t.Errorf("%s: no part %s in %q", what, id, got)
			}
		}
		for _, id := range unwanted {
			if slices.Contains(got, id) {
				t.Errorf("%s: part %s has not changed", what, id)
			}
		}
	}
	want("nothing", answer("/invoices/check", form).body, []string{"sums"}, []string{"net-0", "n-invoice_number"})
	form["items.quantity"][110] = "2"
	got := answer("/invoices/check", form)
	want("a quantity", got.body, []string{"sums", "net-110", "n-items-110-quantity", "announcer"},
		[]string{"net-109", "n-items-111-quantity"})
	form.Set("shown", controls(t, got.body).Get("shown"))
	want("the same again", answer("/invoices/check", form).body, []string{"sums"}, []string{"net-110"})
	form["items.quantity"][110] = "many"
	if notes := notesAt(t, answer("/invoices/check", form).body); notes["items-110-quantity"] == "" {
		t.Errorf("a fault: %v", notes)
	}
	form["items.quantity"][110] = "10"
	unknown := maps.Clone(form)
	unknown.Del("shown")
	want("nothing shown", answer("/invoices/check", unknown).body, []string{"net-0", "net-119", "n-due_date"}, nil)

	press := func(button string) string {
		t.Helper()
		pressed := maps.Clone(form)
		pressed.Set("do", button)
		pressed.Set("shown", controls(t, answer("/invoices/check", form).body).Get("shown"))
		return answer(edit, pressed).body
	}
	want("add", press("add"), []string{"line-119", "line-120", "sums", "draft-after", "announcer"},
		[]string{"line-0", "line-118", "draft", "codes-units"})
	form["items.name"][5] = "Another"
	want("up", press("up:5"), []string{"line-4", "line-5"}, []string{"line-3", "line-6"})
	removed := press("remove:119")
	want("remove", removed, []string{"line-118", "line-119"}, []string{"line-117"})
	if !strings.Contains(removed, `<li id="line-119" data-gone></li>`) {
		t.Error("the page keeps a removed line")
	}
}

// longTasks is JavaScript that adds up the durations of the tasks that block the page for over 50 ms, in
// window.blocked, in milliseconds.
const longTasks = `window.blocked = 0;
	window.watched ??= new PerformanceObserver((list) => {
		for (const task of list.getEntries()) window.blocked += task.duration;
	});
	window.watched.observe({ entryTypes: ["longtask"] });`

// smooth is how long a change may block a page, in milliseconds.
const smooth = 200

// wantSmooth fails the test unless some change, which is repeated with the numbers from 1 until done, a JavaScript
// expression with the number, holds, blocks the page for less than 200 ms: the sum of its long tasks or, on a machine
// that is busy with other things, the time that the processor has worked on its scripts, styles and layout.
func (b *browser) wantSmooth(what string, act func(n int), done func(n int) string) {
	b.t.Helper()
	worked := func() map[string]float64 {
		b.t.Helper()
		times := map[string]float64{}
		b.do(chromedp.ActionFunc(func(ctx context.Context) error {
			metrics, err := performance.GetMetrics().Do(ctx)
			for _, m := range metrics {
				times[m.Name] = m.Value * 1000
			}
			return err
		}))
		return times
	}
	b.do(performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))
	var report []string
	for n := 1; n <= 5; n++ {
		b.do(chromedp.Evaluate(longTasks, nil))
		before := worked()
		act(n)
		b.until(done(n))
		var blocked float64
		b.do(chromedp.Evaluate(`new Promise((resolve) => setTimeout(() => resolve(window.blocked), 100))`, &blocked,
			chromium.Awaited))
		after := worked()
		took := func(name string) float64 { return after[name] - before[name] }
		script, style, layout := took("ScriptDuration"), took("RecalcStyleDuration"), took("LayoutDuration")
		report = append(report,
			fmt.Sprintf("%.0f ms in long tasks; script %.0f ms, style %.0f ms and layout %.0f ms of the processor",
				blocked, script, style, layout))
		if min(blocked, script+style+layout) < smooth {
			b.t.Logf("%s: %s", what, report[len(report)-1])
			return
		}
	}
	b.t.Errorf("%s blocks the page: %s", what, strings.Join(report, "; "))
}

// TestLongDraftEditsAsAShortOne checks that a change of a form of 300 lines does not block the page: of a cell, also
// one that makes and corrects a fault, and of the lines.
func TestLongDraftEditsAsAShortOne(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, time.Millisecond)
		v := s.loggedIn(t)
		form := manyLines("INV-1", 300)
		id := v.created(form)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/invoices/" + id + "/edit")
		b.until(`document.querySelector("#f-items-299-quantity")`)
		b.wantSmooth("a quantity", func(n int) { b.fill("#f-items-150-quantity", fmt.Sprint(n)) },
			func(n int) string {
				return fmt.Sprintf(`document.querySelector("#net-150").textContent.endsWith(" %d00.00")`, n)
			})
		b.wantSmooth("a fault", func(n int) { b.fill("#f-items-150-quantity", fmt.Sprint("many", n)) },
			func(int) string { return `document.querySelector("#f-items-150-quantity[aria-invalid=true]")` })
		b.until(`document.querySelector("#n-items-150-quantity .fault")`)
		b.fill("#f-items-150-quantity", "10")
		b.until(`!document.querySelector("#f-items-150-quantity[aria-invalid]")`)
		b.until(`document.querySelector("#announcer").textContent.includes("315,000.00")`)
		button := func(value string) {
			b.do(chromedp.Evaluate(fmt.Sprintf(`document.querySelector("button[value='%s']").click()`, value), nil))
		}
		focused := func(selector string) string { return fmt.Sprintf(`document.activeElement.matches("%s")`, selector) }
		lines := 300
		b.wantSmooth("a new line", func(int) { button("add"); lines++ },
			func(n int) string { return focused(fmt.Sprintf("#f-items-%d-name", 299+n)) })
		b.wantSmooth("a move", func(n int) { button(fmt.Sprintf("down:%d", n)) },
			func(n int) string { return focused(fmt.Sprintf("[value='down:%d']", n+1)) })
		b.wantSmooth("a removal", func(int) { button("remove:298"); lines-- },
			func(int) string { return fmt.Sprintf(`!document.querySelector("#line-%d")`, lines) })
		b.wantQuiet("the long form")
	})
}

// TestLongCreditFormEditsAsAShortOne checks the same of the form of a credit note.
func TestLongCreditFormEditsAsAShortOne(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, time.Millisecond)
		v := s.loggedIn(t)
		id := v.created(manyLines("INV-1", 300))
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/invoices/" + id + "/credit")
		b.until(`document.querySelector("#f-items-299-quantity")`)
		b.wantSmooth("a quantity", func(n int) { b.fill("#f-items-299-quantity", fmt.Sprint(n)) },
			func(n int) string {
				return fmt.Sprintf(`document.querySelector("#sums dd").textContent.startsWith("%d.00")`, n*105)
			})
		b.fill("#f-items-299-quantity", "many")
		b.until(`document.querySelector("#f-items-299-quantity[aria-invalid]")`)
		b.until(`document.querySelector("#n-items-299-quantity .fault")`)
		b.wantQuiet("the long form")
	})
}
