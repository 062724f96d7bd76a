package console

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"quittance/internal/store"
)

// traffic is what became of a subscription's latest attempts: how many arrived and how long answers took, for as many
// equal spans of time as the charts have slots.
type traffic struct {
	// Span is the key of how long all slots are together, below "traffic.span." in the messages.
	Span string
	// Began is where the first slot begins.
	Began time.Time
	Slots []chartSlot
	// Arrived is how many of the Attempts were answered with 2xx; Share is that in percent.
	Attempts, Arrived int
	Share             string
	// Median is how long half of them took at most, Most nearly all (95 %); "" without attempts.
	Median, P95 string
	// MaxAttempts is the height of the first chart in attempts, MaxTime that of the second.
	MaxAttempts int
	MaxTime     string
	// Cut tells that there were more deliveries than were looked at.
	Cut bool
}

// slot is one column of the charts, in units of their drawing, which is 100 high.
type chartSlot struct {
	From            time.Time
	Arrived, Failed int
	Median, P95     string
	// X is where the column begins.
	X int
	// ArrivedY and ArrivedHeight are the bar of what arrived, LostY and LostHeight that of what did not, above it.
	ArrivedY, ArrivedHeight, FailedY, FailedHeight int
	// MedianY and MedianHeight are the inner bar of the times, MostY and MostHeight the outer one.
	MedianY, MedianHeight, P95Y, P95Height int
}

// Attempts is how many there were.
func (s chartSlot) Attempts() int { return s.Arrived + s.Failed }

// The drawing of a chart.
const (
	slotCount   = 24
	slotWidth   = 20
	chartHeight = 100
)

// span is a choice of how long a slot is.
type chartSpan struct {
	key  string
	slot time.Duration
}

// longest is the usual one: a day.
const longestSlot = time.Hour

// spans are the choices, the longest first.
var chartSpans = []chartSpan{{"day", longestSlot}, {"hours", 15 * time.Minute}, {"two_hours", 5 * time.Minute}, {"minutes", time.Minute}} //nolint:gochecknoglobals // a constant list

// windowStart is where the first slot begins, so that the last one holds now. Slots begin at whole multiples of their
// length, so that a chart stands still while nothing happens.
func windowStart(now time.Time, slot time.Duration) time.Time {
	return now.UTC().Truncate(slot).Add(-(slotCount - 1) * slot)
}

// trafficOf draws attempts. Of a busy subscription it draws a shorter time, of which everything was read.
func (req *request) trafficOf(recent store.RecentAttempts, now time.Time) (traffic, error) {
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
			continue // of before, or from a clock that runs ahead of ours
		}
		durations[n] = append(durations[n], a.Duration)
		if a.HTTPStatus >= 200 && a.HTTPStatus <= 299 {
			t.Slots[n].Arrived++
		} else {
			t.Slots[n].Failed++
		}
	}
	return t, t.draw(req.pages.messages, durations, chosen.slot)
}

// draw computes the numbers and the geometry.
func (t *traffic) draw(messages catalogue, durations [][]time.Duration, length time.Duration) error {
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
	say := func(d time.Duration) string {
		text, err := duration(messages, d)
		fail = cmp.Or(fail, err)
		return text
	}
	t.MaxTime, t.Median, t.P95 = say(slowest), say(quantile(all, 50)), say(quantile(all, 95))
	for n := range t.Slots {
		s, times := &t.Slots[n], durations[n]
		s.From, s.X = t.Began.Add(time.Duration(n)*length), n*slotWidth
		if len(times) == 0 {
			continue
		}
		s.Median, s.P95 = say(quantile(times, 50)), say(quantile(times, 95))
		s.ArrivedHeight, s.FailedHeight = height(s.Arrived, t.MaxAttempts), height(s.Failed, t.MaxAttempts)
		s.ArrivedHeight = min(s.ArrivedHeight, chartHeight-s.FailedHeight)
		s.ArrivedY = chartHeight - s.ArrivedHeight
		s.FailedY = s.ArrivedY - s.FailedHeight
		s.MedianHeight, s.P95Height = height(int(quantile(times, 50)), int(slowest)), height(int(quantile(times, 95)), int(slowest))
		s.MedianY, s.P95Y = chartHeight-s.MedianHeight, chartHeight-s.P95Height
	}
	return fail
}

// height is the height of a bar; what is there is seen, however little.
func height(n, most int) int {
	if n == 0 || most == 0 {
		return 0
	}
	return max(3, int(math.Round(float64(n)/float64(most)*chartHeight)))
}

// quantile is the time within which so many percent of the attempts were over, 0 without any.
func quantile(times []time.Duration, percent int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)*percent+99)/100-1]
}

// percent is a share with one digit; it is rounded down, so that 100 % is all of them.
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

// duration is a time that something took, as people say it.
func duration(messages catalogue, d time.Duration) (string, error) {
	switch ms := float64(d) / float64(time.Millisecond); {
	case ms < 10:
		return messages.text("traffic.ms", strconv.FormatFloat(ms, 'f', 1, 64))
	case ms < 1000:
		return messages.text("traffic.ms", strconv.FormatFloat(ms, 'f', 0, 64))
	default:
		return messages.text("traffic.s", strconv.FormatFloat(ms/1000, 'f', 1, 64))
	}
}
