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

	"quittance/client/api"
	"quittance/internal/platform/secret"
	"quittance/sandbox/fakeprovider"
)

// company is one customer, with what its provider and its receivers know and what it was told.
type company struct {
	*companyFixture
	w        *world
	provider *fakeprovider.Server
	// the calls that the provider received, by reference, in order; guarded by w.mu
	providerCalls map[string][]providerCall
	received      map[string]*received // by subscription path and event; guarded by w.mu
	model         model
}

// providerCall is one call about a reference as the provider received it.
type providerCall struct {
	at      time.Time
	posted  bool
	status  int // 0 if the response was cut off
	missing bool
	report  *fakeprovider.Report // the report in the response, true or not; nil if there is none on the reference
}

// received is one event as a receiver received it.
type received struct {
	body      []byte
	signature string
	timestamp string
	times     int
	accepted  int // how many responses were 2xx
	last      int // the last response status
}

// The behaviours of receivers.
const (
	honest    = "honest"
	flaky     = "flaky"
	redirects = "redirects"
	refuses   = "refuses"
)

// openCompany starts the provider of a company.
func (w *world) openCompany(f *companyFixture, dir string) *company {
	c := &company{companyFixture: f, w: w, providerCalls: map[string][]providerCall{}, received: map[string]*received{},
		model: newModel()}
	var err error
	c.provider, err = fakeprovider.New(fakeprovider.Options{Dir: dir, Credential: secret.New(f.credential),
		Clock: time.Now, Pace: time.Second, Silence: 30 * time.Second, Log: w.log, Chaos: fakeprovider.ChaosHigh,
		ChaosSeed: w.seed})
	w.must(err)
	w.net.serve(strings.TrimPrefix(f.baseURL, "http://"),
		&http.Server{Handler: http.HandlerFunc(c.intercept), ErrorLog: discardLog}, nil)
	return c
}

// intercept passes a call to the provider, and records the call and its response.
func (c *company) intercept(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the request is incomplete, so the provider does not read it
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
		// these calls run at the same time, and must not depend on each other's connections
		w.Header().Set("Connection", "close")
	}
	response := &recordingWriter{ResponseWriter: w}
	defer func() {
		cause := recover() // net/http aborts a response by a panic
		if reference != "" {
			status := response.status
			if cause != nil {
				status = 0
			}
			e := providerCall{at: arrived, posted: posted, status: status,
				missing: bytes.Contains(response.body.Bytes(), []byte(`"unknown_reference"`))}
			var said fakeprovider.Report
			if json.Unmarshal(response.body.Bytes(), &said) == nil && said.Reference == reference {
				e.report = &said
			}
			c.w.mu.Lock()
			c.providerCalls[reference] = append(c.providerCalls[reference], e)
			c.w.mu.Unlock()
		}
		if cause != nil {
			panic(cause)
		}
	}()
	c.provider.ServeHTTP(response, r)
}

// maxCallDelay is how much later than its intent a call may arrive if its process died before it could record the call.
// A call begins within ten seconds after its intent, or never.
const maxCallDelay = 11 * time.Second

// checkResend checks the rule of a resend: a document is sent a second time only if the provider has refused it unread,
// or has said twice, 60 s apart and later than two call time-outs after the last send, that it does not have it.
func (c *company) checkResend(reference string) {
	history := c.callsAbout(reference)
	var sent *providerCall
	var missing []time.Time
	for n := range history {
		e := &history[n]
		switch {
		case e.posted:
			sent, missing = e, nil
		case e.missing && sent != nil && e.at.Sub(sent.at) > 2*callTimeout-maxCallDelay:
			missing = append(missing, e.at)
		}
	}
	if sent == nil || sent.status == http.StatusTooManyRequests || sent.status == http.StatusUnauthorized ||
		sent.status == http.StatusForbidden {
		return
	}
	c.w.count("sent again after status queries")
	// the service counts in microseconds
	if len(missing) < 2 || missing[len(missing)-1].Sub(missing[0]) < time.Minute-time.Millisecond {
		c.w.violate(
			"%s: %s was sent again at %s, with %d answers that it is missing since it was last sent: the rule of resending is broken: %+v",
			c.name, reference, time.Now(), len(missing), history)
	}
}

// maxRecorded is the number of bytes of a response that are recorded: more than the service reads.
const maxRecorded = 2 << 20

type recordingWriter struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (t *recordingWriter) WriteHeader(status int) {
	t.status = status
	t.ResponseWriter.WriteHeader(status)
}

func (t *recordingWriter) Write(b []byte) (int, error) {
	if t.status == 0 {
		t.status = http.StatusOK
	}
	if t.body.Len() < maxRecorded {
		t.body.Write(b)
	}
	return t.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (t *recordingWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// startReceivers starts the server of all receivers. A path is /company/behaviour/number.
func (w *world) startReceivers() {
	address := net.JoinHostPort(receiverAddress, "443")
	config := &tls.Config{Certificates: []tls.Certificate{w.fixture.certificate}, MinVersion: tls.VersionTLS12}
	w.net.serve(address, &http.Server{Handler: http.HandlerFunc(w.serveReceiver), ErrorLog: discardLog},
		func(l net.Listener) net.Listener { return tls.NewListener(l, config) })
	w.net.listeners[address].secure = true
}

// serveReceiver receives a callback with the behaviour in its path.
func (w *world) serveReceiver(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	at := slices.IndexFunc(w.companies, func(c *company) bool { return c.name == parts[0] })
	if at < 0 || len(parts) != 3 {
		w.violate("a callback was sent to %s, where there is no receiver", r.URL.Path)
		return
	}
	c := w.companies[at]
	status := w.respondAs(parts[1], r)
	c.recordCallback(r, body, status)
	if status == http.StatusFound {
		out.Header().Set("Location", "https://"+hookHost+"/elsewhere")
	}
	out.WriteHeader(status)
}

// respondAs returns the response status of a receiver. It aborts the response itself if the receiver cuts it off.
func (w *world) respondAs(behaviour string, r *http.Request) int {
	key := "receive " + r.URL.Path + r.Header.Get(api.HeaderDelivery)
	switch {
	case behaviour == redirects && w.chance(key, 0.3):
		w.count("receiver: redirect")
		return http.StatusFound
	case behaviour == refuses && w.chance(key, 0.5):
		w.count("receiver: gone")
		return http.StatusGone
	case behaviour == flaky && w.chance(key, 0.5):
		statuses := []int{http.StatusInternalServerError, http.StatusTooManyRequests, http.StatusConflict,
			http.StatusRequestTimeout, -1, 0}
		status := statuses[w.randomFor(key+" status")%uint64(len(statuses))]
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

// recordCallback records a callback and compares it with earlier ones: every attempt of an event must have the same
// bytes.
func (c *company) recordCallback(r *http.Request, body []byte, status int) {
	event, signature, timestamp := r.Header.Get(api.HeaderDelivery), r.Header.Get(api.HeaderSignature),
		r.Header.Get(api.HeaderTimestamp)
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
	case err != nil || envelope.ID != event || envelope.Event != r.Header.Get(api.HeaderEvent) ||
		envelope.OccurredAt != timestamp:
		broken = "a callback's body contradicts its headers"
	case !bytes.Equal(got.body, body) || got.signature != signature || got.timestamp != timestamp:
		broken = "an event was not sent with the same bytes each time"
	}
	if broken != "" && c.w.violation == "" {
		c.w.violation = c.name + ": " + broken
	}
}

// signature returns the signature that docs/webhooks.md describes. It is implemented independently of the service.
func signature(key, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}
