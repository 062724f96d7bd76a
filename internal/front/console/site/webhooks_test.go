package site_test

import (
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"quittance/client/api"
	"quittance/client/receiver"
	"quittance/internal/exchange/webhook"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
)

// listener is a company's own system. It returns a configured response and records deliveries.
type listener struct {
	url string

	mu       sync.Mutex
	status   int
	response string
	hold     chan struct{} // nil to respond at once
	came     []callback
}

// callback is one recorded delivery.
type callback struct {
	header http.Header
	body   []byte
}

// listen runs a listener and returns the options that let a service reach it.
func listen(t *testing.T, status int, response string) (*listener, func(*service.Config)) {
	t.Helper()
	l := &listener{status: status, response: response}
	server := httptest.NewTLSServer(l)
	t.Cleanup(server.Close)
	l.url = server.URL + "/hooks"
	at, err := url.Parse(server.URL)
	kit.Must(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return l, func(c *service.Config) {
		c.AttemptTimeout = kit.Patience() // longer than a test delays a response
		c.Destinations = webhook.Policy{AllowAddrs: []netip.AddrPort{netip.MustParseAddrPort(at.Host)}, RootCAs: roots}
	}
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.came = append(l.came, callback{r.Header, body})
	status, response, hold := l.status, l.response, l.hold
	l.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	if status == http.StatusFound {
		w.Header().Set("Location", "https://elsewhere.example/")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, response) // the service may have disconnected
}

// become changes the response. hold delays each response until it is closed.
func (l *listener) become(status int, response string, hold chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status, l.response, l.hold = status, response, hold
}

// callbacks returns the recorded deliveries.
func (l *listener) callbacks() []callback {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]callback(nil), l.came...)
}

// subscription creates a subscription in the store and returns its identifier.
func (s *system) subscription(t testing.TB, address, description string, kinds ...api.EventKind) string {
	t.Helper()
	made, err := events.CreateSubscription(t.Context(), s.tenant(t), events.NewSubscription{URL: address, Events: kinds,
		Description: &description, Secret: secret.New("whsec_a-test")})
	kit.Must(t, err)
	return made.ID.String()
}

// purchase stores a purchase document.
func (s *system) purchase(t testing.TB, id string, edit func(*incoming.NewIncoming)) {
	t.Helper()
	document := incoming.NewIncoming{ProviderDocumentID: id, DocumentType: new("380"), InvoiceNumber: new("SUP-" + id),
		SupplierName: new("Synthetic Supplies LLC"), SupplierNetworkID: new("1000000900"), IssueDate: new("2026-03-01"),
		DueDate: new("2026-03-31"), Currency: new("AED"), TotalAmount: new(api.MustDecimal("525.00")),
		MediaType: "application/xml", Metadata: []byte(`{}`), Body: []byte("<Invoice/>"), Retained: true}
	if edit != nil {
		edit(&document)
	}
	kit.Must(t, incoming.Seed(t.Context(), s.tenant(t), []incoming.NewIncoming{document}))
}

// ended waits until every delivery of a subscription has ended, and returns them.
func (s *system) ended(t testing.TB, subscription string) (deliveries []events.Delivery) {
	t.Helper()
	id, err := base.ParseID(subscription)
	kit.Must(t, err)
	kit.Eventually(t, func() error {
		found, err := view.Of(s.tenant(t)).SubscriptionDeliveries(t.Context(), id, "", 1, 100)
		if err != nil || len(found.Deliveries) == 0 || found.Counts[api.DeliveryPending] > 0 {
			return fmt.Errorf("deliveries did not end: %+v, %w", found, err)
		}
		deliveries = found.Deliveries
		return nil
	})
	return deliveries
}

