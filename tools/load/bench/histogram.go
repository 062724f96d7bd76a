package bench

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// The shape of a [Histogram]: every duration up to 2,048 µs has its own bucket. Above, each power of two is split into
// 1,024 buckets, so that a bucket is never wider than a thousandth of its values.
const (
	subBits    = 10
	subBuckets = 1 << subBits
	maxTracked = time.Hour
)

// Histogram counts durations from 0 to an hour in microseconds, with three significant digits or more. It is
// log-linear: one bounded array counts any number of durations. It is safe for concurrent use.
type Histogram struct {
	counts []atomic.Int64
	count  atomic.Int64
	sum    atomic.Int64 // µs
	max    atomic.Int64 // µs
}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram {
	return &Histogram{counts: make([]atomic.Int64, bucket(maxTracked.Microseconds())+1)}
}

// bucket returns the index of the bucket of a number of microseconds.
func bucket(us int64) int {
	shift := max(0, bits.Len64(uint64(us))-subBits-1) //nolint:gosec // from 0: see Record
	return shift*subBuckets + int(us>>shift)
}

// bounds returns the smallest and the largest number of microseconds in a bucket.
func bounds(index int) (least, greatest int64) {
	shift := max(0, index/subBuckets-1)
	least = int64(index-shift*subBuckets) << shift
	return least, least + 1<<shift - 1
}

// Record counts a duration. A negative one counts as 0, and one above an hour as an hour.
func (h *Histogram) Record(d time.Duration) {
	us := min(max(d, 0), maxTracked).Microseconds()
	h.counts[bucket(us)].Add(1)
	h.count.Add(1)
	h.sum.Add(us)
	storeMax(&h.max, us)
}

// add adds the counts of another histogram.
func (h *Histogram) add(other *Histogram) {
	for n := range other.counts {
		h.counts[n].Add(other.counts[n].Load())
	}
	h.count.Add(other.count.Load())
	h.sum.Add(other.sum.Load())
	storeMax(&h.max, other.max.Load())
}

// Count returns the number of recorded durations.
func (h *Histogram) Count() int64 { return h.count.Load() }

// Max returns the longest duration, exactly.
func (h *Histogram) Max() time.Duration { return time.Duration(h.max.Load()) * time.Microsecond }

// Mean returns the arithmetic mean, 0 for an empty histogram.
func (h *Histogram) Mean() time.Duration {
	return time.Duration(h.sum.Load()/max(1, h.count.Load())) * time.Microsecond
}

// Quantile returns a duration that the share q of all durations, from 0 to 1, does not exceed. It is at most a
// thousandth too long, and 0 for an empty histogram.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := max(1, int64(math.Ceil(q*float64(h.count.Load()))))
	var seen int64
	for n := range h.counts {
		if seen += h.counts[n].Load(); seen >= rank {
			_, greatest := bounds(n)
			return min(time.Duration(greatest)*time.Microsecond, h.Max())
		}
	}
	return h.Max()
}

// Bar is one bar of a chart.
type Bar struct {
	// UpTo is the longest duration that the bar counts.
	UpTo time.Duration
	// Count is the number of durations in the bar.
	Count int64
}

// Bars returns bars whose bounds double, without empty ones at either end.
func (h *Histogram) Bars() []Bar {
	var bars []Bar
	limit, open := int64(16), Bar{UpTo: 16 * time.Microsecond}
	for n := range h.counts {
		least, _ := bounds(n)
		for least >= limit {
			bars = append(bars, open)
			limit *= 2
			open = Bar{UpTo: time.Duration(limit) * time.Microsecond}
		}
		open.Count += h.counts[n].Load()
	}
	bars = append(bars, open)
	for len(bars) > 0 && bars[0].Count == 0 {
		bars = bars[1:]
	}
	for len(bars) > 0 && bars[len(bars)-1].Count == 0 {
		bars = bars[:len(bars)-1]
	}
	return bars
}
