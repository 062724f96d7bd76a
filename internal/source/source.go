// Package source names where a connection or a request comes from, as the key of limits.
//
// Its invariant: addresses that one customer of a network may choose among are one source. An IPv4 address is a source
// of its own. Of IPv6 a network gives its customer a whole /64 or more, so addresses count by their /64; and because
// larger assignments are common, limits hold a second time, more generously, for the /48 around it (RFC 6177, RIPE-690).
//
// Start reading at [Of].
package source

import (
	"net/netip"
)

// The lengths of the prefixes that count as one source.
const (
	bitsIPv4       = 32
	bitsIPv6Narrow = 64
	bitsIPv6Wide   = 48
)

// Source is where something comes from. It is comparable, and fit as the key of a map. The zero value stands for
// everybody whose address is not known: all of them together are one source.
type Source struct {
	narrow, wide netip.Prefix
}

// Of returns the source of an address. An IPv4 address that is written as IPv6 (::ffff:192.0.2.1) is the IPv4 address,
// and a zone ("%eth0") does not count.
func Of(address netip.Addr) Source {
	address = address.Unmap().WithZone("")
	switch {
	case address.Is4():
		prefix := netip.PrefixFrom(address, bitsIPv4)
		return Source{narrow: prefix, wide: prefix}
	case address.Is6():
		return Source{narrow: netip.PrefixFrom(address, bitsIPv6Narrow).Masked(), wide: netip.PrefixFrom(address, bitsIPv6Wide).Masked()}
	}
	return Source{}
}

// Parse returns the source of an address as text, without or with a port ("192.0.2.1", "192.0.2.1:443", "2001:db8::1",
// "[2001:db8::1]", "[2001:db8::1]:443"). What is no address is the zero Source.
func Parse(text string) Source {
	address, _ := ParseAddr(text)
	return Of(address)
}

// ParseAddr reads an address as [Parse] does, and unmaps it; false is for text that is no address.
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

// Narrow is the prefix a limit counts by: the IPv4 address, or the /64 of an IPv6 address. It is invalid for the zero
// Source.
func (s Source) Narrow() netip.Prefix { return s.narrow }

// Wide is the prefix a second, more generous limit counts by: the /48 of an IPv6 address. It equals [Source.Narrow] for
// IPv4, where no second limit is needed; see [Source.HasWide].
func (s Source) Wide() netip.Prefix { return s.wide }

// HasWide tells whether the second limit applies: only to IPv6.
func (s Source) HasWide() bool { return s.narrow != s.wide }

// String is the narrow prefix as text: "192.0.2.1" for one IPv4 address, "2001:db8::/64" for IPv6, and "unknown".
func (s Source) String() string {
	switch {
	case !s.narrow.IsValid():
		return "unknown"
	case s.narrow.Addr().Is4():
		return s.narrow.Addr().String()
	}
	return s.narrow.String()
}