// TestSubscribeForm checks that invalid fields show the API's messages and keep the input. One form creates one
// subscription, whose secret appears in one answer only. The limit applies.
func TestSubscribeForm(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	hooks := s.Info.ReceiverURL
	all := []string{"events", "einvoice.terminal", "events", "einvoice.status.changed"}
	for name, bad := range map[string]struct {
		fields []string
		want   string
	}{
		"no address": {append([]string{"url", "  "}, all...), `id="url-fault"`},
		"plain HTTP": {append([]string{"url", "http://example.com/"}, all...), "must have the scheme https"},
		"a name of ours": {append([]string{"url", "https://localhost/"}, all...),
			"The URL cannot be a webhook destination."},
		"a query": {append([]string{"url", "https://example.com/?a=b"}, all...),
			"must not have a query string, not even an empty one"},
		"no event":         {[]string{"url", hooks, "description", "keep <me>"}, `id="events-fault"`},
		"an unknown event": {[]string{"url", hooks, "events", "einvoice.paid"}, `id="events-fault"`},
		"a long description": {append([]string{"url", hooks, "description", strings.Repeat("x", 1025)}, all...),
			`id="description-fault"`},
		"a control": {append([]string{"url", hooks, "description", "a\x01b"}, all...), `id="description-fault"`},
	} {
		got := v.post("/webhooks/new", bad.fields...)
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, bad.want) {
			t.Errorf("%s: %d without %q", name, got.status, bad.want)
		}
		if name == "no event" && (!strings.Contains(got.body, "keep &lt;me&gt;") || !strings.Contains(got.body, hooks) ||
			strings.Contains(got.body, " checked")) {
			t.Errorf("the input is lost: %s", got.body)
		}
	}
	fields := append([]string{"key", "0123456789abcdef0123456789abcdef", "url", hooks, "description", "one\r\ntwo"},
		all...)
	made := v.post("/webhooks/new", fields...)
	key := secretOf(t, made.body)
	if made.status != http.StatusCreated || made.header.Get("Cache-Control") != "no-store" ||
		made.header.Get("Location") != "" {
		t.Errorf("created: %d %v", made.status, made.header)
	}
	again := v.post("/webhooks/new", fields...)
	path, said, _ := strings.Cut(again.header.Get("Location"), "?")
	if again.status != http.StatusSeeOther || said != "notice=good.subscribed_before" ||
		strings.Contains(fmt.Sprint(again), key) {
		t.Errorf("sending the form again: %d to %q", again.status, again.header.Get("Location"))
	}
	for _, page := range []string{path, "/webhooks", "/webhooks/new"} {
		if got := v.get(page); got.status != http.StatusOK || strings.Contains(got.body, key) {
			t.Errorf("%s: %d, with the secret: %v", page, got.status, strings.Contains(got.body, key))
		}
	}
	if got := v.get(path); !strings.Contains(got.body, "one\ntwo") || !strings.Contains(got.body, "Status changed") ||
		strings.Contains(got.body, ">Incoming revised<") {
		t.Errorf("the page shows another subscription: %s", got.body)
	}
	fields[3] = hooks + "/changed"
	if got := v.post("/webhooks/new", fields...); got.status != http.StatusUnprocessableEntity &&
		secretOf(t, got.body) == key {
		t.Errorf("a changed form: %d", got.status)
	}
	for n := 2; n < events.MaxSubscriptions; n++ {
		s.subscription(t, hooks, "", api.EventTerminal)
	}
	if got := v.post("/webhooks/new", append([]string{"url", hooks}, all...)...); got.status != http.StatusConflict ||
		!strings.Contains(got.body, "limit of active subscriptions") {
		t.Errorf("one subscription too many: %d", got.status)
	}
}

// secretOf returns the signing secret on a page.
func secretOf(t *testing.T, page string) string {
	t.Helper()
	_, from, _ := strings.Cut(page, `<code id="secret" tabindex="0">`)
	key, _, found := strings.Cut(from, "<")
	if !found || !strings.HasPrefix(key, "whsec_") || strings.Count(page, key) != 1 {
		t.Fatalf("the secret does not occur exactly once: %s", page)
	}
	return key
}

