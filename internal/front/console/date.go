package console

import (
	"strconv"
	"strings"
	"time"

	"quittance/client/api"
)

// dateForms are the forms in which people type dates, besides numbers alone. Months are in English, or as the page
// shows them.
var dateForms = []string{"2 Jan 2006", "2 January 2006", "Jan 2 2006", "January 2 2006", "2006 Jan 2"} //nolint:gochecknoglobals // a constant list

// ReadDate returns a typed date as YYYY-MM-DD, or a fault. A text that is no date at all stays as it is, so that the
// rules of the API refuse it. A date such as 03/04/2026, which is another day in another country, is ambiguous.
func (c Catalogue) ReadDate(typed string) (string, *api.Fault, error) {
	text := strings.TrimSpace(strings.Map(plainSign, typed))
	if _, err := time.Parse(time.DateOnly, text); err == nil || text == "" {
		return text, nil, nil
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("/.-,، ", r) })
	for n, part := range parts {
		parts[n] = c.englishMonth(part)
	}
	for _, form := range dateForms {
		if day, err := time.Parse(form, strings.Join(parts, " ")); err == nil {
			return day.Format(time.DateOnly), nil, nil
		}
	}
	var numbers [3]int
	if len(parts) != len(numbers) {
		return typed, nil, nil
	}
	for n, part := range parts {
		var err error
		if numbers[n], err = strconv.Atoi(part); err != nil {
			return typed, nil, nil //nolint:nilerr // the rules of the API refuse it
		}
	}
	year, month, day := numbers[2], numbers[1], numbers[0]
	switch {
	case len(parts[0]) == len("2006"):
		year, day = numbers[0], numbers[2]
	case len(parts[2]) != len("2006"):
		return typed, nil, nil
	case month > 12:
		month, day = day, month
	case day <= 12 && day != month:
		text, err := c.Text("typed.date")
		return "", &api.Fault{Rule: TypedRule + "date", Message: text}, err
	}
	date := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if date.Day() != day || date.Month() != time.Month(month) || date.Year() != year {
		return typed, nil, nil
	}
	return date.Format(time.DateOnly), nil, nil
}

// englishMonth returns the English name of a month that the page shows as the given text, and any other text as it is.
func (c Catalogue) englishMonth(text string) string {
	for month := time.January; month <= time.December; month++ {
		if foldWords(c.TextOr("month."+strconv.Itoa(int(month)), "")) == foldWords(text) {
			return month.String()
		}
	}
	return text
}

// ReadTime returns a typed time of day as HH:MM. A text that is none stays as it is, so that the rules of the API
// refuse it.
func ReadTime(typed string) string {
	text := strings.ToUpper(strings.TrimSpace(strings.Map(plainSign, typed)))
	for _, form := range []string{"15:04", "3:04PM", "3:04 PM", "3 PM", "3PM"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.Format("15:04")
		}
	}
	return typed
}
