package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"quittance/internal/exchange/webhook"
)

// errNotLocal reports that events would leave this machine unencrypted.
var errNotLocal = errors.New(
	"events are forwarded only to this machine, to an address such as http://localhost:3000/hooks")

// parseLocal returns a destination, and an error if its form shows that it is not on this machine.
func parseLocal(address string) (*url.URL, error) {
	to, err := url.Parse(address)
	if err != nil {
		// the error of the parser repeats a password
		return nil, fmt.Errorf("--forward-to: it is not an address: %w", errNotLocal)
	}
	var rule string
	switch ip, notIP := netip.ParseAddr(to.Hostname()); {
	case to.Scheme != "http":
		rule = "the scheme must be http"
	case to.User != nil:
		rule = "it must not contain a user or a password"
	case to.Hostname() == "":
		rule = "it must have a host"
	case to.Fragment != "" || strings.Contains(address, "#"):
		rule = "it must not have a fragment, which begins with #"
	case !goodPort(to):
		rule = portRule + to.Port()
	case notIP == nil && !ip.Unmap().IsLoopback():
		rule = ip.String() + " is not a loopback address"
	default:
		return to, nil
	}
	return nil, fmt.Errorf("--forward-to: %s: %w", rule, errNotLocal)
}

// portRule begins the text about a port that is none.
const portRule = "the port must be from 1 to 65535, and is "

// goodPort reports whether an address has no port, or one that exists. The parser of addresses accepts any digits.
func goodPort(address *url.URL) bool {
	port, err := strconv.ParseUint(address.Port(), 10, 16)
	return address.Port() == "" || err == nil && port > 0
}

// checkLocal checks a destination before the first event, so that a wrong one is refused at once. Each connection is
// checked again.
func checkLocal(ctx context.Context, address string) error {
	to, err := parseLocal(address)
	if err != nil {
		return err
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", to.Hostname())
	if err != nil {
		return fmt.Errorf("--forward-to: %w", err)
	}
	for _, ip := range found {
		if !ip.Unmap().IsLoopback() {
			return fmt.Errorf("--forward-to: %s is %s: %w", to.Hostname(), ip.Unmap(), errNotLocal)
		}
	}
	return nil
}

// localClient returns a client that connects to loopback addresses only, whatever a name resolves to then, through no
// proxy, and follows no redirect.
func localClient() *http.Client {
	dialer := &net.Dialer{Timeout: webhook.DefaultTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !at.Addr().Unmap().IsLoopback() {
			return fmt.Errorf("%s: %w", address, errNotLocal)
		}
		return nil
	}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}, Timeout: webhook.DefaultTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
