package webhook_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quittance/internal/exchange/webhook"
)

// accepted has destinations that a customer may use, refused has others.
var accepted = []string{
	"https://hooks.example.com",
	"https://hooks.example.com/",
	"https://hooks.example.com:8443/quittance/in",
	"HTTPS://Hooks.Example.COM/A%2Fb/~x;y=1,2/@me/!$&'()*+",
	"https://a.b.c.d.e.example.com:1/",
	"https://hooks.example.com:65535/",
	"https://xn--bcher-kva.example/",
	"https://hooks.xn--p1ai/",
	"https://3com.example.com/",
	"https://r3---sn-4g5e.example.com/",
	"https://localhost.example.com/",
	"https://mylocal.example.com/",
	"https://internal.example.com/",
	"https://notlocal.thelocal/",
	"https://8.8.8.8/hook",
	"https://8.8.8.8:8443/hook",
	"https://[2606:4700:4700::1111]/hook",
	"https://[2606:4700:4700::1111]:8443/hook",
	"https://[2A00:1450:4001::1]/hook",
	"https://hooks.example.com//double//slash/../up",
}

var refused = []string{
	// form
	"", "https", "https:", "https:/", "https://", "https:///", "https:///path", "https:hooks.example.com",
	"https:/hooks.example.com/",
	"//hooks.example.com/", "hooks.example.com", "/hook", "http://hooks.example.com/", "ftp://hooks.example.com/",
	"file:///etc/passwd",
	"gopher://hooks.example.com/", "wss://hooks.example.com/", "javascript:alert(1)", "https+unix://hooks.example.com/",
	" https://hooks.example.com/",
	// user info, query, fragment
	"https://user@hooks.example.com/", "https://user:pass@hooks.example.com/", "https://@hooks.example.com/",
	"https://:@hooks.example.com/",
	"https://hooks.example.com@127.0.0.1/", "https://hooks.example.com%40127.0.0.1/", "https://hooks.example.com/?a=b",
	"https://hooks.example.com/?",
	"https://hooks.example.com?", "https://hooks.example.com?a", "https://hooks.example.com/#f",
	"https://hooks.example.com/#", "https://hooks.example.com#",
	"https://hooks.example.com#@127.0.0.1/", "https://hooks.example.com?@127.0.0.1/",
	// port
	"https://hooks.example.com:/", "https://hooks.example.com:0/", "https://hooks.example.com:00/",
	"https://hooks.example.com:0443/",
	"https://hooks.example.com:65536/", "https://hooks.example.com:99999999999999999999/", "https://hooks.example.com:-1/",
	"https://hooks.example.com:+443/",
	"https://hooks.example.com:443:443/", "https://hooks.example.com:https/", "https://hooks.example.com:4 43/",
	"https://hooks.example.com:0x1bb/",
	"https://:443/", "https://[2606:4700:4700::1111]:/", "https://[2606:4700:4700::1111]:0/",
	"https://[2606:4700:4700::1111]443/",
	// names that are not public
	"https://localhost/", "https://localhost:8443/", "https://LOCALHOST/", "https://LocalHost/", "https://localhost./",
	"https://localhost../",
	"https://a.localhost/", "https://a.LOCALHOST/", "https://a.localhost./", "https://printer.local/",
	"https://printer.LOCAL/", "https://printer.local./",
	"https://metadata.google.internal/", "https://vault.internal/", "https://vault.INTERNAL/", "https://vault.internal./",
	"https://nas.home.arpa/",
	"https://nas.Home.Arpa/", "https://nas.home.arpa./", "https://home.arpa/", "https://intranet/", "https://com/",
	"https://local/",
	"https://hooks.example.com./", "https://.hooks.example.com/", "https://hooks..example.com/", "https://./",
	"https://../",
	"https://-hooks.example.com/", "https://hooks-.example.com/", "https://ho_oks.example.com/", "https://*.example.com/",
	"https://hooks.example.com,127.0.0.1/",
	"https://" + strings.Repeat("a", 64) + ".example.com/", "https://" + strings.Repeat("abcdefg.", 32) + "com/",
	// percent-encoding, full-width and other letters beyond ASCII, fake or unclean punycode
	"https://%6cocalhost/", "https://localhos%74/", "https://hooks%2eexample.com/", "https://127%2e0%2e0%2e1/",
	"https://hooks.example.com%00.evil.com/",
	"https://ｌｏｃａｌｈｏｓｔ/", "https://hooks.ｌｏｃａｌ/", "https://hooks。example。com/", "https://１２７.０.０.１/", "https://①②⑦.⓪.⓪.①/",
	"https://bücher.example/", "https://hooks.exampl\u0435.com/", "https://hooks.example.com/ünï",
	"https://xn--.example.com/", "https://xn--a.example.com/",
	"https://xn--bcher-KVa0.example/", "https://xn--localhost-.com/", "https://xn--abc-.example.com/",
	"https://hooks.xn--local-/",
	"https://xn--mi7cdqncpe6aj.example.com/", "https://xn--bcher-2pa.example.com/", "https://xn--sh-1b1n.example.com/",
	"https://xn--ab-m1t.example.com/", "https://xn--8g7ccp.example.com/",
	"https://xn--ab-1u3n.example.com/", "https://xn--xy-r13a.example.com/", "https://xn--bucher-xyd.example.com/",
	"https://xn--a-zhc.example.com/",
	// white space, control characters, backslashes, characters that a URL cannot have
	"https://hooks.example.com/ ", "https://hooks.example.com/a b", "https://hooks.example.com/\t",
	"https://hooks.example.com/\r\nX: y",
	"https://hooks.example.com\n/", "https://hooks.example.com\x00/", "https://hooks.example.com/\x00",
	"https://hooks.example.com/\x7f", "https://hooks.example.com\\@127.0.0.1/",
	"https:\\\\hooks.example.com/", "https://hooks.example.com/\\", "https://hooks.example.com/<x>",
	`https://hooks.example.com/"`, "https://hooks.example.com/{id}",
	"https://hooks.example.com/|", "https://hooks.example.com/^", "https://hooks.example.com/`",
	"https://hooks.example.com/[x]", "https://hooks.example.com/%",
	"https://hooks.example.com/%2", "https://hooks.example.com/%zz", "https://hooks.example.com/\u202e",
	"https://hooks.example.com/\xff",
	// literal addresses that are not public
	"https://127.0.0.1/", "https://127.0.0.1:8443/", "https://127.255.255.254/", "https://0.0.0.0/", "https://0.1.2.3/",
	"https://10.0.0.1/", "https://100.64.0.1/",
	"https://100.100.100.200/", "https://169.254.169.254/", "https://172.16.0.1/", "https://172.31.255.255/",
	"https://192.0.0.192/", "https://192.0.2.1/",
	"https://192.88.99.1/", "https://192.168.1.1/", "https://198.18.0.1/", "https://198.19.255.255/",
	"https://198.51.100.1/", "https://203.0.113.1/",
	"https://224.0.0.1/", "https://239.255.255.250/", "https://240.0.0.1/", "https://255.255.255.255/",
	"https://168.63.129.16/",
	"https://[::]/", "https://[::1]/", "https://[::1]:8443/", "https://[fe80::1]/", "https://[fec0::1]/",
	"https://[fc00::1]/", "https://[fd00:ec2::254]/", "https://[ff02::1]/",
	"https://[100::1]/", "https://[2001:db8::1]/", "https://[2001:2::1]/", "https://[2001:10::1]/", "https://[3fff::1]/",
	"https://[5f00::1]/",
	// unusual spellings of addresses, including public ones
	"https://2130706433/", "https://134744072/", "https://0x7f.1/", "https://0x7f000001/", "https://0x08080808/",
	"https://0177.0.0.1/", "https://010.8.8.8/", "https://127.1/",
	"https://8.8/", "https://8.8.8/", "https://127.0.1/", "https://127.0.0.0x1/", "https://8.8.8.0x8/",
	"https://8.8.8.08/", "https://8.8.8.8./", "https://8.8.8.8../",
	"https://8.8.8.8.8/", "https://256.8.8.8/", "https://8.8.8.256/", "https://8.8.8.-8/", "https://hooks.example.1/",
	"https://hooks.example.0x1/", "https://hooks.1com/",
	"https://[8.8.8.8]/", "https://[127.0.0.1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:8.8.8.8]/",
	"https://[::ffff:808:808]/", "https://[::8.8.8.8]/",
	"https://[::808:808]/", "https://[::ffff:0:808:808]/", "https://[64:ff9b::8.8.8.8]/", "https://[64:ff9b::808:808]/",
	"https://[64:ff9b:1::808:808]/",
	"https://[2002:808:808::1]/", "https://[2002:7f00:1::]/", "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
	"https://[2606:4700::5efe:7f00:1]/",
	"https://[2606:4700::200:5efe:808:808]/", "https://[2606:4700::8.8.8.8]/", "https://[2606:4700:4700:0:0:0:0:1111]/",
	"https://[2606:4700:4700::01111]/",
	"https://[2606:4700:4700:0::1111]/", "https://[2606:4700:4700::1111%25eth0]/", "https://[2606:4700:4700::1111%eth0]/",
	"https://[fe80::1%25eth0]/", "https://[::1%25lo]/",
	"https://2606:4700:4700::1111/", "https://[2606:4700:4700::1111/", "https://2606:4700:4700::1111]/",
	"https://[[2606:4700:4700::1111]]/", "https://[]/", "https://[hooks.example.com]/",
	"https://[v1.abc]/", "https://::1/",
}

