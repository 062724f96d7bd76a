package page

import (
	"maps"
	"net/url"
	"strconv"
)

// Paging is the position in a list.
type Paging struct {
	Page, PerPage, Total int
	// Path is the address of the list.
	Path  string
	query url.Values
}

// The page sizes of lists.
const (
	defaultPerPage = 50
	MaxPerPage     = 100
)

// Paging reads the position in a list from the query. Invalid numbers mean the first page, because people may type an
// address.
func (req *Request) Paging() Paging {
	query := req.R.URL.Query()
	query.Del("seen")
	query.Del(NoticeParameter)
	number := func(name string, absent int) int {
		n, err := strconv.Atoi(query.Get(name))
		if err != nil || n < 1 {
			return absent
		}
		return n
	}
	return Paging{Page: number("page", 1), PerPage: min(number("per", defaultPerPage), MaxPerPage), Path: req.R.URL.Path,
		query: query}
}

// Last returns the number of the last page; pages are numbered from 1.
func (p Paging) Last() int { return max(1, (p.Total+p.PerPage-1)/p.PerPage) }

// First returns the number of the first entry on the page, from 1, or 0 when the page is empty.
func (p Paging) First() int {
	if p.Through() == 0 {
		return 0
	}
	return (p.Page-1)*p.PerPage + 1
}

// Through returns the number of the last entry on the page, or 0 when the page is empty.
func (p Paging) Through() int {
	if p.Page > p.Last() {
		return 0
	}
	return min(p.Page*p.PerPage, p.Total)
}

// Link returns the address of another page of the same list.
func (p Paging) Link(page int) string {
	query := url.Values{}
	maps.Copy(query, p.query)
	query.Set("page", strconv.Itoa(page))
	return p.Path + "?" + query.Encode()
}

// Previous returns the number of the previous page, or 0.
func (p Paging) Previous() int { return min(p.Page-1, p.Last()) }

// Next returns the number of the next page, or 0.
func (p Paging) Next() int {
	if p.Page >= p.Last() {
		return 0
	}
	return p.Page + 1
}
