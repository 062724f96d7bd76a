package provider

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"quittance/internal/platform/secret"
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

// CheckCredential returns [ErrCredential] if a credential cannot be sent as a bearer token.
func CheckCredential(credential secret.Text) error {
	if !IsHeaderToken(credential.Reveal()) {
		return ErrCredential
	}
	return nil
}

// IsHeaderToken reports whether a text can be sent in a header as one token.
func IsHeaderToken(text string) bool {
	forbidden := func(r rune) bool { return r <= ' ' || r > '~' }
	return text != "" && len(text) <= 4096 && !strings.ContainsFunc(text, forbidden)
}