func TestParseDestination(t *testing.T) {
	var production webhook.Policy
	for _, raw := range accepted {
		d, err := production.ParseDestination(raw)
		if err != nil {
			t.Errorf("%q is refused: %v", raw, err)
		}
		if err == nil && d.String() != raw {
			t.Errorf("%q comes back as %q", raw, d.String())
		}
	}
	for _, raw := range refused {
		d, err := production.ParseDestination(raw)
		// The text of the error does not show the reason.
		if !errors.Is(err, webhook.ErrUnsafeDestination) || err.Error() != webhook.ErrUnsafeDestination.Error() {
			t.Errorf("%q: error %v, want ErrUnsafeDestination", raw, err)
		}
		if d.String() != "" {
			t.Errorf("%q is refused, but returned", raw)
		}
	}
}

func TestParseDestinationLength(t *testing.T) {
	longest := "https://hooks.example.com/" + strings.Repeat("a", webhook.MaxURL)
	longest = longest[:webhook.MaxURL]
	if _, err := (webhook.Policy{}).ParseDestination(longest); err != nil {
		t.Errorf("%d characters are refused", len(longest))
	}
	if _, err := (webhook.Policy{}).ParseDestination(longest + "a"); err == nil {
		t.Errorf("%d characters are accepted", len(longest)+1)
	}
}

