package console

import (
	"testing"

	"golang.org/x/text/language"
)

// TestReadDate checks that dates are read as people write them. A date that is two days in two countries is refused.
func TestReadDate(t *testing.T) {
	t.Parallel()
	messages := testWords(t, language.English).Messages
	for typed, want := range map[string]string{"": "", "2026-11-30": "2026-11-30", " 2026-11-30 ": "2026-11-30",
		"٢٠٢٦-١١-٣٠": "2026-11-30", "30/11/2026": "2026-11-30", "30.11.2026": "2026-11-30", "11/30/2026": "2026-11-30",
		"5/5/2026": "2026-05-05", "3 Apr 2026": "2026-04-03", "3 april 2026": "2026-04-03", "April 3, 2026": "2026-04-03",
		"2026/4/3": "2026-04-03", "30/02/2026": "30/02/2026", "soon": "soon", "1/2": "1/2", "30/11/26": "30/11/26",
		"2026-02-30": "2026-02-30", "32/13/2026": "32/13/2026"} {
		if got, fault, err := messages.ReadDate(typed); got != want || fault != nil || err != nil {
			t.Errorf("%q is read as %q (%v, %v), want %q", typed, got, fault, err, want)
		}
	}
	for _, date := range []string{"2026-01-09", "2026-09-30", "2024-02-29"} { // as pages show them
		if got, _, _ := messages.ReadDate(messages.Day(date).Text); got != date {
			t.Errorf("%q is read as %q, want %s", messages.Day(date).Text, got, date)
		}
	}
	if got, fault, _ := messages.ReadDate("03/04/2026"); got != "" || fault == nil || fault.Message == "" {
		t.Errorf("03/04/2026 is read as %q (%v)", got, fault)
	}
	for typed, want := range map[string]string{"": "", "14:30": "14:30", "9:05": "09:05", "2:30 pm": "14:30",
		"2pm": "14:00", "25:00": "25:00", "noon": "noon"} {
		if got := ReadTime(typed); got != want {
			t.Errorf("%q is read as %q, want %q", typed, got, want)
		}
	}
}
