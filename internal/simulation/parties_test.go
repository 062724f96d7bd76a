package simulation

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"quittance/api"
	"quittance/internal/fakeprovider"
	"quittance/internal/secret"
)

// company is one customer: what its provider and its receivers know, and what it was told.
type company struct {
	*fixedCompany
	w         *world
	provider  *fakeprovider.Server
	exchanges map[string][]exchange // what the provider was asked about a reference, in order; guarded by w.mu
	received  map[string]*received  // by subscription path and event; guarded by w.mu
	model     model
}

// exchange is one request about a reference as the provider saw it.
type exchange struct {
	at      time.Time
	posted  bool
	status  int // 0 when the answer was broken off
	missing bool
	said    *fakeprovider.Report // what the answer says, true or not; nil when it is no report on the reference
}

// received is one event as a receiver got it.
type received struct {
	body      []byte
	signature string
	timestamp string
	times     int
	accepted  int // how often it was answered 2xx
	last      int // the last status it was answered
}

// The ways in which a receiver may treat its callers.
const (
	honest    = "honest"
	flaky     = "flaky"
	redirects = "redirects"
	refuses   = "refuses"
)

// open starts the provider of a company.
func (w *world) open(f *fixedCompany, dir string) *company {
	c := &company{fixedCompany: f, w: w, exchanges: map[string][]exchange{}, received: map[string]*received{}, model: newModel()}
	var err error
	c.provider, err = fakeprovider.New(fakeprovider.Options{Dir: dir, Credential: secret.New(f.credential), Clock: time.Now,
		Pace: time.Second, Silence: 30 * time.Second, Log: w.log, Chaos: fakeprovider.ChaosHigh, ChaosSeed: w.seed})
	w.must(err)
	w.net.serve(strings.TrimPrefix(f.baseURL, "http://"), &http.Server{Handler: http.HandlerFunc(c.tap), ErrorLog: quiet}, nil)
	return c
}

// tap stands in front of the provider and remembers what it was asked and what it answered.
func (c *company) tap(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it did not arrive whole: the provider has read nothing
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	reference, posted := "", r.Method == http.MethodPost
	if path, found := strings.CutPrefix(r.URL.Path, "/v1/documents/"); found {
		reference = path
	} else if posted {
		reference = r.Header.Get("Idempotency-Key")
		c.checkResend(reference)
	}
	if strings.HasPrefix(r.URL.Path, "/v1/purchases/") {
		w.Header().Set("Connection", "close") // these are asked for at the same time: which one would get the other's connection?
	}
	answer := &tapped{ResponseWriter: w}
	defer func() {
		cause := recover() // how net/http breaks off an answer
		if reference != "" {
			status := answer.status
			if cause != nil {
				status = 0
			}
			e := exchange{at: arrived, posted: posted, status: status, missing: bytes.Contains(answer.body.Bytes(), []byte(`"unknown_reference"`))}
			var said fakeprovider.Report
			if json.Unmarshal(answer.body.Bytes(), &said) == nil && said.Reference == reference {
				e.said = &said
			}
			c.w.mu.Lock()
			c.exchanges[reference] = append(c.exchanges[reference], e)
			c.w.mu.Unlock()
		}
		if cause != nil {
			panic(cause)
		}
	}()
	c.provider.ServeHTTP(answer, r)
}

// travel is how much later than its intent a call may arrive when its process died before it could say so: it begins within ten
// seconds, or not at all.
const travel = 11 * time.Second

// checkResend holds the rule of the contract, section 5: a document is sent a second time only when the provider has refused it before reading
// it, or has said twice, 60 s apart and later than twice the call's time-out, that it does not have it.
func (c *company) checkResend(reference string) {
	history := c.asked(reference)
	var sent *exchange
	var missing []time.Time
	for n := range history {
		e := &history[n]
		switch {
		case e.posted:
			sent, missing = e, nil
		case e.missing && sent != nil && e.at.Sub(sent.at) > 2*callTimeout-travel:
			missing = append(missing, e.at)
		}
	}
	if sent == nil || sent.status == http.StatusTooManyRequests || sent.status == http.StatusUnauthorized || sent.status == http.StatusForbidden {
		return
	}
	c.w.count("sent again after look-ups")
	if len(missing) < 2 || missing[len(missing)-1].Sub(missing[0]) < time.Minute-time.Millisecond { // the service counts in microseconds
		c.w.violate("%s: %s was sent again at %s, with %d answers that it is missing since it was last sent: the rule of resending is broken: %+v",
			c.name, reference, time.Now(), len(missing), history)
	}
}

