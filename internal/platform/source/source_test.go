package source_test

import (
	"net/netip"
	"testing"

	"quittance/internal/platform/source"
)

// TestParse: addresses among which one customer may choose are one source, and others are not.
func TestParse(t *testing.T) {
	for _, c := range []struct{ text, narrow, wide string }{
		{"192.0.2.1", "192.0.2.1/32", "192.0.2.1/32"},
		{"192.0.2.1:5678", "192.0.2.1/32", "192.0.2.1/32"},
		{"::ffff:192.0.2.1", "192.0.2.1/32", "192.0.2.1/32"},
		{"[::ffff:192.0.2.1]:80", "192.0.2.1/32", "192.0.2.1/32"},
		{"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"},
		{"[2001:db8:1:2:3:4:5:6]", "2001:db8:1:2::/64", "2001:db8:1::/48"},
		{"[2001:db8:1:2:ffff::1]:443", "2001:db8:1:2::/64", "2001:db8:1::/48"},
		{"fe80::1%eth0", "fe80::/64", "fe80::/48"},
		{"[fe80::1%eth0]:443", "fe80::/64", "fe80::/48"},
		{"2001:db8:1:3::1", "2001:db8:1:3::/64", "2001:db8:1::/48"},
		{"2001:db8:2::1", "2001:db8:2::/64", "2001:db8:2::/48"},
	} {
		got := source.Parse(c.text)
		if got.Narrow().String() != c.narrow || got.Wide().String() != c.wide || got.HasWide() != (c.narrow != c.wide) {
			t.Errorf("Parse(%q) = %v within %v; want %s within %s", c.text, got.Narrow(), got.Wide(), c.narrow, c.wide)
		}
	}
	if a, b := source.Parse("[2001:db8::1]:1"), source.Parse("2001:db8::2"); a != b {
		t.Errorf("%v and %v are different sources; want one", a, b)
	}
}

// TestParseNoAddress: text that is not an address is the source of all unknown addresses.
func TestParseNoAddress(t *testing.T) {
	for _, text := range []string{"", "unknown", "_hidden", "192.0.2.1:", "192.0.2", "[2001:db8::1", "[]", "[[::1]]",
		"192.0.2.1:x", "@", "localhost:80"} {
		if got := source.Parse(text); got != (source.Source{}) || got.HasWide() || got.String() != "unknown" {
			t.Errorf("Parse(%q) = %v; want the zero Source", text, got)
		}
		if address, ok := source.ParseAddr(text); ok || address.IsValid() {
			t.Errorf("ParseAddr(%q) = %v, %v; want no address", text, address, ok)
		}
	}
	if got := source.Of(netip.Addr{}); got != (source.Source{}) {
		t.Errorf("Of(no address) = %v; want the zero Source", got)
	}
}

// TestString: the text of a source is what an operator reads in a log.
func TestString(t *testing.T) {
	for text, want := range map[string]string{"::ffff:192.0.2.1": "192.0.2.1", "2001:db8::77": "2001:db8::/64"} {
		if got := source.Parse(text).String(); got != want {
			t.Errorf("Parse(%q).String() = %q; want %q", text, got, want)
		}
	}
}
