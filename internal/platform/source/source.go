// Package source identifies where a connection or a request comes from. Limits use it as a key.
//
// Its invariant: addresses among which one customer of a network may choose are one source. An IPv4 address is a source
// of its own. For IPv6, networks assign at least a /64 to each customer, so all addresses of a /64 are one source; and
// because larger assignments are common, a second, more generous limit applies to the /48 around it (RFC 6177,
// RIPE-690).
//
// Start reading at [Of].
package source

import (
	"net/netip"
)

// The lengths of the prefixes that are one source.
const (
	bitsIPv4       = 32
	bitsIPv6Narrow = 64
	bitsIPv6Wide   = 48
)

// Source is where a connection or a request comes from. It is comparable and may be the key of a map. The zero value is
// the source of all unknown addresses together.
type Source struct {
	narrow, wide netip.Prefix
}

// Of returns the source of an address. An IPv4 address that is written as IPv6 (::ffff:192.0.2.1) is the IPv4 address,
// and a zone ("%eth0") is ignored.
func Of(address netip.Addr) Source {
	address = address.Unmap().WithZone("")
	switch {
	case address.Is4():
		prefix := netip.PrefixFrom(address, bitsIPv4)
		return Source{narrow: prefix, wide: prefix}
	case address.Is6():
		return Source{narrow: netip.PrefixFrom(address, bitsIPv6Narrow).Masked(),
			wide: netip.PrefixFrom(address, bitsIPv6Wide).Masked()}
	}
	return Source{}
}

// Parse returns the source of an address as text, without or with a port ("192.0.2.1", "192.0.2.1:443", "2001:db8::1",
// "[2001:db8::1]", "[2001:db8::1]:443"). For any other text it returns the zero Source.
func Parse(text string) Source {
	address, _ := ParseAddr(text)
	return Of(address)
}

// ParseAddr parses an address as [Parse] does and unmaps it. It returns false if the text is not an address.
func ParseAddr(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap(), true
	}
	if n := len(text); n > 2 && text[0] == '[' && text[n-1] == ']' {
		text = text[1 : n-1]
	}
	address, err := netip.ParseAddr(text)
	return address.Unmap(), err == nil
}

// Narrow returns the prefix that the first limit applies to: the IPv4 address, or the /64 of an IPv6 address. It is
// invalid for the zero Source.
func (s Source) Narrow() netip.Prefix { return s.narrow }

// Wide returns the prefix that the second, more generous limit applies to: the /48 of an IPv6 address. For IPv4 it
// equals [Source.Narrow], because no second limit is needed; see [Source.HasWide].
func (s Source) Wide() netip.Prefix { return s.wide }

// HasWide reports whether the second limit applies, which it does to IPv6 only.
func (s Source) HasWide() bool { return s.narrow != s.wide }

// String returns the narrow prefix as text: "192.0.2.1" for an IPv4 address, "2001:db8::/64" for IPv6, "unknown" for
// the zero Source.
func (s Source) String() string {
	switch {
	case !s.narrow.IsValid():
		return "unknown"
	case s.narrow.Addr().Is4():
		return s.narrow.Addr().String()
	}
	return s.narrow.String()
}
