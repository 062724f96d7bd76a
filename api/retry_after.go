package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ParseRetryAfter reads a Retry-After header: whole seconds, or a date that now is compared with (RFC 9110, section
// 10.2.3). The wait is from 0 to most, however far away the header says; most is positive. A date that has passed, an empty
// value and one that is neither ask for no wait.
func ParseRetryAfter(value string, now time.Time, most time.Duration) time.Duration {
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(most/time.Second) {
			return most // err: more digits than a number holds
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), most)
}
