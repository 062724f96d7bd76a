package server

import "quittance/client/api"

// The bounds of a page.
const (
	defaultPerPage = 25
	maxPerPage     = 100
)

// page returns the page number and size of the query.
func (c *call) page(defaultPerPage int) (page, perPage int, err error) {
	if page, err = c.positiveInt("page", 1); err != nil {
		return 0, 0, err
	}
	if perPage, err = c.positiveInt("per_page", defaultPerPage); err != nil {
		return 0, 0, err
	}
	return page, min(perPage, maxPerPage), nil
}

// pagination describes a page of a list with total entries.
func pagination(page, perPage, total int) api.Pagination {
	last := max(1, (total+perPage-1)/perPage)
	return api.Pagination{CurrentPage: page, PerPage: perPage, LastPage: last, HasMore: page < last, Total: total}
}

// present returns the facts of a page as the API shows them.
func present[F, S any](facts []F, as func(F) S) []S {
	var out []S
	for _, fact := range facts {
		out = append(out, as(fact))
	}
	return out
}
