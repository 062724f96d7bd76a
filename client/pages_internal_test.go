package client

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"quittance/api"
)

// Every entry that was there at the beginning comes, once and in its order, although new ones push the others on from
// page to page, whatever the size of a page, and whatever fits into an answer.
func TestEveryEntryComesOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// An entry is its number and its size; those that arrive later have numbers below 0.
		type entry struct{ number, size int }
		size := rapid.IntRange(0, 10)
		const fits = 10 // in an answer; any one entry does
		arrivals := rapid.SliceOfN(rapid.IntRange(0, 20), 0, 8).Draw(t, "arrivals")
		var entries []entry
		for n := range rapid.IntRange(0, 60).Draw(t, "entries") {
			entries = append(entries, entry{n, size.Draw(t, "size")})
		}
		perPage := rapid.IntRange(0, 120).Draw(t, "per page")
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
			if len(arrivals) > 0 { // once somebody has seen the list
				for range arrivals[0] {
					entries = slices.Insert(entries, 0, entry{-len(entries) - 1, size.Draw(t, "new")})
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
			t.Fatalf("%v came of %v", got, want)
		}
	})
}
