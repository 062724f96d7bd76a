package pdf

import (
	"context"
	"fmt"

	"quittance/client/api"
	"quittance/internal/platform/problem"
)

// maxPages is the largest number of pages of a document.
const maxPages = 1000

// ErrTooLong says that a document has more than a thousand pages.
var ErrTooLong = problem.Named("long_document", api.CodeValidationFailed, "pdf: the document has too many pages").
	With(map[string]any{"document": []api.Fault{{Rule: "max_pages", Message: "has more than 1000 pages"}}})

// sheet fills pages from top to bottom.
type sheet struct {
	*typesetter
	ctx   context.Context //nolint:containedctx // a sheet is filled by one call
	fonts *embeddedFonts
	pages []*page
	// y is where the next content begins on the last page.
	y float64
	// head draws what every page but the first begins with; tableHead the head of the table that continues, or nil.
	head, tableHead func()
	err             error
}

// bottom is where content ends.
const bottom = pageHeight - marginBottom

// page is the last page.
func (s *sheet) page() *page { return s.pages[len(s.pages)-1] }

// turn begins a page. Once pages or time run out, everything else is drawn on the last page and the error is kept.
func (s *sheet) turn() {
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	if s.err == nil && len(s.pages) == maxPages {
		s.err = ErrTooLong
	}
	if s.err == nil || len(s.pages) == 0 {
		s.pages = append(s.pages, &page{fonts: s.fonts})
	} else {
		s.page().content.Reset()
	}
	s.y = marginTop
	if len(s.pages) > 1 {
		s.head()
	}
	if s.tableHead != nil {
		s.tableHead()
	}
}

// need turns the page if less than a height is left.
func (s *sheet) need(height float64) {
	if s.y+height > bottom && s.err == nil {
		s.turn()
	}
}

// cell is a part of a row: lines at a place.
type cell struct {
	x, width float64
	right    bool
	lines    []line
}

// put draws a line within a width, at its right end if right, with its baseline at y. A line that is too wide, which is
// a number that cannot be broken, is drawn smaller.
func (s *sheet) put(x, y, width float64, right bool, l line) {
	if l.width > width {
		factor := width / l.width
		l.runs = append([]run(nil), l.runs...)
		for n := range l.runs {
			l.runs[n].style.size *= factor
		}
		l.width = width
	}
	if right {
		x += width - l.width
	}
	s.page().text(x, y, l)
}

// row draws cells beside each other, on as many pages as they need.
func (s *sheet) row(lead, above, below float64, cells ...cell) {
	total := 0
	for _, c := range cells {
		total = max(total, len(c.lines))
	}
	if height := above + below + float64(total)*lead; height < (bottom-marginTop)/3 {
		s.need(height)
	}
	for from := 0; from < total && s.err == nil; {
		s.need(above + 2*lead + below)
		fits := max(1, min(total-from, int((bottom-s.y-above-below)/lead)))
		for _, c := range cells {
			for n := from; n < min(from+fits, len(c.lines)); n++ {
				s.put(c.x, s.y+above+(float64(n-from)+0.76)*lead, c.width,
					c.right || c.lines[n].rightToLeft && c.width < contentWidth, c.lines[n])
			}
		}
		s.y += above + below + float64(fits)*lead
		from += fits
	}
}

// one makes a single line, which is cut if it is too wide.
func (s *sheet) one(text string, st style, width float64) []line { return s.wrap(text, st, width, 1) }

// number makes the line of a number, which is never cut.
func (s *sheet) number(text string, st style) []line { return s.wrap(text, st, 10*pageWidth, 1) }

// horizontal draws a thin line.
func (s *sheet) horizontal(x, width float64) { s.page().fill(x, s.y, width, 0.6, rule) }

// feet draws the foot of every page, when their number is known.
func (s *sheet) feet() {
	small := style{size: 7.5, color: muted}
	for n, p := range s.pages {
		p.fill(marginSide, bottom+16, contentWidth, 0.6, rule)
		s.foot(p, s.one("Copy. This is not the legal document.", small, contentWidth/2), false)
		s.foot(p, s.one(fmt.Sprintf("Page %d of %d", n+1, len(s.pages)), small, contentWidth/2), true)
	}
}

func (s *sheet) foot(p *page, lines []line, right bool) {
	x := marginSide
	if right {
		x += contentWidth - lines[0].width
	}
	p.text(x, bottom+30, lines[0])
}
