package fakeprovider_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/document/invoice"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/protocol"
	"quittance/sandbox/fakeprovider"
	"quittance/test/providertest"
)

// adapterResult is the result that the real adapter must return for a call.
type adapterResult struct {
	kind   provider.Kind
	status int
	class  provider.ErrorClass
	// body is the kind of body of a document call: a report on it, a foreign report, or no report.
	body string
}

const (
	aReport  = "a report"
	aForeign = "a report on another document"
	noReport = "no report"
)

// hostility is the expected effect of one misbehaviour.
type hostility struct {
	calls  string        // the affected calls: s(ubmission), l(ook-up), p(urchases), d(ocument of a purchase)
	taken  bool          // the document of the submission is in the ledger
	all    adapterResult // the adapter's result of every call,
	except map[rune]adapterResult
	// wire reports whether the first response to a submission, or to a status query if there is none, is as expected.
	wire func(r *http.Response, body string, err error) bool
}

func status(code int, header, value string) func(*http.Response, string, error) bool {
	return func(r *http.Response, _ string, err error) bool {
		return err == nil && r.StatusCode == code && (header == "" || strings.HasPrefix(r.Header.Get(header), value))
	}
}

func dropped(r *http.Response, _ string, err error) bool { return r == nil && err != nil }

// says expects a JSON report for which check returns true.
func says(check func(fakeprovider.Report) bool) func(*http.Response, string, error) bool {
	return func(r *http.Response, body string, err error) bool {
		var report fakeprovider.Report
		return err == nil && r.StatusCode < 300 && json.Unmarshal([]byte(body), &report) == nil && check(report)
	}
}

func whole(r fakeprovider.Report) bool { return r.Reference == "ref-1" && r.Status == "accepted" }

var (
	refused    = adapterResult{kind: provider.Refused, status: 429}
	redirected = adapterResult{kind: provider.Ambiguous, status: 307, class: provider.ClassRedirect}
	broken     = adapterResult{kind: provider.Ambiguous, class: provider.ClassProtocol}
	reported   = adapterResult{kind: provider.Complete, status: 200, body: aReport}
	unreadable = adapterResult{kind: provider.Complete, status: 200, body: noReport}
	noPage     = adapterResult{kind: provider.Ambiguous, status: 200, class: provider.ClassProtocol}
	basicEcho  = base64.StdEncoding.EncodeToString([]byte("Bearer " + credential))
)