func TestPolicyAllowsExactlyItsRanges(t *testing.T) {
	receiver := webhook.Policy{AllowAddrs: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8443")}}
	loopback := webhook.Policy{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	office := webhook.Policy{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"),
		netip.MustParsePrefix("fd00:1::/32")}}
	everything := webhook.Policy{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"),
		netip.MustParsePrefix("::/0")}}
	for _, c := range []struct {
		name   string
		policy webhook.Policy
		raw    string
		ok     bool
	}{
		{"receiver", receiver, "https://127.0.0.1:8443/hook", true},
		{"receiver", receiver, "https://127.0.0.1:8444/hook", false},
		{"receiver", receiver, "https://127.0.0.1/hook", false},
		{"receiver", receiver, "https://127.0.0.2:8443/hook", false},
		{"receiver", receiver, "https://127.1:8443/hook", false},
		{"receiver", receiver, "https://[::ffff:127.0.0.1]:8443/hook", false},
		{"receiver", receiver, "https://localhost:8443/hook", false},
		{"receiver", receiver, "http://127.0.0.1:8443/hook", false},
		{"receiver", receiver, "https://127.0.0.1:8443/hook?a", false},
		{"receiver", receiver, "https://hooks.example.com/", true},
		{"loopback", loopback, "https://127.0.0.1:1/hook", true},
		{"loopback", loopback, "https://127.3.2.1/hook", true},
		{"loopback", loopback, "https://localhost:9000/hook", false},
		{"loopback", loopback, "https://LOCALHOST:9000/hook", false},
		{"loopback", loopback, "https://localhost./hook", false},
		{"loopback", loopback, "https://a.localhost/hook", false},
		{"loopback", loopback, "https://2130706433/hook", false},
		{"loopback", loopback, "https://[::1]/hook", false},
		{"loopback", loopback, "https://10.1.2.3/hook", false},
		{"office", office, "https://10.1.2.3/hook", true},
		{"office", office, "https://[fd00:1::5]/hook", true},
		{"office", office, "https://10.2.2.3/hook", false},
		{"office", office, "https://localhost/hook", false},
		{"office", office, "https://hooks.corp.internal/hook", false},
		{"everything", everything, "https://[::ffff:8.8.8.8]/", false},
		{"everything", everything, "https://[fe80::1%25eth0]/", false},
		{"everything", everything, "https://8.8.8.8:0/", false},
	} {
		if _, err := c.policy.ParseDestination(c.raw); (err == nil) != c.ok {
			t.Errorf("policy %s, %q: error %v, want accepted %v", c.name, c.raw, err, c.ok)
		}
	}
}

