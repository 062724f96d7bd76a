package webhook

import (
	"crypto/x509"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"code.dny.dev/ssrf"
	"golang.org/x/net/idna"
)

// MaxURL is the largest length of a destination, in characters (contract, section 9).
const MaxURL = 2048

// ErrUnsafeDestination says that deliveries may not go somewhere. It is one error with one text for every cause, so
// that a caller learns nothing about the network behind the service (contract, section 2).
var ErrUnsafeDestination = errors.New("not an https URL of a public host without user info, query or fragment")

// Policy says where deliveries may go. The zero value is the policy of production: public addresses and the system's
// certificate authorities. DenyCIDRs narrows it; the other fields widen it and exist for the environments local and sandbox.
type Policy struct {
	// DenyCIDRs holds ranges that are refused although they are public, whatever else allows them: the operator's own
	// networks, and the prefix of a NAT64 of its own (RFC 6052), behind which every IPv4 address can be reached.
	DenyCIDRs []netip.Prefix
	// AllowCIDRs holds ranges that are allowed although they are not public. Names such as localhost stay refused.
	AllowCIDRs []netip.Prefix
	// AllowAddrs holds single addresses with their port that are allowed although they are not public.
	AllowAddrs []netip.AddrPort
	// RootCAs holds the certificate authorities that a destination's certificate must lead to; nil means the system's.
	RootCAs *x509.CertPool
}

// Destination is a URL that [Policy.ParseDestination] accepted.
type Destination struct {
	raw   string
	host  string       // lower case, without brackets: the name in the certificate
	port  uint16       // 1 to 65535
	fixed []netip.Addr // the addresses, when they are known without a resolver
}

// String returns the URL exactly as it was given.
func (d Destination) String() string { return d.raw }

// ParseDestination checks a destination as a customer gives it (specification, part 8; contract, section 9): an
// absolute https URL of at most [MaxURL] characters of RFC 3986, with a host name of two labels or more or a literal
// address that p permits, a port from 1 to 65535 or none, and no user info, query or fragment, not even empty ones.
// Special-use names and every spelling of an address but the canonical one are refused. It asks no resolver. The only
// error is [ErrUnsafeDestination].
func (p Policy) ParseDestination(raw string) (Destination, error) {
	const scheme = "https://"
	if len(raw) > MaxURL || len(raw) < len(scheme) || !strings.EqualFold(raw[:len(scheme)], scheme) {
		return Destination{}, ErrUnsafeDestination
	}
	authority, path, _ := strings.Cut(raw[len(scheme):], "/")
	host, port, ok := splitAuthority(authority)
	if !ok || !isPath(path) {
		return Destination{}, ErrUnsafeDestination
	}
	d := Destination{raw: raw, host: host, port: port}
	switch addr, err := netip.ParseAddr(host); {
	case err == nil:
		// Another spelling of the same address is refused, because other readers of the URL may read another address.
		if addr.String() != host || !p.permits(netip.AddrPortFrom(addr, port)) {
			return Destination{}, ErrUnsafeDestination
		}
		d.fixed = []netip.Addr{addr}
	case !isPublicName(host):
		return Destination{}, ErrUnsafeDestination
	}
	return d, nil
}

// CheckDestination is [Policy.ParseDestination] for a destination that a customer has just given: it says which rules of form
// it breaks, with a [*DestinationError], and refuses ports that are known by another protocol.
func (p Policy) CheckDestination(raw string) (Destination, error) {
	if err := checkForm(raw); err != nil {
		return Destination{}, err
	}
	return p.ParseDestination(raw)
}