// hostilities are the expected effects of every misbehaviour: the response, the ledger, and the adapter's result.
var hostilities = map[fakeprovider.Misbehaviour]hostility{
	fakeprovider.TooMany: {calls: "slpd", all: refused, wire: status(429, "Retry-After", "1")},
	fakeprovider.TooManyAlways: {calls: "slpd", all: refused,
		wire: status(429, "Retry-After", "99999999999999999999999")},
	fakeprovider.Unauthorized: {calls: "slpd", all: adapterResult{kind: provider.Refused, status: 401},
		wire: status(401, "WWW-Authenticate", "Bearer")},
	fakeprovider.UnavailableBefore: {calls: "slpd", all: adapterResult{status: 503},
		wire: status(503, "Retry-After", "1")},
	fakeprovider.DropBefore: {calls: "slpd", all: broken, wire: dropped},
	fakeprovider.Redirect: {calls: "slpd", all: redirected,
		wire: status(307, "Location", "https://elsewhere.invalid/v1/documents")},
	fakeprovider.RedirectToService: {calls: "slpd", all: redirected,
		wire: status(307, "Location", "http://127.0.0.1:1/v1/documents")},
	fakeprovider.DropAfter: {calls: "slpd", taken: true, all: broken, wire: dropped},
	fakeprovider.UnavailableAfter: {calls: "slpd", taken: true, all: adapterResult{status: 503},
		wire: status(503, "Retry-After", "1")},
	fakeprovider.RefuseAfter: {calls: "s", taken: true, all: adapterResult{status: 422}, wire: status(422, "", "")},
	fakeprovider.Arriving: {calls: "sl", taken: true, all: broken, wire: dropped,
		except: map[rune]adapterResult{'l': {kind: provider.UnknownReference, status: 404}}},
	fakeprovider.Silence: {calls: "slpd", taken: true, all: adapterResult{class: provider.ClassTimeout},
		wire: says(whole)},
	fakeprovider.Drip: {calls: "slpd", taken: true, all: adapterResult{status: 200, class: provider.ClassTimeout},
		wire: says(whole)},
	fakeprovider.HeaderBomb: {calls: "slpd", taken: true, all: broken,
		wire: func(r *http.Response, body string, err error) bool {
			return says(whole)(r, body, err) && len(r.Header.Values("X-Padding")) == 1024
		}},
	fakeprovider.Huge: {calls: "slpd", taken: true, all: adapterResult{status: 200, class: provider.ClassTooLarge},
		except: map[rune]adapterResult{'d': {kind: provider.Complete, status: 200, class: provider.ClassTooLarge}},
		wire: func(r *http.Response, body string, err error) bool {
			return err == nil && r.StatusCode == 200 && len(body) == maxTried &&
				strings.HasPrefix(body, `{"reference":"ref-1",`) && strings.HasSuffix(body, "xxx")
		}},
	fakeprovider.Garbage: {calls: "slpd", taken: true, all: unreadable,
		except: map[rune]adapterResult{'p': noPage, 'd': {kind: provider.Complete, status: 200}},
		wire: func(r *http.Response, body string, err error) bool {
			return err == nil && r.StatusCode == 200 && !json.Valid([]byte(body))
		}},
	fakeprovider.Truncated: {calls: "slpd", taken: true, all: adapterResult{status: 200, class: provider.ClassProtocol},
		wire: func(r *http.Response, body string, err error) bool {
			return err != nil && r != nil && strings.HasPrefix(body, `{"reference":"ref-1"`) && !strings.HasSuffix(body, "}")
		}},
	fakeprovider.WrongTypes: {calls: "slp", taken: true, all: unreadable, except: map[rune]adapterResult{'p': noPage},
		wire: func(r *http.Response, body string, err error) bool {
			return err == nil && r.StatusCode == 200 && strings.Contains(body, `"status":1`)
		}},
	fakeprovider.Echo: {calls: "slpd", taken: true, all: reported,
		except: map[rune]adapterResult{'d': {kind: provider.Complete, status: 200}},
		wire:   status(200, "X-Debug-Authorization", "Bearer "+credential)},
	fakeprovider.EchoBody: {calls: "slp", taken: true, all: reported,
		wire: func(r *http.Response, body string, err error) bool {
			return says(whole)(r, body, err) && strings.Contains(body, credential)
		}},
	fakeprovider.EchoBase64: {calls: "slp", taken: true, all: reported,
		wire: func(r *http.Response, body string, err error) bool {
			return says(whole)(r, body, err) && strings.Contains(body, basicEcho)
		}},
	fakeprovider.Foreign: {calls: "sl", taken: true,
		all: adapterResult{kind: provider.Complete, status: 200, body: aForeign},
		wire: says(func(r fakeprovider.Report) bool {
			return r.Status == "rejected" && strings.Count(finals(r), "rejected!") == 4
		})},
	fakeprovider.Stale: {calls: "l", all: reported,
		wire: says(func(r fakeprovider.Report) bool { return r.Sequence == 1 })},
	fakeprovider.Repeated: {calls: "l", all: reported, wire: says(func(r fakeprovider.Report) bool {
		return r.Sequence > 1 && !strings.Contains(finals(r), "receiver=accepted")
	})},
	fakeprovider.Reformatted: {calls: "l", all: reported, wire: says(func(r fakeprovider.Report) bool {
		return r.Sequence > 1 && !strings.Contains(finals(r), "receiver=accepted")
	})},
	fakeprovider.Contradicting: {calls: "l", all: reported, wire: says(func(r fakeprovider.Report) bool {
		return r.Sequence > 1 && strings.Count(finals(r), "=contradicted") == len(r.States) &&
			!strings.Contains(finals(r), "!")
	})},
	fakeprovider.Reversed:         {calls: "s", taken: true, all: reported, wire: says(whole)},
	fakeprovider.Reopened:         {calls: "s", taken: true, all: reported, wire: says(whole)},
	fakeprovider.UnknownValue:     {calls: "s", taken: true, all: reported, wire: says(whole)},
	fakeprovider.MissingDimension: {calls: "s", taken: true, all: reported, wire: says(whole)},
}

