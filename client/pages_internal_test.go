package client

import (
	"math/rand/v2"
	"slices"
	"testing"

	"quittance/client/api"
)

// TestEveryEntryIsReturnedOnce checks that every entry that existed at the beginning is returned once and in order, for
// any page size and any limit of a response, although new entries move the others from page to page.
func TestEveryEntryIsReturnedOnce(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		// An entry is its number and its size; those that arrive later have numbers below 0.
		type entry struct{ number, size int }
		size := func() int { return random.IntN(11) }
		const fits = 10 // the size of a response; any single entry fits
		arrivals := make([]int, random.IntN(9))
		for n := range arrivals {
			arrivals[n] = random.IntN(21)
		}
		var entries []entry
		for n := range random.IntN(61) {
			entries = append(entries, entry{n, size()})
		}
		perPage := random.IntN(121)
		want := slices.Clone(entries)

		fetch := func(asked Paging) (api.List[entry], error) {
			page, perPage := asked.Page, asked.PerPage
			if page < 1 || perPage < 1 || perPage > maxPerPage {
				t.Fatalf("page %d of %d", page, perPage)
			}
			from, to := min((page-1)*perPage, len(entries)), min(page*perPage, len(entries))
			list := api.List[entry]{Data: slices.Clone(entries[from:to]), Pagination: api.Pagination{HasMore: to < len(entries)}}
			total := 0
			for _, e := range list.Data {
				total += e.size
			}
			if total > fits {
				return api.List[entry]{}, &ResponseError{Status: 200, cause: ErrTooLarge}
			}
			if len(arrivals) > 0 { // after the first page was read
				for range arrivals[0] {
					entries = slices.Insert(entries, 0, entry{-len(entries) - 1, size()})
				}
				arrivals = arrivals[1:]
			}
			return list, nil
		}
		var got []entry
		for e, err := range all(perPage, func(e *entry) string { return string(rune(0x10000 + e.number)) }, fetch) {
			if err != nil {
				t.Fatal(err)
			}
			if e.number >= 0 {
				got = append(got, e)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}
