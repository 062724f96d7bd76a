package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A quantile is never below the duration at its rank, and never more than a thousandth, or a microsecond, above it.
func TestQuantilesAreExactToThreeDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durations := rapid.SliceOfN(rapid.Int64Range(0, maxTracked.Microseconds()), 1, 200).Draw(t, "microseconds")
		h := NewHistogram()
		for _, us := range durations {
			h.Record(time.Duration(us) * time.Microsecond)
		}
		slices.Sort(durations)
		for _, q := range []float64{0, .5, .9, .99, .999, 1} {
			exact := durations[max(1, int(math.Ceil(q*float64(len(durations)))))-1]
			got := h.Quantile(q).Microseconds()
			if got < exact || float64(got-exact) > float64(exact)/1000+1 {
				t.Fatalf("quantile %v of %v is %d µs, and the histogram says %d", q, durations, exact, got)
			}
		}
		if h.Max().Microseconds() != durations[len(durations)-1] || h.Count() != int64(len(durations)) {
			t.Fatalf("longest %v of %d, want %d of %d", h.Max(), h.Count(), durations[len(durations)-1], len(durations))
		}
		var inBars int64
		for _, bar := range h.Bars() {
			inBars += bar.Count
		}
		if inBars != h.Count() {
			t.Fatalf("the bars hold %d of %d", inBars, h.Count())
		}
	})
}

// Every number of microseconds is in exactly one bucket, within the bucket's bounds.
func TestBucketsFollowEachOther(t *testing.T) {
	next := int64(0)
	for n := range NewHistogram().counts {
		least, greatest := bounds(n)
		if least != next || bucket(least) != n || bucket(greatest) != n {
			t.Fatalf("bucket %d is %d to %d (buckets %d and %d), after %d", n, least, greatest, bucket(least), bucket(greatest),
				next-1)
		}
		next = greatest + 1
	}
}

func TestHistogramTakesWhatIsOutOfBounds(t *testing.T) {
	h := NewHistogram()
	if h.Quantile(.99) != 0 || h.Mean() != 0 || len(h.Bars()) != 0 {
		t.Errorf("an empty histogram says %v, %v, %v", h.Quantile(.99), h.Mean(), h.Bars())
	}
	h.Record(-time.Second)
	h.Record(48 * time.Hour)
	if h.Quantile(.5) != 0 || h.Max() != maxTracked || h.Mean() != maxTracked/2 {
		t.Errorf("median %v, longest %v, mean %v", h.Quantile(.5), h.Max(), h.Mean())
	}
	if bars := h.Bars(); bars[0].Count != 1 || bars[len(bars)-1].Count != 1 {
		t.Errorf("bars %v", bars)
	}
}
