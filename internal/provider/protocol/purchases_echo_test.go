package protocol_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"quittance/internal/provider"
	"quittance/test/providertest"
)

// TestAnEchoInAPageStaysInItsEntry checks that an entry that contains our credential shows nothing, that the other
// entries are complete, and that a cursor that contains it is refused.
func TestAnEchoInAPageStaysInItsEntry(t *testing.T) {
	for _, form := range echoForms {
		echo := form("xy", credential, "z")
		entries := fmt.Sprintf(
			`{"purchases":[{"id":"a","supplier_name":"%[1]s"},{"id":"%[1]s"},{"id":"c","supplier_name":"Söhne"}],"next_cursor":"n","has_more":false}`, echo)
		frame := fmt.Sprintf(`{"purchases":[{"id":"a"}],"next_cursor":"%s","has_more":true}`, echo)
		server := providertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			body := entries
			if strings.HasPrefix(r.URL.Path, "/frame/") {
				body = frame
			}
			_, _ = w.Write([]byte(body))
		})
		page, response := adapter(t, server.URL, nil).Purchases(t.Context(), "", 10)
		if response.Kind != provider.Complete || !response.Echoed || len(page.Purchases) != 3 {
			t.Fatalf("%s: answer %s with %d entries", echo, response.Kind, len(page.Purchases))
		}
		first, second, third := page.Purchases[0], page.Purchases[1], page.Purchases[2]
		if first.ID != "a" || first.SupplierName != "" || !first.Echoed || !first.Unreadable ||
			!strings.Contains(string(first.Raw), "supplier_name") {
			t.Errorf("%s: an entry with an echo is read as %+v", echo, first)
		}
		if second.ID != "" || !second.Echoed || !second.Unreadable {
			t.Errorf("%s: an entry whose id is an echo is read as %+v", echo, second)
		}
		if third.ID != "c" || third.SupplierName != "Söhne" || third.Echoed || third.Unreadable {
			t.Errorf("%s: the entry beside it is read as %+v", echo, third)
		}
		page, response = adapter(t, server.URL+"/frame", nil).Purchases(t.Context(), "", 10)
		if response.Kind != provider.Ambiguous || response.ErrorClass != provider.ClassProtocol || len(page.Purchases) != 0 ||
			page.NextCursor != "" {
			t.Errorf("%s: as a cursor it is answered %s %s with %+v", echo, response.Kind, response.ErrorClass, page)
		}
	}
}
