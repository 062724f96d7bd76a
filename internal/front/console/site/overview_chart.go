package site

import (
	"time"

	"quittance/internal/front/view"
)

// overviewChart shows how many invoices were submitted on each day, by the tab that they are in now. It is drawn in
// units of its own: columnWidth for a day and columnHeight for the highest column.
type overviewChart struct {
	Days []chartDay
	// Most is the number of invoices of the highest column, and Width the width of all columns.
	Most, Width int
	// Total is the number of invoices in the chart.
	Total int
}

// chartDay is the column of one day.
type chartDay struct {
	Day time.Time
	// X is where the column begins.
	X                               int
	Attention, InProgress, Accepted int
	// Bars are the parts of the column that are not empty, from the bottom.
	Bars []chartBar
}

// Total returns the number of invoices of the day.
func (d chartDay) Total() int { return d.Attention + d.InProgress + d.Accepted }

// chartBar is a part of a column. Class is the style class of its meaning; Y is its upper end, from the top.
type chartBar struct {
	Class     string
	Y, Height float64
}

// The sizes in the chart.
const (
	columnWidth  = 20
	columnHeight = 120
)

func newOverviewChart(days []view.OverviewDay) overviewChart {
	chart := overviewChart{Width: len(days) * columnWidth}
	for n, day := range days {
		column := chartDay{Day: day.Day, X: n * columnWidth, Attention: max(day.Invoices[view.TabAttention], 0),
			InProgress: max(day.Invoices[view.TabInProgress], 0), Accepted: max(day.Invoices[view.TabAccepted], 0)}
		chart.Days = append(chart.Days, column)
		chart.Most, chart.Total = max(chart.Most, column.Total()), chart.Total+column.Total()
	}
	for n := range chart.Days {
		day, y := &chart.Days[n], float64(columnHeight)
		for _, part := range []struct {
			class string
			count int
		}{{"positive", day.Accepted}, {"waiting", day.InProgress}, {"negative", day.Attention}} {
			if part.count == 0 {
				continue
			}
			height := float64(columnHeight) * float64(part.count) / float64(chart.Most)
			y -= height
			day.Bars = append(day.Bars, chartBar{Class: part.class, Y: y, Height: height})
		}
	}
	return chart
}
