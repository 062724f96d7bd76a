package sso

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// The bounds of calls to the provider.
const (
	callTimeout  = 10 * time.Second // of one call
	loginTimeout = 15 * time.Second // of all calls of one login
	maxResponse  = 256 << 10        // bytes of a body
	maxHeader    = 64 << 10         // bytes of a header
	maxLogged    = 300              // bytes of an error in the log, which may contain a body
)

// newHTTPClient returns the client for all calls to the provider. roots are the authorities for its certificate, nil
// for those of the system.
func newHTTPClient(roots *x509.CertPool, loopback bool) *http.Client {
	return &http.Client{
		Timeout: callTimeout,
		Transport: bounded{loopback: loopback, next: &http.Transport{
			Proxy: nil, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: callTimeout, MaxConnsPerHost: maxExchanges, IdleConnTimeout: time.Minute,
			MaxResponseHeaderBytes: maxHeader,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the OpenID provider must not redirect calls")
		},
	}
}

// bounded refuses addresses without TLS, and limits the size of bodies.
type bounded struct {
	next     http.RoundTripper
	loopback bool
}

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := checkTransport(r.URL, b.loopback); err != nil {
		return nil, err
	}
	response, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxResponse)
	return response, nil
}

// checkTransport returns an error unless calls to an address use TLS, or stay on this machine and loopback allows that.
func checkTransport(to *url.URL, loopback bool) error {
	if to.Scheme == "https" && to.Host != "" || to.Scheme == "http" && loopback && isLoopback(to.Hostname()) {
		return nil
	}
	return fmt.Errorf("the address %q of the OpenID provider is not an https address", brief(errors.New(to.Redacted())))
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// brief returns the beginning of an error's text.
func brief(err error) string {
	text := strings.ToValidUTF8(err.Error(), "")
	if len(text) <= maxLogged {
		return text
	}
	return strings.ToValidUTF8(text[:maxLogged], "") + " (cut)"
}
