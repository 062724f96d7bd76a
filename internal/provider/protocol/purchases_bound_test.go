package protocol_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"quittance/internal/provider"
	"quittance/test/providertest"
)

// TestMoreThanAsked checks that a page with more entries than requested violates the protocol, and that none of it is
// used.
func TestMoreThanAsked(t *testing.T) {
	for entries, kind := range map[int]provider.Kind{9: provider.Complete, 10: provider.Complete, 11: provider.Ambiguous,
		5_000: provider.Ambiguous} {
		server := providertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			list := strings.TrimSuffix(strings.Repeat(`{"id":"a"},`, entries), ",")
			_, _ = fmt.Fprintf(w, `{"purchases":[%s],"next_cursor":"n","has_more":true}`, list)
		})
		page, response := adapter(t, server.URL, nil).Purchases(t.Context(), "", 10)
		if response.Kind != kind || kind != provider.Complete &&
			(len(page.Purchases) != 0 || page.NextCursor != "" || page.HasMore) {
			t.Errorf("%d entries are answered %s with %d of them", entries, response.Kind, len(page.Purchases))
		}
	}
}
