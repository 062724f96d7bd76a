package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client"
)

// begun returns a feed with events, a program and the file of a position.
func begun(t *testing.T,
	events int) (feed *company, to *program, file string, once func(ctx context.Context, from string) (string, error)) {
	t.Helper()
	feed, to, file = &company{}, &program{key: "whsec_run", answer: func(int) {}},
		filepath.Join(t.TempDir(), "listen", "position.json")
	feed.add(events)
	server, local := httptest.NewServer(feed), httptest.NewServer(to)
	t.Cleanup(server.Close)
	t.Cleanup(local.Close)
	return feed, to, file, func(ctx context.Context, from string) (string, error) {
		return listenOnce(ctx, file, server.URL, local.URL, from)
	}
}

// TestSinceIsKept checks that a run that continues passes over the same events as the one that was told since when to
// forward.
func TestSinceIsKept(t *testing.T) {
	feed, to, _, once := begun(t, 8)
	since := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	for n := range 5 {
		feed.events[n].OccurredAt = since.Add(time.Duration(n-5) * time.Minute).Format(time.RFC3339Nano)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, ctx := range []context.Context{ended, t.Context()} { // the first run is killed before it has read anything
		from := ""
		if ctx == ended {
			from = since.Format(time.RFC3339)
		}
		if out, err := once(ctx, from); !errors.Is(err, errIdle) && !errors.Is(err, context.Canceled) {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if want := []string{"event-5", "event-6", "event-7"}; !slices.Equal(to.received, want) {
		t.Errorf("%v were forwarded, want %v", to.received, want)
	}
}

// TestPositionIsWrittenAgain checks that a run goes on when its position is removed, as a logout does.
func TestPositionIsWrittenAgain(t *testing.T) {
	_, to, file, once := begun(t, 5)
	to.answer = func(n int) {
		if n == 2 {
			if err := os.RemoveAll(filepath.Dir(file)); err != nil {
				t.Error(err)
			}
		}
	}
	if out, err := once(t.Context(), "start"); !errors.Is(err, errIdle) || len(to.received) != 5 {
		t.Fatalf("%v, %v\n%s", err, to.received, out)
	}
	if out, err := once(t.Context(), ""); !errors.Is(err, errIdle) || len(to.received) != 5 ||
		!strings.Contains(out, "Continuing") {
		t.Errorf("%v, %v\n%s", err, to.received, out)
	}
}

// TestDamagedPosition checks that a damaged position is named as such, with what to do, and that this works.
func TestDamagedPosition(t *testing.T) {
	_, to, file, once := begun(t, 2)
	for _, text := range []string{"", "{", "null", "{}", `{"run":1}`, `[]`, `{"run":"r","after":7}`,
		`{"run":"r","after":"x"}`, `{"run":"r","after":"x","answered":["event-0"]}`} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := once(t.Context(), "")
		if !errors.Is(err, errDamaged) || err.Error() != "position of the last run: "+
			file+" is damaged: --from start or --from TIME begins anew" || out != "" {
			t.Errorf("%s: %v\n%s", text, err, out)
		}
	}
	if out, err := once(t.Context(), "start"); !errors.Is(err, errIdle) || len(to.received) != 2 {
		t.Errorf("%v, %v\n%s", err, to.received, out)
	}
}

// TestUnwritablePosition checks that nothing is forwarded without a place for the position.
func TestUnwritablePosition(t *testing.T) {
	_, to, file, once := begun(t, 2)
	if err := os.WriteFile(filepath.Dir(file), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := once(t.Context(), "start"); err == nil || !strings.Contains(err.Error(), "keep the position: ") ||
		!strings.Contains(err.Error(), filepath.Dir(file)) || len(to.received) > 0 || out != "" {
		t.Errorf("%v, %v\n%s", err, to.received, out)
	}
}

// TestBeginAtTheEnd checks that a first run does not read the whole feed, and that the next one recognises the feed,
// also if the events before the beginning were removed by age.
func TestBeginAtTheEnd(t *testing.T) {
	for _, removed := range []int{0, 1000} {
		feed, to, _, once := begun(t, 1000)
		feed.removed = removed
		if out, err := once(t.Context(), ""); !errors.Is(err, errIdle) || feed.calls > 3 {
			t.Fatalf("%v after %d calls\n%s", err, feed.calls, out)
		}
		feed.add(4)
		if out, err := once(t.Context(), ""); !errors.Is(err, errIdle) || len(to.received) != 4 ||
			!strings.Contains(out, "Continuing") {
			t.Errorf("%v, %v\n%s", err, to.received, out)
		}
		if removed > 0 {
			continue
		}
		feed.events = nil
		if out, err := once(t.Context(), ""); !errors.Is(err, errIdle) ||
			!strings.Contains(out, "does not have the last forwarded event") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// TestOlderServer checks that a run begins at the end of the feed of a server that has no cursor for it.
func TestOlderServer(t *testing.T) {
	feed, to, _, once := begun(t, 10)
	feed.old = true
	if out, err := once(t.Context(), ""); !errors.Is(err, errIdle) || len(to.received) != 0 {
		t.Fatalf("%v, %v\n%s", err, to.received, out)
	}
	feed.add(2)
	if out, err := once(t.Context(), ""); !errors.Is(err, errIdle) ||
		!slices.Equal(to.received, []string{"event-10", "event-11"}) {
		t.Errorf("%v, %v\n%s", err, to.received, out)
	}
}

// TestFind checks that every event of a feed is found, also if earlier ones were removed by age, and how many pages
// that takes at most.
func TestFind(t *testing.T) {
	for _, removed := range []int{0, 250, 1000} {
		events, _, _, _ := begun(t, 500)
		events.removed = min(removed, 500)
		server := httptest.NewServer(events)
		defer server.Close()
		service, err := client.New(client.Config{BaseURL: server.URL, APIKey: "key"})
		if err != nil {
			t.Fatal(err)
		}
		f := feed{env: Environment{Out: io.Discard, Err: io.Discard}, service: service, wait: sleep}
		for n := 0; n < 500; n += 83 {
			e, err := f.find(t.Context(), fmt.Sprintf("event-%d", n))
			if (err == nil) != (n >= removed) || err == nil && e.ID != fmt.Sprintf("event-%d", n) {
				t.Errorf("%d removed, event %d: %v, %v", removed, n, e.ID, err)
			}
		}
		events.calls = 0
		if _, err := f.find(t.Context(), "none"); err == nil || events.calls > 500/3+20 {
			t.Errorf("%d removed: %v after %d calls", removed, err, events.calls)
		}
	}
}

// TestRemovedPositions checks that the end of a login removes the positions of its server and company only.
func TestRemovedPositions(t *testing.T) {
	dir, p := kept(t)
	paths := map[string]string{}
	for name, at := range map[string]position{"own": {Run: "r", Server: p.URL, AccountID: p.AccountID},
		"other server":  {Run: "r", Server: "http://127.0.0.1:9", AccountID: p.AccountID},
		"other company": {Run: "r", Server: p.URL, AccountID: "B"}, "before this version": {Run: "r"}} {
		paths[name] = filepath.Join(dir.positions(p.Name), name+".json")
		if err := writePrivate(paths[name], at); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(dir.Remove(Profile{Name: p.Name}), dir.Remove(p)); err != nil {
		t.Fatal(err)
	}
	for name, path := range paths {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) != (name == "own") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
