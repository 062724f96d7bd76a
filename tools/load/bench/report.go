package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Figure is one measured number.
type Figure struct {
	// Name says what the figure is and ends in its unit, such as deliveries_per_second.
	Name string
	// Value is the number; it is not valid when NotMeasured is set.
	Value float64
	// NotMeasured is the reason why there is no number.
	NotMeasured string
}

// Figures is written as one JSON object in the order of the figures; a figure that was not measured is null.
type Figures []Figure

// MarshalJSON implements [json.Marshaler].
func (f Figures) MarshalJSON() ([]byte, error) {
	return object(len(f), func(n int) (string, any) {
		if f[n].NotMeasured != "" || math.IsNaN(f[n].Value) || math.IsInf(f[n].Value, 0) {
			return f[n].Name, nil
		}
		return f[n].Name, f[n].Value
	})
}

// object writes fields as a JSON object in their order.
func object(fields int, field func(n int) (name string, value any)) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for n := range fields {
		name, value := field(n)
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			b.WriteByte(',')
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Latency is a histogram with a name that says when the latency starts and ends.
type Latency struct {
	Name      string
	Histogram *Histogram
}

// Latencies is written as one JSON object in the order of the latencies, each with its quantiles in seconds.
type Latencies []Latency

// MarshalJSON implements [json.Marshaler].
func (l Latencies) MarshalJSON() ([]byte, error) {
	return object(len(l), func(n int) (string, any) {
		h := l[n].Histogram
		return l[n].Name, struct {
			Count int64   `json:"count"`
			Mean  float64 `json:"mean_seconds"`
			P50   float64 `json:"p50_seconds"`
			P90   float64 `json:"p90_seconds"`
			P99   float64 `json:"p99_seconds"`
			P999  float64 `json:"p99_9_seconds"`
			Max   float64 `json:"max_seconds"`
		}{h.Count(), h.Mean().Seconds(), h.Quantile(.5).Seconds(), h.Quantile(.9).Seconds(), h.Quantile(.99).Seconds(),
			h.Quantile(.999).Seconds(), h.Max().Seconds()}
	})
}

// Machine describes the machine of a run.
type Machine struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	Cores        int    `json:"cores"`
}

// Report is the result of a measurement.
type Report struct {
	// Command is the subcommand that repeats the measurement.
	Command string `json:"command"`
	// Version is the version of the server of an own deployment, and otherwise of the measuring program.
	Version string    `json:"version"`
	At      time.Time `json:"at"`
	Machine Machine   `json:"machine"`
	// Deployment is own or given, Engine sqlite or postgres, or "" when unknown.
	Deployment string `json:"deployment"`
	Engine     string `json:"engine"`
	// Loop is open or closed, or "" when there are no calls.
	Loop string `json:"loop"`
	// Settings are the sizes of the run.
	Settings Figures `json:"settings"`
	// Figures are the results, Limits the limits of the machine in the same run.
	Figures   Figures   `json:"figures"`
	Latencies Latencies `json:"latencies"`
	Limits    Figures   `json:"limits"`
	// NotMeasured has the reason for each figure that is null.
	NotMeasured map[string]string `json:"not_measured"`
	// Failed counts calls that failed, by reason.
	Failed map[string]int64 `json:"failed"`
	// Lost is how many events never arrived.
	Lost int64 `json:"lost"`
	// Notes explain the figures.
	Notes []string `json:"notes"`
	// Samples are the measurements taken during a long run.
	Samples []Figures `json:"samples,omitempty"`
}

// set adds a figure.
func (r *Report) set(name string, value float64) {
	r.Figures = append(r.Figures, Figure{Name: name, Value: value})
}

// unknown adds a figure that could not be measured.
func (r *Report) unknown(name, why string) {
	r.Figures = append(r.Figures, Figure{Name: name, NotMeasured: why})
	r.NotMeasured[name] = why
}

// setting adds a size of the run.
func (r *Report) setting(name string, value float64) {
	r.Settings = append(r.Settings, Figure{Name: name, Value: value})
}

// limit adds a limit of the machine and, if figure is above 0, the share of the limit that it is.
func (r *Report) limit(name string, value, figure float64) {
	r.Limits = append(r.Limits, Figure{Name: name, Value: value})
	if figure > 0 && value > 0 {
		r.Limits = append(r.Limits, Figure{Name: "share_of_" + name, Value: figure / value})
	}
}

// note adds a remark.
func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// clocks adds a note about the visible difference between the clocks of the events and of the receiver.
func (r *Report) clocks(came tally) {
	r.note("An event's latency counts from occurred_at, which is set in the transaction: the commit is part of it.")
	if came.early > 0 {
		r.note(
			"%d events came up to %v before their time, and count as 0: so far are the clock of the events and that of the receiver apart at least.", came.early, came.earliest)
	}
}

