package console

import (
	_ "embed"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // images may have no time zone database; this one is 400 KB
)

// timeZones has a line for each country in which all clocks show the same time: its code (ISO 3166-1 alpha-2) and the
// name of its time zone, from the file zone.tab of the time zone database of IANA.
//
//go:embed time_zones.txt
var timeZones string

// timeZoneOf returns the time zone of a country, and UTC for a country with several or an unknown one.
func timeZoneOf(country string) (*time.Location, error) {
	_, line, known := strings.Cut("\n"+timeZones, "\n"+country+" ")
	if !known || country == "" {
		return time.UTC, nil
	}
	name, _, _ := strings.Cut(line, "\n")
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("console: time zone of %s: %w", country, err)
	}
	return zone, nil
}

// Today returns the date on which a document is issued now, as midnight in UTC. It is a tax date, so it is that of
// the company's country and not that of the server or the browser.
func (req *Request) Today() (time.Time, error) {
	zone, err := timeZoneOf(Deref(req.Profile().Country))
	if err != nil {
		return time.Time{}, err
	}
	year, month, day := req.Now().In(zone).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC), nil
}
