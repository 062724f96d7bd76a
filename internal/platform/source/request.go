package source

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// OfRequest returns the address that a request comes from: its peer, or if that is a trusted proxy, the last address in
// X-Forwarded-For that is not one.
func OfRequest(r *http.Request, trusted []netip.Prefix) string {
	host, known := ParseAddr(r.RemoteAddr)
	if !known {
		return r.RemoteAddr
	}
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for n := len(forwarded) - 1; n >= 0 && Within(host, trusted); n-- {
		next, ok := ParseAddr(strings.TrimSpace(forwarded[n]))
		if !ok {
			break
		}
		host = next
	}
	return host.String()
}

// Within reports whether an address belongs to one of some networks.
func Within(address netip.Addr, networks []netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(network netip.Prefix) bool { return network.Contains(address) })
}
