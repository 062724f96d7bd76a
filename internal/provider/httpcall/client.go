package httpcall

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"quittance/internal/platform/secret"
	"quittance/internal/provider"
)

// Client makes calls over HTTP. It follows no redirects, uses no proxy and requests no compression. It speaks HTTP/1.1,
// where a connection carries one request at a time and therefore knows whether that request was begun. Each provider
// connection has its own client, so that a failing connection slows no other company.
type Client struct {
	base       string // without a trailing slash
	credential secret.Text
	// credentialHeader is the header that carries the credential, and credentialPrefix what stands before it there.
	credentialHeader, credentialPrefix string

	// refusesUnread are the statuses that the provider describes as sent to any request before it reads a document.
	refusesUnread []int

	// Timeout limits a whole call, and whatever an adapter does in one of its methods.
	Timeout    time.Duration
	clock      func() time.Time
	transport  *http.Transport
	detectEcho func(text []byte, truncated bool) bool
}

const (
	defaultTimeout  = 20 * time.Second
	defaultMaxConns = 16
	// idleTimeout is shorter than that of most servers, so that a request seldom uses a connection that the server is just
	// closing. That would make its outcome unknown.
	idleTimeout    = 30 * time.Second
	maxHeaderBytes = 64 << 10
)

// New returns a client that sends the credential in a header after a prefix, and opens no connection. refusesUnread are
// the statuses of [Client].refusesUnread. New returns [provider.ErrBaseURL], [provider.ErrCredential] or
// [provider.ErrConfig].
func New(config provider.Config, header, prefix string, refusesUnread ...int) (*Client, error) {
	base, err := provider.ParseBaseURL(config.BaseURL)
	if err != nil {
		return nil, err
	}
	if err := provider.CheckCredential(config.Credential); err != nil {
		return nil, err
	}
	if config.Clock == nil || config.Timeout < 0 || config.MaxConns < 0 {
		return nil, provider.ErrConfig
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
	return &Client{
		base:             strings.TrimRight(base.String(), "/"),
		credential:       config.Credential,
		credentialHeader: header, credentialPrefix: prefix, refusesUnread: refusesUnread,
		Timeout:    timeout,
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

// Close closes the idle connections. Calls in progress finish.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// ContainsCredential reports whether a text contains the credential.
func (c *Client) ContainsCredential(text string) bool { return c.detectEcho([]byte(text), false) }

// Withhold removes everything that could be shown from an entry that contains the credential.
func (c *Client) Withhold(p *provider.Purchase) {
	if !c.ContainsCredential(string(p.Raw)) {
		return
	}
	kept := provider.Purchase{Raw: p.Raw, Unreadable: true, Echoed: true}
	if !c.ContainsCredential(p.ID) {
		kept.ID = p.ID
	}
	*p = kept
}

// MediaTypeJSON is the media type of JSON.
const MediaTypeJSON = "application/json"

// Get returns the specification of a GET request.
func Get(path string) Spec {
	return Spec{
		Method: http.MethodGet, Path: path, MaxRetained: provider.MaxResponse, MaxRead: provider.MaxResponse,
		AcceptsStatus: func(status int) bool { return status == http.StatusOK },
	}
}

// EscapeSegment escapes one path segment. It also escapes "." and "..", which would lead up the path: the identifier of
// a purchase document is the provider's text.
func EscapeSegment(text string) string {
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
