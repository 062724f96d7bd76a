package api_test

import (
	"strconv"
	"testing"
	"time"

	"quittance/client/api"
)

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	const most = 6 * time.Hour
	for value, want := range map[string]time.Duration{
		"0":                              0,
		"007":                            7 * time.Second,
		"120":                            2 * time.Minute,
		"21600":                          most,
		"21601":                          most,
		"9223372036854775807":            most,
		"99999999999999999999999":        most,
		"Sun, 01 Mar 2026 09:31:30 GMT":  90 * time.Second,
		"Sunday, 01-Mar-26 09:31:30 GMT": 90 * time.Second,
		"Sun Mar  1 09:31:30 2026":       90 * time.Second,
		"Sun, 01 Mar 2026 09:29:00 GMT":  0,
		"Fri, 31 Dec 9999 23:59:59 GMT":  most,
		"Sat, 01 Jan 0000 00:00:00 GMT":  0,
		"-5":                             0,
		"+5":                             0,
		"1.5":                            0,
		" 5":                             0,
		"soon":                           0,
		"":                               0,
	} {
		if got := api.ParseRetryAfter(value, now, most); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

// FuzzParseRetryAfter checks that the wait is within its limits for any text, and that whole seconds keep their value.
func FuzzParseRetryAfter(f *testing.F) {
	f.Add("5", int64(time.Hour))
	f.Add("99999999999999999999", int64(time.Minute))
	f.Add("Sun, 01 Mar 2026 09:31:30 GMT", int64(time.Second))
	f.Add("-1", int64(1))
	now := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value string, most int64) {
		if most <= 0 {
			return
		}
		got := api.ParseRetryAfter(value, now, time.Duration(most))
		if got < 0 || got > time.Duration(most) {
			t.Fatalf("%q with at most %v: %v", value, time.Duration(most), got)
		}
		if seconds, err := strconv.ParseUint(value, 10, 16); err == nil &&
			got != min(time.Duration(seconds)*time.Second, time.Duration(most)) {
			t.Fatalf("%q with at most %v: %v", value, time.Duration(most), got)
		}
	})
}
