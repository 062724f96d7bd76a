package webhook_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"quittance/internal/exchange/webhook"
)

// TestDestinationFaults checks that a customer sees all format rules that a destination breaks at once, and no details
// of a destination that is refused because of its address.
func TestDestinationFaults(t *testing.T) {
	for raw, want := range map[string][]string{
		"http://hooks.example.com/":                     {"scheme"},
		"HTTP://hooks.example.com/":                     {"scheme"},
		"hooks.example.com":                             {"scheme"},
		"//hooks.example.com/a":                         {"scheme"},
		"https://user@hooks.example.com/":               {"user_info"},
		"https://user:pass@hooks.example.com/":          {"user_info"},
		"https://@hooks.example.com/":                   {"user_info"},
		"https://hooks.example.com/?":                   {"query"},
		"https://hooks.example.com?a=b":                 {"query"},
		"https://hooks.example.com/a?b#c":               {"query", "fragment"},
		"https://hooks.example.com/#":                   {"fragment"},
		"https://hooks.example.com/#?":                  {"fragment"},
		"https://hooks.example.com:0/":                  {"port"},
		"https://hooks.example.com:65536/":              {"port"},
		"https://hooks.example.com:/":                   {"port"},
		"https://hooks.example.com:25/":                 {"port"},
		"https://hooks.example.com:1433/":               {"port"},
		"https://hooks.example.com:1521/":               {"port"},
		"https://hooks.example.com:3306/":               {"port"},
		"https://hooks.example.com:5432/":               {"port"},
		"https://hooks.example.com:6379/":               {"port"},
		"https://hooks.example.com:11211/":              {"port"},
		"https://[2606:4700:4700::1111]:27017/":         {"port"},
		"https://[2606:4700:4700::1111]:22/":            {"port"},
		"ftp://u:p@hooks.example.com:21/a?b#c":          {"scheme", "user_info", "port", "query", "fragment"},
		"https://hooks.example.com/" + long("a"):        {"max_length"},
		"http://hooks.example.com/?" + long("a"):        {"max_length", "scheme", "query"},
		"https://localhost/":                            nil,
		"https://127.0.0.1/":                            nil,
		"https://[::1]/":                                nil,
		"https://169.254.169.254/latest":                nil,
		"https://hooks.internal/":                       nil,
		"https://0x7f.1/":                               nil,
		"https://hooks/":                                nil,
		"https://2606:4700:4700::1111/":                 nil,
		"https://hooks.example.com/with space":          nil,
		"https://hooks.example.com\\@evil.example.com/": {"user_info"},
	} {
		_, err := (webhook.Policy{}).CheckDestination(raw)
		if !errors.Is(err, webhook.ErrUnsafeDestination) {
			t.Errorf("%.60q: error %v, want ErrUnsafeDestination", raw, err)
		}
		var rules []string
		if form, ok := errors.AsType[*webhook.DestinationError](err); ok {
			for _, fault := range form.Faults {
				rules = append(rules, fault.Rule)
				if fault.Message == "" {
					t.Errorf("%.60q: %s is not explained", raw, fault.Rule)
				}
			}
		} else if err != webhook.ErrUnsafeDestination { //nolint:errorlint // one text for every cause, and nothing wrapped around it
			t.Errorf("%.60q: error %q", raw, err)
		}
		if !slices.Equal(rules, want) {
			t.Errorf("%.60q: rules %v, want %v", raw, rules, want)
		}
	}
	for _, raw := range []string{"https://hooks.example.com", "https://hooks.example.com:8443/a",
		"HTTPS://hooks.example.com/", "https://[2606:4700:4700::1111]:8443/", "https://8.8.8.8/"} {
		if d, err := (webhook.Policy{}).CheckDestination(raw); err != nil || d.String() != raw {
			t.Errorf("%q is refused: %v", raw, err)
		}
	}
}

func long(unit string) string { return strings.Repeat(unit, webhook.MaxURL) }

// TestDeniedRanges checks that the operator's own address ranges are refused although they are public, even inside a
// wider range that is allowed.
func TestDeniedRanges(t *testing.T) {
	policy := webhook.Policy{DenyCIDRs: []netip.Prefix{netip.MustParsePrefix("203.0.114.0/24"),
		netip.MustParsePrefix("2606:4700:64::/96")},
		AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("203.0.0.0/16")}}
	for raw, ok := range map[string]bool{
		"https://203.0.115.7/": true, "https://203.0.114.7/": false, "https://[2606:4700:4700::1111]/": true,
		"https://[2606:4700:64::7f00:1]/": false,
	} {
		if _, err := policy.ParseDestination(raw); (err == nil) != ok {
			t.Errorf("%s: error %v", raw, err)
		}
	}
}
