package webhooks

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"quittance/internal/front/console"
	"quittance/internal/front/view"
)

// traffic is the view model of the charts of a subscription's latest attempts: success rates and response times, in
// equal time slots.
type traffic struct {
	// Span is the key of the charts' time span below "traffic.span." in the messages.
	Span string
	// Began is the start of the first slot.
	Began time.Time
	Slots []chartSlot
	// Arrived is the number of Attempts with a 2xx response, and Share that number in percent.
	Attempts, Arrived int
	Share             string
	// Median and P95 are response times: the median and the 95th percentile. Both are "" without attempts.
	Median, P95 string
	// MaxAttempts is the maximum of the first chart in attempts, and MaxTime that of the second.
	MaxAttempts int
	MaxTime     string
	// Cut reports that there were more deliveries than were counted.
	Cut bool
}

// chartSlot is one column of the charts. The drawing is 100 units high.
type chartSlot struct {
	From            time.Time
	Arrived, Failed int
	Median, P95     string
	// X is the left edge of the column.
	X int
	// ArrivedY and ArrivedHeight position the bar of successful attempts, FailedY and FailedHeight the bar of failed ones
	// above it.
	ArrivedY, ArrivedHeight, FailedY, FailedHeight int
	// MedianY and MedianHeight position the inner bar of the response times, P95Y and P95Height the outer one.
	MedianY, MedianHeight, P95Y, P95Height int
}

// Attempts returns the number of attempts in the slot.
func (s chartSlot) Attempts() int { return s.Arrived + s.Failed }

// The dimensions of a chart.
const (
	slotCount   = 24
	slotWidth   = 20
	chartHeight = 100
)

// chartSpan is a possible slot length.
type chartSpan struct {
	key  string
	slot time.Duration
}

// longestSlot is the default slot length, for charts of one day.
const longestSlot = time.Hour

// chartSpans lists the possible slot lengths, the longest first.
var chartSpans = []chartSpan{{"day", longestSlot}, {"hours", 15 * time.Minute}, {"two_hours", 5 * time.Minute}, {"minutes", time.Minute}} //nolint:gochecknoglobals // a constant list

// windowStart returns the start of the first slot, so that now is in the last one. Slots start at multiples of their
// length, so that a chart does not move while nothing happens.
func windowStart(now time.Time, slot time.Duration) time.Time {
	return now.UTC().Truncate(slot).Add(-(slotCount - 1) * slot)
}

// trafficOf returns the charts of some attempts. For a busy subscription it uses a shorter time span for which all
// attempts were read.
func trafficOf(req *console.Request, recent view.RecentAttempts, now time.Time) (traffic, error) {
	chosen := chartSpans[len(chartSpans)-1]
	for _, s := range chartSpans {
		if !recent.From.After(windowStart(now, s.slot)) {
			chosen = s
			break
		}
	}
	began := windowStart(now, chosen.slot)
	t := traffic{Span: chosen.key, Began: began, Cut: recent.From.After(began), Slots: make([]chartSlot, slotCount)}
	durations := make([][]time.Duration, slotCount)
	for _, a := range recent.Attempts {
		n := int(a.StartedAt.Sub(began) / chosen.slot)
		if a.StartedAt.Before(began) || n < 0 || n >= len(durations) {
			continue // before the first slot, or from a clock that is ahead
		}
		durations[n] = append(durations[n], a.Duration)
		if a.HTTPStatus >= 200 && a.HTTPStatus <= 299 {
			t.Slots[n].Arrived++
		} else {
			t.Slots[n].Failed++
		}
	}
	return t, t.draw(req.Words.Messages, durations, chosen.slot)
}

// draw calculates the numbers and the geometry.
func (t *traffic) draw(messages console.Catalogue, durations [][]time.Duration, length time.Duration) error {
	var all []time.Duration
	var slowest time.Duration
	for n, times := range durations {
		t.MaxAttempts = max(t.MaxAttempts, t.Slots[n].Attempts())
		t.Arrived += t.Slots[n].Arrived
		slowest = max(slowest, quantile(times, 95))
		all = append(all, times...)
	}
	t.Attempts = len(all)
	if t.Attempts == 0 {
		t.MaxAttempts = 1
	}
	t.Share = percent(t.Arrived, t.Attempts)
	fail := error(nil)
	format := func(d time.Duration) string {
		text, err := duration(messages, d)
		fail = cmp.Or(fail, err)
		return text
	}
	t.MaxTime, t.Median, t.P95 = format(slowest), format(quantile(all, 50)), format(quantile(all, 95))
	for n := range t.Slots {
		s, times := &t.Slots[n], durations[n]
		s.From, s.X = t.Began.Add(time.Duration(n)*length), n*slotWidth
		if len(times) == 0 {
			continue
		}
		s.Median, s.P95 = format(quantile(times, 50)), format(quantile(times, 95))
		s.ArrivedHeight, s.FailedHeight = height(s.Arrived, t.MaxAttempts), height(s.Failed, t.MaxAttempts)
		s.ArrivedHeight = min(s.ArrivedHeight, chartHeight-s.FailedHeight)
		s.ArrivedY = chartHeight - s.ArrivedHeight
		s.FailedY = s.ArrivedY - s.FailedHeight
		s.MedianHeight, s.P95Height = height(int(quantile(times, 50)), int(slowest)),
			height(int(quantile(times, 95)), int(slowest))
		s.MedianY, s.P95Y = chartHeight-s.MedianHeight, chartHeight-s.P95Height
	}
	return fail
}

// height returns the height of a bar. Every value above 0 is visible.
func height(n, most int) int {
	if n == 0 || most == 0 {
		return 0
	}
	return max(3, int(math.Round(float64(n)/float64(most)*chartHeight)))
}

// quantile returns the duration within which the given percentage of the attempts ended, or 0 without any.
func quantile(times []time.Duration, percent int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)*percent+99)/100-1]
}

// percent returns a percentage with one decimal. It rounds down, so that only a complete set gives 100 %.
func percent(part, whole int) string {
	if whole == 0 {
		return ""
	}
	tenths := part * 1000 / whole
	if tenths%10 == 0 {
		return strconv.Itoa(tenths / 10)
	}
	return strconv.Itoa(tenths/10) + "." + strconv.Itoa(tenths%10)
}

// duration returns a duration as a text.
func duration(messages console.Catalogue, d time.Duration) (string, error) {
	switch ms := float64(d) / float64(time.Millisecond); {
	case ms < 10:
		return messages.Text("traffic.ms", strconv.FormatFloat(ms, 'f', 1, 64))
	case ms < 1000:
		return messages.Text("traffic.ms", strconv.FormatFloat(ms, 'f', 0, 64))
	default:
		return messages.Text("traffic.s", strconv.FormatFloat(ms/1000, 'f', 1, 64))
	}
}
