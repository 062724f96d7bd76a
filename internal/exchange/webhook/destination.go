package webhook

import (
	"crypto/x509"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"code.dny.dev/ssrf"
	"golang.org/x/net/idna"

	"quittance/client/api"
	"quittance/internal/platform/problem"
)

// MaxURL is the largest length of a destination, in characters.
const MaxURL = 2048

// ErrUnsafeDestination means that a destination is not allowed. Every cause has the same error text, so that a caller
// learns nothing about the network behind the service.
var ErrUnsafeDestination = problem.New(api.CodeUnsafeDestination,
	"not an https URL of a public host without user info, query or fragment")

// Policy defines which destinations are allowed. The zero value is the policy of production: public addresses and the
// system's certificate authorities. DenyCIDRs restricts it; the other fields extend it and exist for the environments
// local and sandbox.
type Policy struct {
	// DenyCIDRs holds ranges that are never allowed: the operator's own public networks, and the prefix of the operator's
	// own NAT64 (RFC 6052), through which every IPv4 address can be reached.
	DenyCIDRs []netip.Prefix
	// AllowCIDRs holds ranges that are allowed although they are not public. Names such as localhost are still rejected.
	AllowCIDRs []netip.Prefix
	// AllowAddrs holds single addresses with their port that are allowed although they are not public.
	AllowAddrs []netip.AddrPort
	// RootCAs holds the certificate authorities that are trusted for destinations; nil means those of the system.
	RootCAs *x509.CertPool
}

// Destination is a URL that [Policy.ParseDestination] accepted.
type Destination struct {
	raw   string
	host  string       // lower case, without brackets: the name in the certificate
	port  uint16       // 1 to 65535
	fixed []netip.Addr // the addresses, when they are known without a resolver
}

// String returns the URL exactly as the customer entered it.
func (d Destination) String() string { return d.raw }

// ParseDestination checks a destination that a customer has entered: an absolute https URL of at most [MaxURL]
// characters of RFC 3986, with a host name of two labels or more or a literal address that p permits, a port from 1
// to 65535 or none, and no user info, query or fragment, not even empty ones. Special-use names and all spellings of
// an address but the canonical one are rejected. It uses no resolver. The only error is [ErrUnsafeDestination].
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
		// Reject other spellings of the same address, because other parsers of the URL may read another address.
		if addr.String() != host || !p.permits(netip.AddrPortFrom(addr, port)) {
			return Destination{}, ErrUnsafeDestination
		}
		d.fixed = []netip.Addr{addr}
	case !isPublicName(host):
		return Destination{}, ErrUnsafeDestination
	}
	return d, nil
}

// CheckDestination is [Policy.ParseDestination] for a new destination: a [*DestinationError] names the rules of form
// that it breaks, and well-known ports of other protocols are rejected.
func (p Policy) CheckDestination(raw string) (Destination, error) {
	if err := checkForm(raw); err != nil {
		return Destination{}, err
	}
	return p.ParseDestination(raw)
}

// splitAuthority splits host[:port]. The host is returned in lower case and without brackets. Brackets must contain an
// IPv6 address, and an IPv6 address must be in brackets.
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

// isPath reports whether path consists of the characters that RFC 3986, section 3.3, allows in a path. Parsers disagree
// about other characters, such as those of a query or fragment, white space, backslashes and non-ASCII letters.
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

// isPublicName reports whether host, in lower case, is a host name (RFC 1123, section 2.1) that can be public: two
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

// isLabel reports whether label consists of at most 63 letters, digits and inner hyphens. The ASCII form of an
// international label must be its canonical form (RFC 5891, section 4).
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

// permits reports whether a connection to target is allowed: the address is public, or p lists it. Addresses with a
// zone, and IPv6 forms of an IPv4 address that could hide in a wide range (mapped, ISATAP), are never allowed.
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

// publicOnly rejects every range of the IANA special-purpose registries, and with them all other IPv6 forms that embed
// an IPv4 address (mapped, compatible, translated, NAT64, 6to4, Teredo). 168.63.129.16 is in no registry, but on one
// large cloud it is the metadata service of the machine.
//
//nolint:gochecknoglobals // never changed, and too large to build for each check
var publicOnly = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork(),
	ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")))

// isISATAP reports whether the interface identifier of addr contains an IPv4 address (RFC 5214, section 6.1), which is
// possible with any public prefix.
func isISATAP(addr netip.Addr) bool {
	b := addr.As16()
	return addr.Is6() && b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

func within(ranges []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}
