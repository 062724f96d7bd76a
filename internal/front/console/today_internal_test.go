package console

import (
	"strings"
	"testing"

	"quittance/internal/document/codelist"
)

// TestTimeZones checks that each country of the table exists and has a time zone, and what some countries have.
func TestTimeZones(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(timeZones) {
		country, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		zone, err := timeZoneOf(country)
		if err != nil || zone.String() != name {
			t.Errorf("%q: %v, %v", line, zone, err)
		}
		if _, known := codelist.Countries().Lookup(country); !known {
			t.Errorf("%q is no country", country)
		}
	}
	for country, want := range map[string]string{"AE": "Asia/Dubai", "BE": "Europe/Brussels", "DE": "Europe/Berlin",
		"US": "UTC", "": "UTC", "ZZ": "UTC", "A": "UTC"} {
		if zone, err := timeZoneOf(country); err != nil || zone.String() != want {
			t.Errorf("%q: %v, %v, want %s", country, zone, err, want)
		}
	}
}