// ample is the time-out of calls that end by themselves, and brief is the first one of calls that never would. On a
// busy machine, a call may time out before the request has arrived, or before the status of the response has. Then the
// test begins anew with twice the time.
const (
	ample = 2 * time.Minute
	brief = 300 * time.Millisecond
)

// adapterTo returns the real adapter to a provider sandbox.
func adapterTo(t *testing.T, url string, timeout time.Duration) *protocol.Adapter {
	t.Helper()
	h, err := protocol.New(provider.Config{BaseURL: url, Credential: secret.New(credential), Timeout: timeout,
		Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// hostileTo starts a provider sandbox that has a purchase and has reported on ref-1 twice, unless the call is its
// submission. Then it advances by 5 s, so that there is something new to report.
func hostileTo(t *testing.T, call rune, silence time.Duration) *running {
	t.Helper()
	s := start(t, t.TempDir(), func(o *fakeprovider.Options) { o.Silence = silence })
	s.SetServiceAddress("http://127.0.0.1:1")
	if _, err := s.AddPurchase(fakeprovider.Purchase{ID: "p-1"}, []byte("<Invoice/>")); err != nil {
		t.Fatal(err)
	}
	if call == 's' {
		return s
	}
	s.submit("ref-1", http.StatusOK, nil)
	s.clock.advance(time.Second)
	s.status("ref-1")
	s.clock.advance(5 * time.Second)
	return s
}

// force makes one call go wrong.
func (s *running) force(wrong fakeprovider.Misbehaviour) {
	s.t.Helper()
	if err := s.AddRule(fakeprovider.Rule{Misbehaviour: wrong, Times: 1}); err != nil {
		s.t.Fatal(err)
	}
}

// TestEveryMisbehaviour compares each misbehaviour with its description: the response, the ledger, and the counter.
func TestEveryMisbehaviour(t *testing.T) {
	for _, way := range fakeprovider.Misbehaviours() {
		t.Run(string(way.Name), func(t *testing.T) {
			t.Parallel()
			c, tested := hostilities[way.Name]
			if !tested || way.Description == "" {
				t.Fatalf("not tested, or not described: %+v", way)
			}
			call := rune(c.calls[0])
			s := hostileTo(t, call, 10*time.Millisecond)
			s.force(way.Name)
			method, path, body := "POST", "/v1/documents", document(t, "ref-1", nil)
			if call == 'l' {
				method, path, body = "GET", "/v1/documents/ref-1", ""
			}
			response, text, err := s.try(method, path, body)
			if !c.wire(response, text, err) {
				t.Errorf("%+v %.300q %v", response, text, err)
			}
			if _, taken := s.Ledger().Document("ref-1"); taken != (c.taken || call != 's') {
				t.Errorf("in the ledger: %t", taken)
			}
			for name, times := range s.MisbehaviourCounts() {
				if (name == way.Name) != (times == 1) {
					t.Errorf("%s happened %d times", name, times)
				}
			}
			if rules := s.Rules(); len(rules) != 0 {
				t.Errorf("rules wait: %+v", rules)
			}
			if call == 's' && s.Posts("ref-1") != 1 {
				t.Errorf("%d posts", s.Posts("ref-1"))
			}
		})
	}
}

// TestAdapterResults plays every misbehaviour on every call of the real adapter, and then checks that later calls
// work.
func TestAdapterResults(t *testing.T) {
	for name, c := range hostilities {
		for _, call := range "slpd" {
			t.Run(fmt.Sprintf("%s/%c", name, call), func(t *testing.T) {
				t.Parallel()
				timeout := ample
				if c.all.class == provider.ClassTimeout && strings.ContainsRune(c.calls, call) {
					timeout = brief
				}
				var s *running
				var response provider.Response
				for early := true; early && timeout <= ample; timeout *= 2 {
					s = hostileTo(t, call, time.Hour)
					s.force(name)
					response = play(t, adapterTo(t, s.url, timeout), call)
					early = response.ErrorClass == provider.ClassTimeout &&
						(response.HTTPStatus != c.all.status || s.MisbehaviourCounts()[name] == 0)
				}
				if !strings.ContainsRune(c.calls, call) {
					if response.Kind != provider.Complete || s.MisbehaviourCounts()[name] != 0 || len(s.Rules()) != 1 {
						t.Fatalf("it happened: %+v", response)
					}
					return
				}
				want, special := c.except[call]
				if !special {
					want = c.all
				}
				checkHeard(t, response, want, call)
				if echoes := strings.HasPrefix(string(name), "echo"); response.Echoed != echoes {
					t.Errorf("echoed: %t", response.Echoed)
				}
				if s.MisbehaviourCounts()[name] != 1 {
					t.Errorf("happened: %v", s.MisbehaviourCounts())
				}
				again := play(t, adapterTo(t, s.url, ample), call)
				checkHeard(t, again, adapterResult{kind: provider.Complete, status: again.HTTPStatus, body: aReport}, call)
				if docs := s.Ledger().Documents(); call == 's' &&
					(len(docs) != 1 || docs[0].Accepted != 1 || s.Posts("ref-1") != 2) {
					t.Errorf("%d posts, %+v", s.Posts("ref-1"), docs)
				}
			})
		}
	}
}

// play makes one call with the adapter.
func play(t *testing.T, h *protocol.Adapter, call rune) provider.Response {
	t.Helper()
	switch call {
	case 's':
		return h.Submit(t.Context(), providertest.Document("ref-1"))
	case 'l':
		return h.Status(t.Context(), provider.Query{Reference: "ref-1"})
	case 'p':
		_, response := h.Purchases(t.Context(), "", 10)
		return response
	default:
		return h.PurchaseDocument(t.Context(), "p-1")
	}
}

func checkHeard(t *testing.T, response provider.Response, want adapterResult, call rune) {
	t.Helper()
	got := adapterResult{kind: response.Kind, status: response.HTTPStatus, class: response.ErrorClass, body: want.body}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if response.RetryAfter < 0 || response.RetryAfter > provider.MaxRetryAfter ||
		len(response.Body) > provider.MaxResponse {
		t.Errorf("wait %s, %d bytes", response.RetryAfter, len(response.Body))
	}
	if response.Kind != provider.Complete || call == 'p' || call == 'd' {
		return
	}
	report, err := invoice.ReadReport(response.Body, protocol.Vocabulary())
	body := aReport
	switch {
	case err != nil:
		body = noReport
	case report.Reference != "ref-1":
		body = aForeign
	}
	if body != want.body {
		t.Errorf("want %s, got %s: %s", want.body, body, response.Body)
	}
}

// TestEveryWrongTypeIsUnreadable goes through all the members that get a wrong type.
func TestEveryWrongTypeIsUnreadable(t *testing.T) {
	s := hostileTo(t, 'l', time.Minute)
	h := adapterTo(t, s.url, ample)
	bodies := map[string]bool{}
	for range 7 {
		s.force(fakeprovider.WrongTypes)
		response := h.Status(t.Context(), provider.Query{Reference: "ref-1"})
		if _, err := invoice.ReadReport(response.Body, protocol.Vocabulary()); err == nil ||
			!json.Valid(response.Body) {
			t.Errorf("%v %s", err, response.Body)
		}
		bodies[string(response.Body)] = true
	}
	if len(bodies) != 7 {
		t.Errorf("only %d ways: %v", len(bodies), bodies)
	}
}

// TestRepeatedReports compares bytes and sequences of repeated and reformatted reports with those of the original.
func TestRepeatedReports(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	submitted := s.submit("ref-1", http.StatusOK, nil)
	s.clock.advance(1200 * time.Millisecond)
	_, told := s.call("GET", "/v1/documents/ref-1", "")
	s.clock.advance(5 * time.Second)
	s.force(fakeprovider.Repeated)
	if _, text := s.call("GET", "/v1/documents/ref-1", ""); text != told {
		t.Errorf("repeated\n%s\nwas\n%s", text, told)
	}
	s.force(fakeprovider.Reformatted)
	_, text := s.call("GET", "/v1/documents/ref-1", "")
	if text == told {
		t.Errorf("not reformatted: %s", text)
	}
	wantEqual(t, "the reformatted report", decode[fakeprovider.Report](t, text), decode[fakeprovider.Report](t, told))
	s.force(fakeprovider.Stale)
	wantEqual(t, "the stale report", s.status("ref-1"), submitted)
	if final := s.status("ref-1"); strings.Count(finals(final), "!") != 4 || final.Sequence <= submitted.Sequence {
		t.Errorf("in the end %+v", final)
	}
}

// TestAHugeResponseIsOneDocument reads 300 MiB of one JSON object without keeping them.
func TestAHugeResponseIsOneDocument(t *testing.T) {
	s := hostileTo(t, 'l', time.Minute)
	s.force(fakeprovider.Huge)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/documents/ref-1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+credential)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	const size, end = 300 << 20, `xxx"}`
	n, err := io.Copy(io.Discard, io.LimitReader(response.Body, size-int64(len(end))))
	if err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(response.Body); err != nil || string(rest) != end {
		t.Errorf("after %d bytes %q, %v", n, rest, err)
	}
}

// TestAHugeResponseIsNotRead counts the bytes that the server can send to the adapter: except for socket buffers, no
// more than the adapter keeps.
func TestAHugeResponseIsNotRead(t *testing.T) {
	s := hostileTo(t, 's', time.Minute)
	var sent atomic.Int64
	done := make(chan struct{})
	counting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		s.ServeHTTP(countingWriter{w, &sent}, r)
	}))
	defer counting.Close()
	s.force(fakeprovider.Huge)
	response := adapterTo(t, counting.URL, ample).Submit(t.Context(), providertest.Document("ref-1"))
	<-done
	if response.Size > provider.MaxResponse || len(response.Body) > provider.MaxResponse ||
		!strings.HasPrefix(string(response.Body), `{"reference":"ref-1"`) {
		t.Errorf("%d bytes read, %d kept", response.Size, len(response.Body))
	}
	if n := sent.Load(); n < provider.MaxResponse || n > 32<<20 {
		t.Errorf("the server sent %d bytes of 300 MiB", n)
	}
}