// TestDeliveryListIsSmall checks that pages of a hundred deliveries and of a hundred incoming e-invoices transfer less
// than 60 KB.
func TestDeliveryListIsSmall(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	id := s.subscription(t, s.Info.ReceiverURL, "", api.EventIncomingReceived)
	for n := range 100 {
		s.purchase(t, fmt.Sprintf("doc-%d", n), nil)
	}
	s.ended(t, id)
	v := s.loggedIn(t)
	for _, path := range []string{"/webhooks/" + id + "?per=100", "/incoming?per=100"} {
		packed := v.get(path, "Accept-Encoding", "gzip") // set explicitly, so that the compressed bytes are counted
		if packed.header.Get("Content-Encoding") != "gzip" || len(packed.body) > 60_000 {
			t.Errorf("%s: %d bytes, encoding %q", path, len(packed.body), packed.header.Get("Content-Encoding"))
		}
		if got := v.get(path); strings.Count(got.body, `class="row"`) != 100 ||
			!strings.Contains(got.body, "1 to 100 of 100") {
			t.Errorf("%s: %d rows", path, strings.Count(got.body, `class="row"`))
		}
	}
}

// BenchmarkHundredDeliveries requests the page of a subscription with its charts and a hundred deliveries over HTTP.
func BenchmarkHundredDeliveries(b *testing.B) {
	s := start(b, first(), true, time.Millisecond)
	id := s.subscription(b, s.Info.ReceiverURL, "", api.EventIncomingReceived)
	for n := range 100 {
		s.purchase(b, fmt.Sprintf("doc-%d", n), nil)
	}
	s.ended(b, id)
	v := s.loggedIn(b)
	for b.Loop() {
		if got := v.get("/webhooks/"+id+"?per=100", "Accept-Encoding", "gzip"); got.status != http.StatusOK {
			b.Fatal(got.status)
		}
	}
}

// TestFailingDestination checks that a destination that does not answer is shown as failing after some time, on the
// page of the subscription, in the list and on the overview, while its first delivery is still retried, and no longer
// once an attempt arrives.
func TestFailingDestination(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	l, reach := listen(t, http.StatusServiceUnavailable, "")
	s := startAt(t, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }, first(), true,
		time.Millisecond, reach, func(c *service.Config) { c.RetryFirst, c.RetryAttempts = time.Minute, 20 })
	v := s.loggedIn(t)
	id := s.subscription(t, l.url, "", api.EventIncomingReceived)
	s.purchase(t, "a", nil)
	path := "/webhooks/" + id
	shows := func(page string, wanted ...string) {
		t.Helper()
		kit.Eventually(t, func() error {
			got := v.get(page)
			for _, want := range wanted {
				if got.status != http.StatusOK || !strings.Contains(got.body, want) {
					return fmt.Errorf("%s: %d without %q: %s", page, got.status, want, got.body)
				}
			}
			return nil
		})
	}
	shows(path, "Retrying", "The last attempt failed and will be repeated.")
	if got := v.get("/"); strings.Contains(got.body, l.url) {
		t.Errorf("the overview shows a destination that has failed once: %s", got.body)
	}
	ahead.Store(int64(events.FailingAfter))
	shows(path, "Failing", "Every attempt has failed since", "0 of ")
	shows("/webhooks", "Failing")
	shows("/", l.url, "Deliveries fail")
	l.become(http.StatusOK, "", nil)
	ahead.Store(int64(24 * time.Hour / 4))
	shows(path, "Delivering")
	if got := v.get("/"); strings.Contains(got.body, l.url) {
		t.Errorf("the overview shows a destination that answers: %s", got.body)
	}
}

