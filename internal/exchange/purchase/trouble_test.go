package purchase_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/exchange/purchase"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// failing responds to requests for the documents in status with that status, times times for each, and to all others
// with bytes.
func failing(status map[string]int, times int) func(http.ResponseWriter, string, int) {
	return func(w http.ResponseWriter, id string, n int) {
		switch code := status[id]; {
		case code == 0 || n > times:
			send(w, "document "+id)
		case code < 0:
			panic(http.ErrAbortHandler) // the connection breaks
		default:
			w.WriteHeader(code)
		}
	}
}

// TestBadDocuments checks that documents that cannot be fetched are tried for five runs, while all others of their page
// are retained at once. Then they are retained as unreadable, and the cursor moves. No other document is fetched twice.
func TestBadDocuments(t *testing.T) {
	bad := map[string]int{"d001": 503, "d002": -1, "d004": 403, "d005": 425, "d007": 302, "d008": 500}
	s := newScriptedProvider(t)
	s.page = func(w http.ResponseWriter, cursor string, _ int) {
		if cursor == "" {
			send(w, pageOf("c-1", true, entries(10)...))
			return
		}
		send(w, pageOf("c-2", false, entry("behind")))
	}
	s.document = failing(bad, 1000)
	b := newBench(t, ledgertest.SQLite, s.URL)
	var waits []string
	for run := 1; run <= 4; run++ {
		waits = append(waits, b.syncRun(t).String())
		got := b.retained(t)
		if len(got) != 10-len(bad) || b.cursor(t) != "" {
			t.Fatalf("after run %d there are %d, and the cursor is %q", run, len(got), b.cursor(t))
		}
	}
	if got := strings.Join(waits, " "); got != "1m0s 2m0s 4m0s 8m0s" {
		t.Errorf("waits %s", got)
	}
	if next := b.syncRun(t); next != interval || b.cursor(t) != "c-2" {
		t.Errorf("after five runs the next is %s away, and the cursor is %q", next, b.cursor(t))
	}
	got := b.retained(t)
	for id, status := range bad {
		i := got[id]
		if i.ID == "" || *i.DocumentType != api.DocumentUnreadable || *i.InvoiceNumber != "N-"+id ||
			i.SHA256 != hashed(entry(id)) ||
			i.Evidence.MetadataSHA256 != i.SHA256 || i.Evidence.DocumentRetained || i.Evidence.Size != nil {
			t.Errorf("given up as %+v", i)
		}
		// If a connection breaks, net/http itself may repeat the request.
		if n := s.count(id); n < 5 || status > 0 && n != 5 {
			t.Errorf("%d requests for %s", n, id)
		}
	}
	if len(got) != 11 || s.count("d000") != 1 || s.count("behind") != 1 || *got["behind"].DocumentType != "invoice" {
		t.Errorf("%d and %d requests for other documents; %d are retained", s.count("d000"), s.count("behind"), len(got))
	}
}

// TestRecovery checks that a document that can be fetched after failures is retained with its bytes, and the count of
// failures starts again.
func TestRecovery(t *testing.T) {
	s := newScriptedProvider(t)
	s.page = onePage(entries(6)...)
	s.document = failing(map[string]int{"d001": 503, "d005": 500}, 4)
	b := newBench(t, ledgertest.SQLite, s.URL)
	for range 4 {
		b.syncRun(t)
	}
	if got := b.retained(t); len(got) != 4 {
		t.Fatalf("%d are retained while two fail", len(got))
	}
	if next := b.syncRun(t); next != interval || b.cursor(t) != "end" {
		t.Errorf("the next run is %s away, and the cursor is %q", next, b.cursor(t))
	}
	got := b.retained(t)
	if len(got) != 6 || got["d001"].SHA256 != hashed("document d001") || got["d005"].SHA256 != hashed("document d005") ||
		*got["d005"].DocumentType != "invoice" {
		t.Errorf("afterwards %+v", got)
	}
	if b.kinds(t)[api.EventIncomingReceived] != 6 {
		t.Errorf("events %v", b.kinds(t))
	}
}

// TestOutage checks that while no document of a page can be fetched, none is given up, because the provider is failing,
// and it recovers.
func TestOutage(t *testing.T) {
	s := newScriptedProvider(t)
	s.page = onePage(entries(3)...)
	s.document = failing(map[string]int{"d000": 503, "d001": 500, "d002": 502}, 12)
	b := newBench(t, ledgertest.SQLite, s.URL)
	for run := 1; run <= 12; run++ {
		if b.syncRun(t); len(b.retained(t)) != 0 || b.cursor(t) != "" {
			t.Fatalf("after run %d something is retained", run)
		}
	}
	b.syncRun(t)
	got := b.retained(t)
	if len(got) != 3 || *got["d001"].DocumentType != "invoice" || !got["d001"].Evidence.DocumentRetained ||
		b.cursor(t) != "end" {
		t.Errorf("after the outage %+v", got)
	}
}

