package server_test

import (
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"quittance/internal/service"
)

// tripwire is a provider's address that counts who dials it, and answers nothing.
type tripwire struct {
	url    string
	dialed atomic.Int64
}

func newTripwire(t *testing.T) *tripwire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &tripwire{url: "http://" + listener.Addr().String()}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			w.dialed.Add(1)
			conn.Close()
		}
	})
	t.Cleanup(func() {
		listener.Close()
		accepting.Wait()
	})
	return w
}

// TestDraftsSendNothing: creating drafts opens no network connection (specification, parts 1 and 3). Two hundred are
// created, read and listed beside an active connection and an active subscription; nobody dials the provider and no
// callback is made. A submission then shows that the wire is where the provider would be.
func TestDraftsSendNothing(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		wire := newTripwire(t)
		c := s.company(t)
		c.connect(t, wire.url, service.Sandbox)
		c.post(t, subscriptions, fmt.Sprintf(`{"url":%q}`, s.sandbox.Info.ReceiverURL)).want(t, http.StatusCreated, "")
		token := c.token(t)
		send := func(method, path, body string, status int) answer {
			a := s.send(t, request{method: method, path: path, body: body, token: token})
			a.want(t, status, "")
			return a
		}
		var last string
		for n := range 200 {
			last = send(http.MethodPost, invoices, c.numbered(""), http.StatusCreated).text1(t, "/data/id")
			read := send(http.MethodGet, invoices+"/"+last, "", http.StatusOK)
			wantRaw(t, read, "/data/submitted", "false")
			wantRaw(t, read, "/data/submission", "null")
			if n%20 == 0 {
				send(http.MethodGet, invoices+"?per_page=100", "", http.StatusOK)
			}
		}
		if n := wire.dialed.Load(); n != 0 {
			t.Fatalf("the provider was dialed %d times for drafts", n)
		}
		if calls := s.sandbox.Receiver.Callbacks(); len(calls) != 0 {
			t.Fatalf("%d callbacks were made for drafts", len(calls))
		}
		a := send(http.MethodPost, invoices+"/"+last+"/submit", "", http.StatusAccepted)
		wantRaw(t, a, "/data/submission/outcome", `"unknown"`)
		if wire.dialed.Load() == 0 {
			t.Fatal("the submission did not dial the provider: the wire is not where it should be")
		}
	})
}

// TestNoWayToTheProvider: the packages that answer people and programs do not import the provider.
func TestNoWayToTheProvider(t *testing.T) {
	for _, dir := range []string{".", "../console"} {
		found, err := build.ImportDir(dir, 0)
		if _, missing := errors.AsType[*fs.PathError](err); missing && dir != "." {
			continue // this build of the service has no console
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Imports) < 10 {
			t.Errorf("%s has %d imports only: %v", dir, len(found.Imports), found.Imports)
		}
		for _, barred := range []string{"quittance/internal/provider", "quittance/internal/sandbox", "net/http/httputil"} {
			if slices.Contains(found.Imports, barred) {
				t.Errorf("%s imports %s: %v", dir, barred, found.ImportPos[barred])
			}
		}
	}
}