// TestBlockedDelivery checks that a redirect blocks its delivery and deactivates the subscription. Both pages give the
// reason, and nothing is delivered any more.
func TestBlockedDelivery(t *testing.T) {
	t.Parallel()
	l, reach := listen(t, http.StatusFound, "")
	s := start(t, first(), true, time.Millisecond, reach)
	v := s.loggedIn(t)
	id := s.subscription(t, l.url, "", api.EventIncomingReceived)
	s.purchase(t, "a", nil)
	deliveries := s.ended(t, id)
	path := "/webhooks/deliveries/" + deliveries[0].ID.String()
	for page, want := range map[string]string{path: "Your system answered with a redirect, which is not followed.",
		"/webhooks/" + id: "Redirects are not followed", "/webhooks": "Deactivated",
		"/webhooks/" + id + "?state=blocked": path, "/webhooks/" + id + "?state=lost": "<bdi>state=lost</bdi>",
		"/webhooks/lost?kind=x": "<bdi>kind=x</bdi>", "/incoming": "1 webhook delivery failed"} {
		if got := v.get(page); got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d without %q", page, got.status, want)
		}
	}
	if got := v.get("/webhooks/" + id + "?state=delivered"); strings.Contains(got.body, path) ||
		!strings.Contains(got.body, "No deliveries.") {
		t.Error("the filter has no effect")
	}
	if got := v.get(path); strings.Contains(got.body, `id="redeliver"`) || !strings.Contains(got.body, `>a</bdi>`) {
		t.Error("a delivery of a deactivated subscription can be resent")
	}
	if got := v.post(path + "/redeliver"); got.status != http.StatusConflict ||
		!strings.Contains(got.body, "receives no more deliveries") {
		t.Errorf("redeliver: %d", got.status)
	}
	if got := v.post("/webhooks/" + id + "/deactivate"); got.status != http.StatusSeeOther {
		t.Errorf("deactivating again: %d", got.status)
	}
	body := v.get(path + "/body")
	if sent := l.callbacks(); len(sent) != 1 || body.body != string(sent[0].body) ||
		!strings.HasPrefix(body.header.Get("Content-Disposition"), "attachment") ||
		body.header.Get("Content-Type") != "application/octet-stream" ||
		body.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the bytes that were sent: %d %v", len(sent), body.header)
	}
}