// count adds the outcome of a load.
func (r *Report) count(o outcome, rate float64) {
	for reason, n := range o.failed {
		r.Failed[reason] += n
	}
	if rate == 0 {
		return
	}
	r.set("late_starts", float64(o.late))
	r.set("latest_start_seconds", o.latest.Seconds())
	if o.late > 0 {
		r.note(
			"%d of %d calls started more than %v after they were due, the last of them %v: their latencies count that wait",
			o.late, o.started, lateAfter, o.latest.Round(time.Millisecond))
	}
	if o.late*100 > o.started {
		r.note(
			"The schedule was not kept: fewer than 99 %% of the calls started in time. Give more --clients, or a lower --rate.")
	}
}

// Err returns an error if calls failed or events were lost under the load.
func (r *Report) Err() error {
	var wrong []string
	if r.Lost > 0 {
		wrong = append(wrong, fmt.Sprintf("%d events never arrived", r.Lost))
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Failed)) {
		wrong = append(wrong, fmt.Sprintf("%d times %s", r.Failed[reason], reason))
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", r.Command, strings.Join(wrong, "; "))
}

// barWidth is the length of the longest bar of a chart, in characters.
const barWidth = 40

// Print writes the report for a terminal.
func (r *Report) Print(to io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s   %s deployment", r.Command, r.Deployment)
	if r.Engine != "" {
		fmt.Fprintf(&b, " on %s", r.Engine)
	}
	if r.Loop != "" {
		fmt.Fprintf(&b, ", %s loop", r.Loop)
	}
	fmt.Fprintf(&b, ", %d cores (%s/%s), version %s\n", r.Machine.Cores, r.Machine.OS, r.Machine.Architecture, r.Version)
	printFigures(&b, "Sizes of the run", r.Settings)
	printFigures(&b, "Figures", r.Figures)
	for _, l := range r.Latencies {
		printLatency(&b, l)
	}
	printFigures(&b, "Bare limits of this machine, in the same run", r.Limits)
	if len(r.Notes) > 0 {
		fmt.Fprintf(&b, "\n  Notes\n")
		for _, note := range r.Notes {
			fmt.Fprintf(&b, "    - %s\n", note)
		}
	}
	if err := r.Err(); err != nil {
		fmt.Fprintf(&b, "\n  FAILED  %v\n", err)
	}
	b.WriteByte('\n')
	_, err := io.WriteString(to, b.String())
	return err
}

func printFigures(b *strings.Builder, title string, figures Figures) {
	if len(figures) == 0 {
		return
	}
	fmt.Fprintf(b, "\n  %s\n", title)
	for _, f := range figures {
		if f.NotMeasured != "" {
			fmt.Fprintf(b, "    %-46s not measured: %s\n", f.Name, f.NotMeasured)
			continue
		}
		fmt.Fprintf(b, "    %-46s %s\n", f.Name, number(f))
	}
}

// number formats a figure in a readable unit.
func number(f Figure) string {
	switch {
	case strings.HasSuffix(f.Name, "_bytes"):
		return fmt.Sprintf("%.1f MiB", f.Value/(1<<20))
	case strings.HasSuffix(f.Name, "_seconds") && f.Value < 1:
		return fmt.Sprintf("%.3f ms", 1000*f.Value)
	case strings.HasPrefix(f.Name, "share_of_"):
		return fmt.Sprintf("%.1f %%", 100*f.Value)
	case f.Value == math.Trunc(f.Value):
		return fmt.Sprintf("%.0f", f.Value)
	case math.Abs(f.Value) >= 100:
		return fmt.Sprintf("%.0f", f.Value)
	default:
		return fmt.Sprintf("%.3f", f.Value)
	}
}

func printLatency(b *strings.Builder, l Latency) {
	h := l.Histogram
	fmt.Fprintf(b, "\n  %s (%d)\n", l.Name, h.Count())
	if h.Count() == 0 {
		return
	}
	fmt.Fprintf(b, "    p50 %s   p90 %s   p99 %s   p99.9 %s   max %s\n", short(h.Quantile(.5)), short(h.Quantile(.9)),
		short(h.Quantile(.99)), short(h.Quantile(.999)), short(h.Max()))
	bars := h.Bars()
	most := int64(1)
	for _, bar := range bars {
		most = max(most, bar.Count)
	}
	for _, bar := range bars {
		length := int((bar.Count*barWidth + most - 1) / most)
		fmt.Fprintf(b, "    ≤ %-9s %9d %s\n", short(bar.UpTo), bar.Count, strings.Repeat("█", length))
	}
}

// short formats a duration with three digits.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", d.Microseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2fms", d.Seconds()*1000)
	case d < time.Second:
		return fmt.Sprintf("%.1fms", d.Seconds()*1000)
	default:
		return fmt.Sprintf("%.2fs", d.Seconds())
	}
}

// loop records whether the loop of a load is open or closed.
func (r *Report) loop(rate float64) {
	r.Loop = "closed"
	if rate > 0 {
		r.Loop = "open"
		r.setting("rate_per_second", rate)
	}
}