// splitAuthority takes host[:port] apart. The host comes back in lower case and without brackets; brackets hold an
// IPv6 address and nothing else does.
func splitAuthority(authority string) (host string, port uint16, ok bool) {
	var rest string
	if inner, bracketed := strings.CutPrefix(authority, "["); bracketed {
		host, rest, ok = strings.Cut(inner, "]")
		if addr, err := netip.ParseAddr(host); !ok || err != nil || !addr.Is6() {
			return "", 0, false
		}
	} else {
		colon := strings.IndexByte(authority, ':')
		if colon < 0 {
			colon = len(authority)
		}
		host, rest = authority[:colon], authority[colon:]
	}
	host = strings.ToLower(host)
	if rest == "" {
		return host, 443, true
	}
	digits := rest[1:]
	number, err := strconv.ParseUint(digits, 10, 16)
	if rest[0] != ':' || err != nil || digits[0] == '0' {
		return "", 0, false
	}
	return host, uint16(number), true
}

// isPath tells whether path consists of the characters that RFC 3986, section 3.3, allows in a path. Everything else,
// such as a query, a fragment, white space, a backslash or a letter beyond ASCII, is read differently by different
// readers of a URL.
func isPath(path string) bool {
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case isLetter(c), isDigit(c), strings.IndexByte("-._~!$&'()*+,;=:@/", c) >= 0:
		case c == '%' && i+2 < len(path) && isHex(path[i+1]) && isHex(path[i+2]):
			i += 2
		default:
			return false
		}
	}
	return true
}

// isPublicName tells whether host, in lower case, is a host name (RFC 1123, section 2.1) that can be public: two
// labels or more, the last of them alphabetic, so that no resolver takes it for an address, and outside the special
// domains of private networks.
func isPublicName(host string) bool {
	labels := strings.Split(host, ".")
	if len(host) > 253 || len(labels) < 2 {
		return false
	}
	if slices.ContainsFunc(labels, func(label string) bool { return !isLabel(label) }) {
		return false
	}
	last := labels[len(labels)-1]
	if !strings.HasPrefix(last, "xn--") && strings.Trim(last, "abcdefghijklmnopqrstuvwxyz") != "" {
		return false
	}
	for _, special := range [...]string{".localhost", ".local", ".internal", ".home.arpa"} {
		if strings.HasSuffix("."+host, special) {
			return false
		}
	}
	return true
}

// isLabel tells whether label is letters, digits and inner hyphens, at most 63, and, where it is the ASCII form of
// an international label, that it is the one and only form of it (RFC 5891, section 4).
func isLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for i := range len(label) {
		if c := label[i]; !isLetter(c) && !isDigit(c) && c != '-' {
			return false
		}
	}
	if !strings.HasPrefix(label, "xn--") {
		return true
	}
	readable, err := idna.Registration.ToUnicode(label)
	if err != nil || readable == label {
		return false
	}
	again, err := idna.Registration.ToASCII(readable)
	return err == nil && again == label
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// permits tells whether a connection to target is allowed: the address is public, or p names it. A zone and the IPv6
// forms of an IPv4 address that could hide in a wide range (mapped, ISATAP) are refused whatever p names.
func (p Policy) permits(target netip.AddrPort) bool {
	addr := target.Addr()
	switch {
	case !addr.IsValid(), addr.Zone() != "", addr.Is4In6(), isISATAP(addr), target.Port() == 0:
		return false
	case within(p.DenyCIDRs, addr):
		return false
	case slices.Contains(p.AllowAddrs, target), within(p.AllowCIDRs, addr):
		return true
	}
	return publicOnly.SafeAddr(addr) == nil
}

// publicOnly refuses every range of the IANA special-purpose registries, and with them all other IPv6 forms that embed
// an IPv4 address (mapped, compatible, translated, NAT64, 6to4, Teredo). 168.63.129.16 is in no registry, but on one
// large cloud it is the metadata service of the machine.
//
//nolint:gochecknoglobals // never changed, and too large to build for each check
var publicOnly = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork(),
	ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")))

// isISATAP tells whether addr holds an IPv4 address in its interface identifier (RFC 5214, section 6.1), which may
// stand under any public prefix.
func isISATAP(addr netip.Addr) bool {
	b := addr.As16()
	return addr.Is6() && b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

func within(ranges []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}
