package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ParseRetryAfter parses a Retry-After header: whole seconds, or a date that is compared with now (RFC 9110, section
// 10.2.3). The result is from 0 to limit, which must be positive. It is 0 for a date in the past and for an empty or
// invalid value.
func ParseRetryAfter(value string, now time.Time, limit time.Duration) time.Duration {
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(limit/time.Second) {
			return limit // err: too many digits for an int64
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), limit)
}