// TestOutageIsLoggedOnce checks that the log says when incoming e-invoices cannot be fetched and when they are again,
// not at each attempt, and that the oldest complete sync stays where it was meanwhile.
func TestOutageIsLoggedOnce(t *testing.T) {
	s := newScriptedProvider(t)
	s.page = onePage()
	var log bytes.Buffer
	b := newBench(t, ledgertest.SQLite, s.URL,
		func(c *purchase.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	lines := func(message string) int { return strings.Count(log.String(), `msg="incoming e-invoices `+message) }
	oldest := func() time.Time {
		t.Helper()
		at, err := incoming.OldestPurchaseSync(t.Context(), b.Store.DB)
		kit.Must(t, err)
		return at
	}
	synced := b.Clock.Now()
	b.syncRun(t)
	if at := oldest(); !at.Equal(synced) || lines("") != 0 {
		t.Errorf("after a complete run at %s, the oldest is of %s; log:\n%s", synced, at, &log)
	}
	down := func(w http.ResponseWriter, _ string, _ int) { w.WriteHeader(http.StatusBadGateway) }
	works := s.page
	for round := 1; round <= 2; round++ {
		s.page = down
		for range 5 {
			b.syncRun(t)
		}
		if at := oldest(); !at.Equal(synced) || lines("cannot be fetched: it is tried again") != round ||
			lines("are fetched again") != round-1 {
			t.Errorf("in outage %d the oldest is of %s, want %s; log:\n%s", round, at, synced, &log)
		}
		s.page = works
		synced = b.Clock.Now()
		b.syncRun(t)
		if at := oldest(); !at.Equal(synced) || lines("are fetched again") != round {
			t.Errorf("after outage %d the oldest is of %s, want %s; log:\n%s", round, at, synced, &log)
		}
		synced = b.Clock.Now()
		b.syncRun(t)
	}
}

// TestPermanentRefusal checks that a document that the provider refuses permanently is unreadable at once, and the
// others are not.
func TestPermanentRefusal(t *testing.T) {
	final := map[string]int{"d001": 400, "d002": 404, "d003": 406, "d005": 410, "d006": 414, "d007": 422, "d008": 451}
	s := newScriptedProvider(t)
	s.page = onePage(entries(10)...)
	s.document = failing(final, 1000)
	b := newBench(t, ledgertest.SQLite, s.URL)
	if next := b.syncRun(t); next != interval || b.cursor(t) != "end" {
		t.Errorf("the next run is %s away, and the cursor is %q", next, b.cursor(t))
	}
	got := b.retained(t)
	for id, i := range got {
		if (*i.DocumentType == api.DocumentUnreadable) != (final[id] != 0) {
			t.Errorf("%s is retained as %+v", id, i)
		}
	}
	if len(got) != 10 {
		t.Errorf("%d are retained", len(got))
	}
}

// TestRateLimit checks that if a provider sends only a few documents a minute, none is lost, none is requested twice,
// and its Retry-After is respected.
func TestRateLimit(t *testing.T) {
	s := newScriptedProvider(t)
	s.page = onePage(entries(30)...)
	var budget atomic.Int32
	s.document = func(w http.ResponseWriter, id string, _ int) {
		if budget.Add(-1) < 0 {
			w.Header().Set("Retry-After", "1800")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		send(w, "document "+id)
	}
	b := newBench(t, ledgertest.SQLite, s.URL)
	for run := 1; len(b.retained(t)) < 30; run++ {
		budget.Store(4)
		next := b.syncRun(t)
		if got := len(b.retained(t)); got != min(30, 4*run) {
			t.Fatalf("run %d has brought the number to %d", run, got)
		}
		if len(b.retained(t)) < 30 && next != 30*time.Minute {
			t.Errorf("the next run is %s away", next)
		}
		if asked := len(b.made()); asked > 10 {
			t.Errorf("%d calls in a run within Retry-After", asked)
		}
	}
	for id, i := range b.retained(t) {
		if *i.DocumentType != "invoice" || i.SHA256 != hashed("document "+id) {
			t.Errorf("%s is %+v", id, i)
		}
	}
	if b.cursor(t) != "end" {
		t.Errorf("the cursor is %q", b.cursor(t))
	}
}

// TestAlwaysLimited checks that a provider that never sends a document does not block its list forever.
func TestAlwaysLimited(t *testing.T) {
	s := newScriptedProvider(t)
	s.page = onePage(entries(6)...)
	s.document = func(w http.ResponseWriter, _ string, _ int) { w.WriteHeader(http.StatusTooManyRequests) }
	b := newBench(t, ledgertest.SQLite, s.URL)
	runs := 0
	for b.cursor(t) != "end" {
		if b.syncRun(t); runs > 20 {
			t.Fatalf("after %d runs there are %d", runs, len(b.retained(t)))
		}
		runs++
	}
	if got := b.retained(t); len(got) != 6 || *got["d005"].DocumentType != api.DocumentUnreadable {
		t.Errorf("after %d runs there are %+v", runs, got)
	}
}

// TestNoPage checks that a failed request for a page changes nothing, and the next run respects the provider's
// Retry-After.
func TestNoPage(t *testing.T) {
	s := newScriptedProvider(t)
	good := onePage(entry("d"))
	var bad atomic.Pointer[func(http.ResponseWriter)]
	s.page = func(w http.ResponseWriter, cursor string, limit int) {
		if response := bad.Load(); response != nil {
			(*response)(w)
			return
		}
		good(w, cursor, limit)
	}
	b := newBench(t, ledgertest.SQLite, s.URL)
	b.syncRun(t)
	for name, try := range map[string]struct {
		response func(w http.ResponseWriter)
		next     time.Duration
	}{
		"unavailable":  {func(w http.ResponseWriter) { w.WriteHeader(503) }, interval},
		"unauthorized": {func(w http.ResponseWriter) { w.WriteHeader(401) }, interval},
		"limited": {func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "3000")
			w.WriteHeader(429)
		}, 50 * time.Minute},
		"redirect": {func(w http.ResponseWriter) {
			http.Redirect(w, &http.Request{Method: "GET"}, "https://elsewhere.invalid/", http.StatusFound)
		}, interval},
		"garbage":       {func(w http.ResponseWriter) { send(w, "\x00<html>") }, interval},
		"no page":       {func(w http.ResponseWriter) { send(w, `{"purchases":{},"has_more":false}`) }, interval},
		"broken":        {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, interval},
		"echoed cursor": {func(w http.ResponseWriter) { send(w, pageOf(credential, true, entry("a"))) }, interval},
	} {
		bad.Store(&try.response)
		if next := b.syncRun(t); next != try.next || b.cursor(t) != "end" || len(b.retained(t)) != 1 {
			t.Errorf("%s: the next run is %s away, the cursor %q", name, next, b.cursor(t))
		}
		bad.Store(nil)
		if next := b.syncRun(t); next != interval {
			t.Errorf("%s: after a successful page the next run is in %s", name, next)
		}
	}
}

// TestCursors checks that a provider whose pages never end does not occupy a worker forever, and everything on its
// pages is retained.
func TestCursors(t *testing.T) {
	long := strings.Repeat("ü", 1025)
	for name, try := range map[string]struct {
		next   func(cursor string) string
		pages  int // in the first run
		wait   time.Duration
		cursor string // after it
	}{
		"the same again": {func(cursor string) string { return cursor }, 1, interval, ""},
		"round in a circle": {func(cursor string) string { return map[string]string{"": "a", "a": "b", "b": "a"}[cursor] },
			3, interval, "a"},
		"always another":   {func(cursor string) string { return cursor + "." }, 200, interval, strings.Repeat(".", 200)},
		"too long to keep": {func(string) string { return long }, 1, interval, ""},
		"as long as allowed": {func(cursor string) string { return (cursor + long)[:2*1024] }, 2, interval,
			strings.Repeat("ü", 1024)},
		"odd bytes": {func(string) string { return "\x00 '\"\\\u202e" }, 2, interval, "\x00 '\"\\\u202e"},
	} {
		engines := []string{ledgertest.SQLite}
		if name == "odd bytes" {
			engines = ledgertest.Engines()
		}
		for _, engine := range engines {
			s := newScriptedProvider(t)
			s.page = func(w http.ResponseWriter, cursor string, _ int) {
				send(w, pageOf(try.next(cursor), true, fmt.Sprintf(`{"id":%q}`, hashed(cursor)[:8])))
			}
			b := newBench(t, engine, s.URL)
			next := b.syncRun(t)
			pages := 0
			for _, call := range b.made() {
				if strings.HasPrefix(call, "purchases ") {
					pages++
				}
			}
			if pages != try.pages || next != try.wait || b.cursor(t) != try.cursor {
				t.Errorf("%s on %s: %d pages, the next run %s away, the cursor %.20q", name, engine, pages, next, b.cursor(t))
			}
			if len(b.retained(t)) == 0 {
				t.Errorf("%s on %s: nothing is retained", name, engine)
			}
		}
	}
}

// TestLargePage checks that if entries are too large for a full page, fewer are requested.
func TestLargePage(t *testing.T) {
	s := newScriptedProvider(t)
	all := make([]string, 7)
	for n := range all {
		all[n] = fmt.Sprintf(`{"id":"d%d","document_type":"invoice","note":%q}`, n, strings.Repeat("x", 300<<10))
	}
	s.page = func(w http.ResponseWriter, cursor string, limit int) {
		at := len(cursor)
		to := min(at+limit, len(all))
		send(w, pageOf(strings.Repeat(".", to), to < len(all), all[at:to]...))
	}
	b := newBench(t, ledgertest.SQLite, s.URL)
	b.syncRun(t)
	if got := b.retained(t); len(got) != len(all) || *got["d6"].DocumentType != "invoice" {
		t.Errorf("%d are retained", len(got))
	}
}

// TestPageSize checks that a page is asked for as many entries as configured, and for the default number otherwise.
func TestPageSize(t *testing.T) {
	for configured, want := range map[int]int{0: purchase.DefaultPageSize, 1: 1,
		purchase.MaxPageSize: purchase.MaxPageSize} {
		s := newScriptedProvider(t)
		var limits []int
		s.page = func(w http.ResponseWriter, cursor string, limit int) {
			limits = append(limits, limit)
			send(w, pageOf(cursor, false))
		}
		newBench(t, ledgertest.SQLite, s.URL, func(c *purchase.Config) { c.PageSize = configured }).syncRun(t)
		if !slices.Equal(limits, []int{want}) {
			t.Errorf("with a page size of %d the limits are %v", configured, limits)
		}
	}
}

// TestTakenOver checks that a worker that loses its claim during a run writes nothing more, and the other one continues
// from the last commit.
func TestTakenOver(t *testing.T) {
	s := newScriptedProvider(t)
	s.page = func(w http.ResponseWriter, cursor string, _ int) {
		send(w, pageOf(cursor+"c", cursor != "cc", entry("page"+cursor)))
	}
	b := newBench(t, ledgertest.SQLite, s.URL)
	var again atomic.Bool
	s.document = func(w http.ResponseWriter, id string, _ int) {
		if id == "pagec" && !again.Swap(true) {
			if _, err := invoices.DisableConnection(t.Context(), b.Store.DB, b.connection.ID); err != nil {
				t.Error(err)
			}
		}
		send(w, id)
	}
	claim := b.claim(t)
	if err := b.service.Sync(t.Context(), claim); err != base.ErrLeaseLost { //nolint:errorlint // it is returned as it is
		t.Errorf("error %v, want %v", err, base.ErrLeaseLost)
	}
	if got := b.retained(t); len(got) != 1 || got["page"].ID == "" {
		t.Errorf("retained %+v", got)
	}
	if _, err := invoices.ActivateConnection(t.Context(), b.Store.DB, b.connection.ID); err != nil {
		t.Fatal(err)
	}
	if b.cursor(t) != "c" {
		t.Errorf("it goes on at %q", b.cursor(t))
	}
	b.syncRun(t)
	if got := b.retained(t); len(got) != 3 {
		t.Errorf("afterwards %+v", got)
	}
}

// TestDigestMismatch checks that bytes that do not match the announced digest are retained as received. The document is
// requested again in up to five more runs, and the right bytes are a new revision.
func TestDigestMismatch(t *testing.T) {
	const excuse = "<html>Please come back later.</html>"
	announced := func(id, text string) string {
		return strings.Replace(entry(id), "{", fmt.Sprintf(`{"sha256":%q,`, hashed(text)), 1)
	}
	s := newScriptedProvider(t)
	s.page = onePage(announced("late", "the bill"), announced("never", "another bill"), entry("plain"))
	s.document = func(w http.ResponseWriter, id string, n int) {
		switch {
		case id == "late" && n > 2:
			send(w, "the bill")
		case id == "plain":
			send(w, "a bill")
		default:
			send(w, excuse)
		}
	}
	b := newBench(t, ledgertest.SQLite, s.URL)
	runs := 0
	for b.cursor(t) != "end" && runs < 20 {
		b.syncRun(t)
		runs++
		late := b.retained(t)["late"]
		if want, revision := map[bool]string{true: "the bill", false: excuse}[runs >= 3], map[bool]int{true: 2,
			false: 1}[runs >= 3]; late.SHA256 != hashed(want) || late.Revision != revision {
			t.Fatalf("after run %d the late one is %+v", runs, late)
		}
	}
	never := b.retained(t)["never"]
	if runs != 7 || s.count("never") != 7 || s.count("late") != 3 || s.count("plain") != 1 {
		t.Errorf("%d runs with %d, %d and %d requests", runs, s.count("never"), s.count("late"), s.count("plain"))
	}
	if never.SHA256 != hashed(excuse) || never.Revision != 1 || never.Evidence.ClaimedSHA256 == nil ||
		*never.Evidence.ClaimedSHA256 != hashed("another bill") {
		t.Errorf("given up as %+v", never)
	}
}