// countingWriter counts the bytes that were sent.
type countingWriter struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c countingWriter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

// TestARedirectToTheServiceReachesNothing: the credential never arrives at the target of the redirect.
func TestARedirectToTheServiceReachesNothing(t *testing.T) {
	var reached atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer service.Close()
	s := hostileTo(t, 's', time.Minute)
	s.SetServiceAddress(service.URL)
	s.force(fakeprovider.RedirectToService)
	response := adapterTo(t, s.url, ample).Submit(t.Context(), providertest.Document("ref-1"))
	if response.HTTPStatus != 307 || reached.Load() != 0 {
		t.Errorf("%d calls reached the service: %+v", reached.Load(), response)
	}
}

// TestADrippingResponseComesInParts reads the parts as they arrive, and finally the complete response.
func TestADrippingResponseComesInParts(t *testing.T) {
	s := hostileTo(t, 'l', 50*time.Millisecond)
	s.force(fakeprovider.Drip)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/documents/ref-1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+credential)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	reads, text, piece := 0, "", make([]byte, 4096)
	for err == nil {
		var n int
		n, err = response.Body.Read(piece)
		text += string(piece[:n])
		reads++
	}
	if !errors.Is(err, io.EOF) || reads < 3 || decode[fakeprovider.Report](t, text).Reference != "ref-1" {
		t.Errorf("%d reads, %v: %s", reads, err, text)
	}
}
