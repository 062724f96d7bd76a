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

// Config is what an adapter to a provider needs.
type Config struct {
	// BaseURL is the provider's address, optionally with a path prefix: see [ParseBaseURL].
	BaseURL string
	// Credential is what the provider expects in a header: visible ASCII without spaces.
	Credential secret.Text
	// Options are the values of the adapter's own options, by name; see [Description].
	Options map[string]string
	// Timeout limits a whole call, from waiting for a connection to the last byte of the response; 20 s if 0.
	Timeout time.Duration
	// MaxConns limits the open connections; 16 if 0. Further calls wait, within their time-out. A connection stays open
	// for half a minute after its last call.
	MaxConns int
	// RootCAs are the trusted certificate authorities; the system's if nil.
	RootCAs *x509.CertPool
	// Clock returns the current time.
	Clock func() time.Time
	// Dial opens a connection; nil means a zero [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// client makes calls over HTTP. It follows no redirects, uses no proxy and requests no compression. It speaks HTTP/1.1,
// where a connection carries one request at a time and therefore knows whether that request was begun. Each provider
// connection has its own client, so that a failing connection slows no other company.
type client struct {
	base       string // without a trailing slash
	credential secret.Text
	// credentialHeader is the header that carries the credential, and credentialPrefix what stands before it there.
	credentialHeader, credentialPrefix string

	// refusesUnread are the statuses that the provider describes as sent to any request before it reads a document.
	refusesUnread []int

	timeout    time.Duration
	clock      func() time.Time
	transport  *http.Transport
	detectEcho func(text []byte, truncated bool) bool
}

// The errors of a configuration. They contain nothing of the invalid value.
var (
	// ErrBaseURL says that an address does not meet the rules of [ParseBaseURL].
	ErrBaseURL = errors.New(
		"provider: the base URL must be https (http for a loopback address only), with a host, and without user info, query and fragment")
	// ErrCredential says that a credential cannot be sent in a header.
	ErrCredential = errors.New("provider: the credential must be visible ASCII without spaces, from 1 to 4096 characters")
	// ErrConfig says that a time-out or a number of connections is negative, or that there is no clock.
	ErrConfig = errors.New("provider: the configuration has no clock, or a negative bound")
)

const (
	defaultTimeout  = 20 * time.Second
	defaultMaxConns = 16
	// idleTimeout is shorter than that of most servers, so that a request seldom uses a connection that the server is just
	// closing. That would make its outcome unknown.
	idleTimeout    = 30 * time.Second
	maxHeaderBytes = 64 << 10
)

// ParseBaseURL checks the address of a provider: https with a host, or http for localhost or a literal loopback
// address, because a credential must not cross a network unencrypted. The caller decides which environment may use
// which address. ParseBaseURL returns [ErrBaseURL].
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
	if base.Scheme == "https" || base.Scheme == "http" && isLoopback(base.Hostname()) {
		return base, nil
	}
	return nil, ErrBaseURL
}

// isLoopback reports whether a host name always means this machine.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

// newClient returns a client that sends the credential in a header after a prefix, and opens no connection.
// refusesUnread are the statuses of [client].refusesUnread. newClient returns [ErrBaseURL], [ErrCredential] or
// [ErrConfig].
func newClient(config Config, header, prefix string, refusesUnread ...int) (*client, error) {
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
		// New connections resume the TLS session. There is one host, so a few tickets suffice.
		ClientSessionCache: tls.NewLRUClientSessionCache(8),
	}}
	return &client{
		base:             strings.TrimRight(base.String(), "/"),
		credential:       config.Credential,
		credentialHeader: header, credentialPrefix: prefix, refusesUnread: refusesUnread,
		timeout:    timeout,
		clock:      config.Clock,
		detectEcho: secret.NewEcho(config.Credential),
		transport: &http.Transport{
			DialContext:            dial.dialPlain,
			DialTLSContext:         dial.dialTLS,
			DisableCompression:     true,
			MaxConnsPerHost:        conns,
			MaxIdleConnsPerHost:    conns,
			IdleConnTimeout:        idleTimeout,
			MaxResponseHeaderBytes: maxHeaderBytes,
		},
	}, nil
}

// CheckCredential returns [ErrCredential] if a credential cannot be sent as a bearer token.
func CheckCredential(credential secret.Text) error {
	if !isHeaderToken(credential.Reveal()) {
		return ErrCredential
	}
	return nil
}

// isHeaderToken reports whether a text can be sent in a header as one token.
func isHeaderToken(text string) bool {
	forbidden := func(r rune) bool { return r <= ' ' || r > '~' }
	return text != "" && len(text) <= 4096 && !strings.ContainsFunc(text, forbidden)
}

// Close closes the idle connections. Calls in progress finish.
func (c *client) Close() { c.transport.CloseIdleConnections() }

// containsCredential reports whether a text contains the credential.
func (c *client) containsCredential(text string) bool { return c.detectEcho([]byte(text), false) }

// withhold removes everything that could be shown from an entry that contains the credential.
func (c *client) withhold(p *Purchase) {
	if !c.containsCredential(string(p.Raw)) {
		return
	}
	kept := Purchase{Raw: p.Raw, Unreadable: true, Echoed: true}
	if !c.containsCredential(p.ID) {
		kept.ID = p.ID
	}
	*p = kept
}

// mediaTypeJSON is the media type of JSON.
const mediaTypeJSON = "application/json"

// getCall returns the specification of a GET request.
func getCall(path string) callSpec {
	return callSpec{
		method: http.MethodGet, path: path, maxRetained: MaxResponse, maxRead: MaxResponse,
		acceptsStatus: func(status int) bool { return status == http.StatusOK },
	}
}

// escapeSegment escapes one path segment. It also escapes "." and "..", which would lead up the path: the identifier of
// a purchase document is the provider's text.
func escapeSegment(text string) string {
	if text == "." || text == ".." {
		return strings.ReplaceAll(text, ".", "%2E")
	}
	return url.PathEscape(text)
}

// statusAndHeaders returns the status line and the headers of a response as one text.
func statusAndHeaders(response *http.Response) string {
	var text strings.Builder
	text.WriteString(response.Status)
	for name, values := range response.Header {
		text.WriteString("\n" + name + ": " + strings.Join(values, "\n"))
	}
	return text.String()
}
