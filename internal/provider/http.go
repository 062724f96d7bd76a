package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"quittance/internal/secret"
)

// Config is what an [HTTP] adapter needs.
type Config struct {
	// BaseURL is the provider's address, a path prefix included: see [ParseBaseURL].
	BaseURL string
	// Credential is the bearer credential: visible ASCII without spaces.
	Credential secret.Text
	// Timeout bounds a whole call, from waiting for a connection to the last byte of the answer; 20 s when 0
	// (contract, section 11).
	Timeout time.Duration
	// MaxConns bounds the connections open at a time; a call beyond them waits within its time-out. 16 when 0. They are kept
	// for half a minute after their last call.
	MaxConns int
	// RootCAs are the trusted authorities; the system's when nil.
	RootCAs *x509.CertPool
	// Clock tells the time.
	Clock func() time.Time
	// Dial opens a connection; that of a zero [net.Dialer] when nil.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// HTTP speaks the provider protocol (contract, section 6). It follows no redirect, uses no proxy, asks for no
// compression and speaks HTTP/1.1, where one connection carries one request at a time and so can vouch for it. Each
// provider connection has an adapter of its own: one connection's trouble slows no other company.
type HTTP struct {
	base       string // without a trailing slash
	credential secret.Text
	timeout    time.Duration
	clock      func() time.Time
	transport  *http.Transport
	echoed     func(text []byte, truncated bool) bool
}

var _ Adapter = (*HTTP)(nil)

// The errors of a configuration. They hold nothing of the value that was refused.
var (
	// ErrBaseURL says that an address is not what [ParseBaseURL] wants.
	ErrBaseURL = errors.New("provider: the base URL must be https (http for a loopback address only), with a host, and without user info, query and fragment")
	// ErrCredential says that a credential cannot be sent in a header.
	ErrCredential = errors.New("provider: the credential must be visible ASCII without spaces, from 1 to 4096 characters")
	// ErrConfig says that a time-out or a number of connections is negative, or that the clock is missing.
	ErrConfig = errors.New("provider: the configuration has no clock, or a negative bound")
)

const (
	defaultTimeout  = 20 * time.Second
	defaultMaxConns = 16
	// idleTimeout is shorter than what servers usually allow, so that a request seldom meets a connection that the
	// other side is just closing: that would make its outcome unknown.
	idleTimeout    = 30 * time.Second
	maxHeaderBytes = 64 << 10
)

// ParseBaseURL checks the address of a provider: https with a host, or http for localhost or a literal loopback
// address, because a credential never crosses a network in the clear. Which environment may use which address is for
// the caller to decide. It returns [ErrBaseURL].
func ParseBaseURL(raw string) (*url.URL, error) {
	base, err := url.Parse(raw)
	if err != nil || base.Hostname() == "" || base.User != nil || base.Opaque != "" || strings.ContainsAny(raw, "?#") {
		return nil, ErrBaseURL
	}
	if port := base.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, ErrBaseURL
		}
	}
	if base.Scheme == "https" || base.Scheme == "http" && loopback(base.Hostname()) {
		return base, nil
	}
	return nil, ErrBaseURL
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

// NewHTTP makes an adapter; it opens no connection. It returns [ErrBaseURL], [ErrCredential] or [ErrConfig].
func NewHTTP(config Config) (*HTTP, error) {
	base, err := ParseBaseURL(config.BaseURL)
	if err != nil {
		return nil, err
	}
	if err := CheckCredential(config.Credential); err != nil {
		return nil, err
	}
	if config.Clock == nil || config.Timeout < 0 || config.MaxConns < 0 {
		return nil, ErrConfig
	}
	timeout, conns := config.Timeout, config.MaxConns
	if timeout == 0 {
		timeout = defaultTimeout
	}
	if conns == 0 {
		conns = defaultMaxConns
	}
	if config.Dial == nil {
		config.Dial = new(net.Dialer).DialContext
	}
	dial := dialer{dial: config.Dial, timeout: timeout, tls: &tls.Config{
		MinVersion: tls.VersionTLS12,
		RootCAs:    config.RootCAs,
		ServerName: base.Hostname(),
		NextProtos: []string{"http/1.1"},
		// Connections made after an idle time resume the session: one host, a few tickets.
		ClientSessionCache: tls.NewLRUClientSessionCache(8),
	}}
	return &HTTP{
		base:       strings.TrimRight(base.String(), "/"),
		credential: config.Credential,
		timeout:    timeout,
		clock:      config.Clock,
		echoed:     secret.NewEcho(config.Credential),
		transport: &http.Transport{
			DialContext:            dial.plain,
			DialTLSContext:         dial.secure,
			DisableCompression:     true,
			MaxConnsPerHost:        conns,
			MaxIdleConnsPerHost:    conns,
			IdleConnTimeout:        idleTimeout,
			MaxResponseHeaderBytes: maxHeaderBytes,
		},
	}, nil
}