// kept is how much of an answer is looked at, in bytes: more than the service reads.
const kept = 2 << 20

type tapped struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (t *tapped) WriteHeader(status int) {
	t.status = status
	t.ResponseWriter.WriteHeader(status)
}

func (t *tapped) Write(b []byte) (int, error) {
	if t.status == 0 {
		t.status = http.StatusOK
	}
	if t.body.Len() < kept {
		t.body.Write(b)
	}
	return t.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (t *tapped) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// receivers starts the one server of all receivers. A path is /company/manner/number.
func (w *world) receivers() {
	address := net.JoinHostPort(receiverAddress, "443")
	config := &tls.Config{Certificates: []tls.Certificate{w.fixed.certificate}, MinVersion: tls.VersionTLS12}
	w.net.serve(address, &http.Server{Handler: http.HandlerFunc(w.receive), ErrorLog: quiet},
		func(l net.Listener) net.Listener { return tls.NewListener(l, config) })
	w.net.listeners[address].secure = true
}

// receive takes a callback in the manner of its path.
func (w *world) receive(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	at := slices.IndexFunc(w.companies, func(c *company) bool { return c.name == parts[0] })
	if at < 0 || len(parts) != 3 {
		w.violate("a callback came to %s, where nobody listens", r.URL.Path)
		return
	}
	c := w.companies[at]
	status := w.manner(parts[1], r)
	c.note(r, body, status)
	if status == http.StatusFound {
		out.Header().Set("Location", "https://"+hookHost+"/elsewhere")
	}
	out.WriteHeader(status)
}

// manner is how a receiver answers: 0 for breaking off, which it does by itself.
func (w *world) manner(manner string, r *http.Request) int {
	key := "receive " + r.URL.Path + r.Header.Get(api.HeaderDelivery)
	switch {
	case manner == redirects && w.may(key, 0.3):
		w.count("receiver: redirect")
		return http.StatusFound
	case manner == refuses && w.may(key, 0.5):
		w.count("receiver: gone")
		return http.StatusGone
	case manner == flaky && w.may(key, 0.5):
		statuses := []int{http.StatusInternalServerError, http.StatusTooManyRequests, http.StatusConflict, http.StatusRequestTimeout, -1, 0}
		status := statuses[w.draw(key+" status")%uint64(len(statuses))]
		switch status {
		case -1:
			w.count("receiver: hangs")
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		case 0:
			w.count("receiver: breaks off")
			panic(http.ErrAbortHandler)
		}
		w.count("receiver: " + http.StatusText(status))
		return status
	}
	return http.StatusNoContent
}

// note remembers a callback and holds it to the ones before: the same event has the same bytes in every attempt.
func (c *company) note(r *http.Request, body []byte, status int) {
	event, signature, timestamp := r.Header.Get(api.HeaderDelivery), r.Header.Get(api.HeaderSignature), r.Header.Get(api.HeaderTimestamp)
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	key := r.URL.Path + " " + event
	got := c.received[key]
	if got == nil {
		got = &received{body: body, signature: signature, timestamp: timestamp}
		c.received[key] = got
	}
	got.times++
	got.last = status
	if status/100 == 2 {
		got.accepted++
	}
	broken := ""
	var envelope struct {
		ID         string `json:"id"`
		Event      string `json:"event"`
		OccurredAt string `json:"occurred_at"`
	}
	switch err := json.Unmarshal(body, &envelope); {
	case err != nil || envelope.ID != event || envelope.Event != r.Header.Get(api.HeaderEvent) || envelope.OccurredAt != timestamp:
		broken = "a callback's body does not say what its headers say"
	case !bytes.Equal(got.body, body) || got.signature != signature || got.timestamp != timestamp:
		broken = "an event was not told in the same bytes each time"
	}
	if broken != "" && c.w.violation == "" {
		c.w.violation = c.name + ": " + broken
	}
}

// signed is the signature of the specification, part 6.3, written from there.
func signed(key, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}