// TestWebhooksOfOthers checks that another company's subscriptions, deliveries and incoming e-invoices do not exist,
// for reading or for actions.
func TestWebhooksOfOthers(t *testing.T) {
	t.Parallel()
	l, reach := listen(t, http.StatusOK, "")
	s := start(t, first(), true, time.Millisecond, reach)
	id := s.subscription(t, l.url, "", api.EventIncomingReceived)
	s.purchase(t, "a", nil)
	delivery := s.ended(t, id)[0]
	incoming, err := view.Of(s.tenant(t)).IncomingInvoices(t.Context(), view.IncomingFilter{}, 1, 1)
	kit.Must(t, err)
	s.company(t, "other@example.com", strong)
	stranger := s.visitor(t)
	stranger.login("other@example.com", strong)
	for _, path := range []string{"/webhooks/" + id, "/webhooks/deliveries/" + delivery.ID.String(),
		"/webhooks/deliveries/" + delivery.ID.String() + "/body", "/incoming/" + incoming.Entries[0].ID.String(),
		"/incoming/" + incoming.Entries[0].ID.String() + "/revisions/1/document"} {
		if got := stranger.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
		if got := s.loggedIn(t).get(path); got.status != http.StatusOK {
			t.Errorf("%s for its owner: %d", path, got.status)
		}
	}
	for _, path := range []string{"/webhooks/" + id + "/deactivate",
		"/webhooks/deliveries/" + delivery.ID.String() + "/redeliver"} {
		if got := stranger.post(path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	for _, path := range []string{"/webhooks", "/incoming"} {
		if got := stranger.get(path); strings.Contains(got.body, id) || strings.Contains(got.body, "SUP-a") {
			t.Errorf("%s shows another company's", path)
		}
	}
	if kept, err := events.FindSubscription(t.Context(), s.tenant(t), delivery.Subscription); err != nil || !kept.Active ||
		len(l.callbacks()) != 1 {
		t.Errorf("the request had an effect: %+v, %v", kept, err)
	}
}

// TestSubscribeAndRedeliver checks that a user creates a subscription, copies its secret, sees a delivery fail, fixes
// the receiver, sends it again, sees it arrive without reloading, and deactivates the subscription. Deliveries are
// signed with the secret.
func TestSubscribeAndRedeliver(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		const refusal = `<b id="evil">no & thanks</b><script>document.title = "evil"</script>`
		l, reach := listen(t, http.StatusBadRequest, refusal)
		s := start(t, first(), true, 20*time.Millisecond, reach)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.click(`.side a[href="/webhooks"]`)
		b.until(`document.querySelector(".empty")`)
		b.inspect("webhooks-none")
		b.click("#new")
		b.until(`document.activeElement.id === "url"`)
		b.fill("#url", "https://localhost/hooks")
		b.fill("#description", "Bookkeeping")
		b.click("form.stack button")
		b.until(`document.querySelector("#url-fault")`)
		b.allow("422")
		b.inspect("subscribe-fault")
		b.open("/webhooks/new")
		b.fill("#url", l.url)
		b.fill("#description", "Bookkeeping")
		b.click("form.stack button")
		b.until(`document.querySelector("#secret") && location.pathname !== "/webhooks/new"`)
		b.inspect("new-subscription")
		key := b.text("#secret")
		b.copySecret(key)
		b.do(chromedp.Reload())
		b.until(`document.querySelector("#h-traffic")`)
		gone := fmt.Sprintf(`!document.documentElement.outerHTML.includes(%q)`, key)
		b.until(gone)
		b.do(chromedp.NavigateBack())
		b.until(`document.querySelector("#url") && ` + gone)
		b.do(chromedp.NavigateForward())
		b.until(`document.querySelector("#deactivate") && ` + gone)

		same := b.markPage()
		number := "INV-1"
		s.submitted(t, s.token(t, s.email, s.password), number, "sandbox-accepted")
		b.until(`document.querySelector(".sends .delivery.failed")`)
		same()
		b.until(`document.querySelector(".charts")`)
		b.inspect("subscription-failed")
		b.click(`.tabs a[href$="state=failed"]`)
		b.until(`location.search === "?state=failed" && document.querySelector(".sends a.row")`)
		b.click(".sends a.row")
		b.until(`document.querySelector(".status.rejected")`)
		b.click("#answer-1 summary")
		b.until(`document.querySelector("#answer-1 pre").textContent === ` + quotedText(refusal) +
			` && !document.querySelector("#evil") && document.title !== "evil"`)
		b.until(`document.querySelector('.summary a[href^="/invoices/"]').innerText === "` + number + `"`)
		b.inspect("delivery-failed")

		hold := make(chan struct{})
		l.become(http.StatusOK, "", hold)
		b.click("#redeliver")
		b.until(`document.querySelector("#confirm").matches(":popover-open")`)
		b.inspect("redeliver")
		b.click("#confirm button.primary")
		b.until(`document.querySelector(".status.unknown")`)
		same = b.markPage()
		close(hold)
		b.until(`document.querySelector(".status.acknowledged") && document.querySelectorAll(".sent > li").length === 2`)
		b.until(`document.querySelector("#announcer").textContent.includes("2xx")`)
		same()
		b.inspect("delivery-again")
		s.verified(t, l, key, b.text("#uuid"))

		b.click(`.crumb a:last-child`)
		b.click("#deactivate")
		b.until(`document.querySelector("#confirm").matches(":popover-open")`)
		b.click("#confirm button.danger")
		b.until(
			`document.querySelector(".status.rejected").innerText.includes("Somebody in your company deactivated it") && !document.querySelector("#deactivate")`)
		b.inspect("subscription-ended")
	})
}

// copySecret copies the secret with and without the browser's permission.
func (b *browser) copySecret(key string) {
	b.t.Helper()
	b.do(chromedp.Evaluate(`navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }`,
		nil))
	b.click("#copy")
	b.until(fmt.Sprintf(`window.copied === %q && document.querySelector("#copy").innerText === "Copied"`, key))
	b.do(chromedp.Evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error("no permission"))`, nil))
	b.click("#copy")
	b.until(fmt.Sprintf(
		`getSelection().toString() === %q && document.querySelector("#announcer").textContent.includes("Ctrl+C")`, key))
}

func quotedText(text string) string {
	return "`" + strings.ReplaceAll(text, "`", "") + "`"
}

// verified checks that an event arrived twice, both times signed with a secret.
func (s *system) verified(t *testing.T, l *listener, key, event string) {
	t.Helper()
	verifier, came := receiver.Verifier{Secrets: []string{key}}, 0
	for _, c := range l.callbacks() {
		if _, err := verifier.Verify(c.header, c.body); err != nil {
			t.Errorf("the signature: %v", err)
		}
		if c.header.Get(api.HeaderDelivery) == event {
			came++
		}
	}
	if came != 2 {
		t.Errorf("event %q arrived %d times, want 2", event, came)
	}
}