// CheckCredential tells whether a credential can be sent as a bearer token: it returns [ErrCredential] when not.
func CheckCredential(credential secret.Text) error {
	if !sendable(credential.Reveal()) {
		return ErrCredential
	}
	return nil
}

// sendable tells whether a text can stand in a header as one word.
func sendable(text string) bool {
	unsendable := func(r rune) bool { return r <= ' ' || r > '~' }
	return text != "" && len(text) <= 4096 && !strings.ContainsFunc(text, unsendable)
}

// Close ends the idle connections. Calls under way finish.
func (h *HTTP) Close() { h.transport.CloseIdleConnections() }

// Profile declares the vocabulary of the provider protocol, in which references are idempotent.
func (h *HTTP) Profile() Profile {
	return Profile{Vocabulary: ProtocolVocabulary(), Idempotent: true, EchoesCredential: h.holds}
}

// Submit implements [Adapter] by POST /v1/documents.
func (h *HTTP) Submit(ctx context.Context, doc Document) Response {
	if !sendable(doc.Reference) || len(doc.Body) == 0 {
		return Response{Kind: NotSent, ErrorClass: ClassProtocol}
	}
	return h.exchange(ctx, call{
		method: http.MethodPost, path: "/v1/documents", reference: doc.Reference, body: doc.Body,
		keep: MaxResponse, scan: MaxResponse,
		accepts: func(status int) bool { return status == http.StatusOK || status == http.StatusAccepted },
	})
}

// Status implements [Adapter] by GET /v1/documents/{reference}.
func (h *HTTP) Status(ctx context.Context, reference string) Response {
	if reference == "" {
		return Response{Kind: NotSent, ErrorClass: ClassProtocol}
	}
	return h.exchange(ctx, question("/v1/documents/"+segment(reference)))
}

// Purchases implements [Adapter] by GET /v1/purchases.
func (h *HTTP) Purchases(ctx context.Context, cursor string, limit int) (PurchasePage, Response) {
	c := question("/v1/purchases")
	query := url.Values{"limit": {strconv.Itoa(min(max(limit, 1), MaxPurchasePage))}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	c.query = query.Encode()
	answer := h.exchange(ctx, c)
	if answer.Kind != Answered {
		return PurchasePage{}, answer
	}
	page, err := readPage(answer.Body, cursor)
	if asked := min(max(limit, 1), MaxPurchasePage); len(page.Purchases) > asked {
		err = errNotPage // more than was asked for is not believed: how much a turn brings is ours to bound
	}
	// A cursor is kept in clear: one that holds our credential is none.
	if err != nil || h.holds(page.NextCursor) {
		answer.Kind, answer.ErrorClass = Ambiguous, ClassProtocol
		return PurchasePage{}, answer
	}
	for n := range page.Purchases {
		h.withhold(&page.Purchases[n])
	}
	return page, answer
}

// holds tells whether a text holds the credential.
func (h *HTTP) holds(text string) bool { return h.echoed([]byte(text), false) }

// withhold empties an entry that holds the credential of everything that could be shown.
func (h *HTTP) withhold(p *Purchase) {
	if !h.holds(string(p.Raw)) {
		return
	}
	kept := Purchase{Raw: p.Raw, Unreadable: true, Echoed: true}
	if !h.holds(p.ID) {
		kept.ID = p.ID
	}
	*p = kept
}

// PurchaseDocument implements [Adapter] by GET /v1/purchases/{id}/document.
func (h *HTTP) PurchaseDocument(ctx context.Context, id string) Response {
	if id == "" {
		return Response{Kind: NotSent, ErrorClass: ClassProtocol}
	}
	c := question("/v1/purchases/" + segment(id) + "/document")
	c.keep, c.scan = MaxPurchaseDocument, MaxPurchaseScan
	return h.exchange(ctx, c)
}

func question(path string) call {
	return call{
		method: http.MethodGet, path: path, keep: MaxResponse, scan: MaxResponse,
		accepts: func(status int) bool { return status == http.StatusOK },
	}
}

// segment escapes one path segment. Segments of dots alone are escaped too, or they would walk up the path: the
// identifier of a purchase document is the provider's own text.
func segment(text string) string {
	if text == "." || text == ".." {
		return strings.ReplaceAll(text, ".", "%2E")
	}
	return url.PathEscape(text)
}

// head returns the status line and the headers of a response as one text.
func head(response *http.Response) string {
	var text strings.Builder
	text.WriteString(response.Status)
	for name, values := range response.Header {
		text.WriteString("\n" + name + ": " + strings.Join(values, "\n"))
	}
	return text.String()
}
