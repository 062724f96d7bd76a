package site

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
)

// testKit returns the kit of a console without a database.
func testKit(t testing.TB) (kit *page.Kit) {
	t.Helper()
	c, err := console.New(console.Config{}, sections, append(subjects(),
		console.Subject{Routes: []console.Route{{Method: http.MethodGet, Path: "/kit",
			Needs: access.Public, Serve: func(req *console.Request) error {
				kit = req.Kit
				return nil
			}}}})...)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/kit", http.NoBody)
	if c.Serve(httptest.NewRecorder(), r, "", direct{c, r}); kit == nil {
		t.Fatal("no page was served")
	}
	return kit
}
