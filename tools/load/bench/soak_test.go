package bench

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
)

// The events of an inbox and of a feed are compared in both directions.
func TestInboxIsComparedWithTheFeed(t *testing.T) {
	in := &inbox{seen: map[base.ID]bool{{1}: true, {2}: true, {9}: true}}
	missing, extra := in.compare(map[base.ID]time.Time{{1}: {}, {2}: {}, {3}: {}, {4}: {}})
	if missing != 2 || extra != 1 {
		t.Errorf("%d missing and %d extra, want 2 and 1", missing, extra)
	}
	if missing, extra := in.compare(nil); missing != 0 || extra != 3 {
		t.Errorf("%d missing and %d extra beside an empty feed, want 0 and 3", missing, extra)
	}
}

// An event needs a delivery exactly if a subscription was active when it occurred.
func TestListened(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 3, 1, 9, minute, 0, 0, time.UTC) }
	subscriptions := []api.Subscription{{CreatedAt: at(30)}, {CreatedAt: at(10), DeactivatedAt: new(at(20))}}
	for minute, want := range map[int]bool{5: false, 15: true, 25: false, 35: true} {
		if got := wasSubscribed(subscriptions, at(minute)); got != want {
			t.Errorf("at minute %d: %t", minute, got)
		}
	}
	if wasSubscribed(nil, at(0)) {
		t.Error("nobody listens, and an event wants a delivery")
	}
}

// The first quarter is compared with the last by medians; values that were not measured are not compared.
func TestQuartersAreCompared(t *testing.T) {
	var samples []Figures
	for n := range 8 {
		samples = append(samples, Figures{{Name: "rss_bytes", Value: float64(100 + 10*n)},
			{Name: "heap_in_use_bytes", Value: 7}, {Name: "goroutines", Value: 50},
			{Name: "open_files", NotMeasured: "only Linux tells"}})
	}
	s := &soak{samples: samples, whole: NewHistogram(), first: NewHistogram(), last: NewHistogram()}
	s.first.Record(time.Millisecond)
	s.last.Record(2 * time.Millisecond)
	for n := range roles {
		s.loads[n].latency = NewHistogram()
	}
	r := Config{Now: time.Now}.report()
	s.quarters(&r)
	found := map[string]Figure{}
	for _, f := range r.Figures {
		found[f.Name] = f
	}
	for name, want := range map[string]float64{"rss_first_quarter_bytes": 105, "rss_last_quarter_bytes": 165,
		"rss_last_to_first_quarter_ratio": 165. / 105, "goroutines_last_to_first_quarter_ratio": 1,
		"event_p99_healthy_last_to_first_quarter_ratio": 2} {
		if f := found[name]; f.Value != want || f.NotMeasured != "" {
			t.Errorf("%s is %+v, want %v", name, f, want)
		}
	}
	if f := found["open_files_last_to_first_quarter_ratio"]; f.NotMeasured != "only Linux tells" {
		t.Errorf("%+v", f)
	}
	if quarter(1) != 1 || quarter(8) != 2 || quarter(60) != 15 {
		t.Errorf("quarters of 1, 8 and 60: %d, %d, %d", quarter(1), quarter(8), quarter(60))
	}
}

// A sum of histograms equals one histogram of all durations.
func TestHistogramsAdd(t *testing.T) {
	a, b, both := NewHistogram(), NewHistogram(), NewHistogram()
	for n := range 100 {
		d := time.Duration(n*n) * time.Millisecond
		both.Record(d)
		if n%3 == 0 {
			a.Record(d)
		} else {
			b.Record(d)
		}
	}
	a.add(b)
	if a.Count() != both.Count() || a.Max() != both.Max() || a.Mean() != both.Mean() ||
		a.Quantile(.5) != both.Quantile(.5) || a.Quantile(.99) != both.Quantile(.99) {
		t.Errorf("%d up to %v, mean %v, want %d up to %v, mean %v", a.Count(), a.Max(), a.Mean(), both.Count(), both.Max(),
			both.Mean())
	}
}

// An inbox with an override accepts no event, whether the override responds with a status or breaks the connection.
func TestReceiverOverride(t *testing.T) {
	h, client := listening(t)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	in := h.addInbox("one")
	in.setSecret(benchSecret)
	callback, err := syntheticCallback(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	status, broken := http.StatusTemporaryRedirect, false
	response := func(w http.ResponseWriter) bool {
		if broken {
			panic(http.ErrAbortHandler)
		}
		if status != http.StatusOK {
			w.WriteHeader(status)
		}
		return status != http.StatusOK
	}
	in.override.Store(&response)
	for _, status = range []int{http.StatusTemporaryRedirect, http.StatusServiceUnavailable} {
		if got, err := deliver(t.Context(), client, h.URL+"/one", benchSecret, callback); err != nil || got != status {
			t.Errorf("%d %v, want %d", got, err, status)
		}
	}
	broken = true
	if got, err := deliver(t.Context(), client, h.URL+"/one", benchSecret, callback); !errors.Is(err, io.EOF) {
		t.Errorf("%d %v, want a broken connection", got, err)
	}
	if in.received() != 0 {
		t.Errorf("%d events were taken", in.received())
	}
	broken, status = false, http.StatusOK
	if got, err := deliver(t.Context(), client, h.URL+"/one", benchSecret, callback); err != nil || got != http.StatusOK ||
		in.received() != 1 {
		t.Errorf("%d %v, %d received", got, err, in.received())
	}
}