// TestUnusualSpellingsOfAddressesAreRejected checks that of any IPv4 address only the dotted decimal form is accepted,
// and only if the address is public.
func TestUnusualSpellingsOfAddressesAreRejected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint32().Draw(t, "address")
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], number)
		canonical := netip.AddrFrom4(b)
		high, low := number>>16, number&0xffff
		odd := []string{
			strconv.FormatUint(uint64(number), 10),
			fmt.Sprintf("0x%x", number),
			fmt.Sprintf("0%o", number),
			fmt.Sprintf("%d.%d", b[0], number&0xffffff),
			fmt.Sprintf("%d.%d.%d", b[0], b[1], low),
			fmt.Sprintf("0x%x.0x%x.0x%x.0x%x", b[0], b[1], b[2], b[3]),
			fmt.Sprintf("0%o.0%o.0%o.0%o", b[0], b[1], b[2], b[3]),
			fmt.Sprintf("%03d.%03d.%03d.0%d", b[0], b[1], b[2], b[3]),
			canonical.String() + ".",
			"[" + canonical.String() + "]",
			fmt.Sprintf("[::%s]", canonical),
			fmt.Sprintf("[::%x:%x]", high, low),
			fmt.Sprintf("[::ffff:%s]", canonical),
			fmt.Sprintf("[::ffff:%x:%x]", high, low),
			fmt.Sprintf("[::ffff:0:%x:%x]", high, low),
			fmt.Sprintf("[64:ff9b::%s]", canonical),
			fmt.Sprintf("[64:ff9b::%x:%x]", high, low),
			fmt.Sprintf("[2002:%x:%x::1]", high, low),
			fmt.Sprintf("[2001:0:4136:e378:8000:63bf:%x:%x]", ^high&0xffff, ^low&0xffff),
			fmt.Sprintf("[2606:4700::5efe:%x:%x]", high, low),
		}
		for _, host := range odd {
			if _, err := (webhook.Policy{}).ParseDestination("https://" + host + "/"); err == nil {
				t.Fatalf("%s is accepted for %s", host, canonical)
			}
		}
		_, err := (webhook.Policy{}).ParseDestination("https://" + canonical.String() + "/")
		if (err == nil) != isPublic(canonical) {
			t.Fatalf("%s: error %v, public %v", canonical, err, isPublic(canonical))
		}
	})
}

// FuzzParseDestination compares accepted destinations with the results of other parsers of URLs and addresses.
func FuzzParseDestination(f *testing.F) {
	for _, seeds := range [][]string{accepted, refused} {
		for _, raw := range seeds {
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw string) {
		d, err := (webhook.Policy{}).ParseDestination(raw)
		if err != nil {
			if !errors.Is(err, webhook.ErrUnsafeDestination) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if d.String() != raw || len(raw) > webhook.MaxURL {
			t.Fatalf("%q comes back as %q", raw, d)
		}
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatalf("accepted %q, which url.Parse refuses: %v", raw, err)
		}
		if u.Scheme != "https" || u.Opaque != "" || u.User != nil || strings.ContainsAny(raw, "?#\\ ") {
			t.Fatalf("accepted %q: %#v", raw, u)
		}
		if sent := u.RequestURI(); !strings.HasSuffix(raw, sent) && sent != "/" {
			t.Fatalf("accepted %q, but the request would be for %q", raw, sent)
		}
		if port := u.Port(); port != "" {
			if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
				t.Fatalf("accepted %q with port %q", raw, port)
			}
		}
		checkHost(t, u.Hostname())
	})
}

func checkHost(t *testing.T, host string) {
	t.Helper()
	if addr, err := netip.ParseAddr(host); err == nil {
		if !isPublic(addr) {
			t.Fatalf("accepted the address %s", addr)
		}
		return
	}
	host = strings.ToLower(host)
	if readAsAddress(host) {
		t.Fatalf("accepted %q, which inet_aton reads as an address", host)
	}
	if !strings.Contains(host, ".") || strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
		t.Fatalf("accepted the name %q", host)
	}
	for _, special := range []string{"localhost", "local", "internal", "home.arpa"} {
		if strings.HasSuffix(strings.TrimRight(host, "."), "."+special) || host == special {
			t.Fatalf("accepted the name %q", host)
		}
	}
}

// readAsAddress reports whether inet_aton would accept the host: one to four parts, each decimal, octal or hexadecimal.
func readAsAddress(host string) bool {
	parts := strings.Split(strings.TrimRight(host, "."), ".")
	for _, part := range parts {
		if _, err := strconv.ParseUint(part, 0, 32); err != nil {
			return false
		}
	}
	return len(parts) <= 4
}

// isPublic follows the IANA special-purpose address registries, independently of the library in use.
func isPublic(addr netip.Addr) bool {
	special := []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
		"192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3", "168.63.129.16/32",
		"::/3", "4000::/2", "8000::/1", "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
	}
	for _, prefix := range special {
		if netip.MustParsePrefix(prefix).Contains(addr.WithZone("")) {
			return false
		}
	}
	return addr.IsGlobalUnicast() && addr.Zone() == "" && !addr.Is4In6()
}
