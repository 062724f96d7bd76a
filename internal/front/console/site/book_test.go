package site_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/access"
)

// fillBook gives the company two customers, one of them with a name of its own, and an item.
func (s *system) fillBook(t testing.TB, token string) (customer, item string) {
	t.Helper()
	make := func(path string, body any) string {
		t.Helper()
		var made struct{ ID string }
		if status := s.api(t, token, http.MethodPost, "/api/v1/client"+path, body, &made); status != http.StatusCreated {
			t.Fatalf("create at %s: %d", path, status)
		}
		return made.ID
	}
	make("/customers", api.CustomerFields{RecipientName: new("Oasis <b>FZE</b>"), BuyerCity: new("Sharjah"),
		Currency: new("USD")})
	customer = make("/customers", api.CustomerFields{DisplayName: new("Dune, Dubai branch"),
		RecipientName: new("Dune Logistics FZE"), RecipientNetworkID: new("sandbox-accepted"),
		BuyerEndpointScheme: new("0235"), BuyerStreet: new("12 Harbour Road"), BuyerCity: new("Dubai"),
		BuyerSubdivision: new("DXB"), BuyerCountry: new("AE"), BuyerTaxID: new("100200300400003"),
		BuyerReference: new("COST-7"), Currency: new("AED"), PaymentMeansCode: new("30"),
		PaymentTermsDays: new(14), Note: new("two\r\nlines")})
	item = make("/items", api.CatalogueItemFields{Name: new("Pallet storage"), ItemCode: new("SKU-7"),
		UnitCode: new("DAY"), NetUnitPrice: new(api.MustDecimal("1250.50")), Currency: new("AED"),
		VATCategory: new("S"), VATRate: new(api.MustDecimal("5")), Description: new("per pallet")})
	return customer, item
}

// TestBookPages checks that customers and items are created, found, shown, changed and deleted in the console, with the
// conversions and the rules of the form of a draft.
func TestBookPages(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Second)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	wantPage(t, v, "/customers", []string{"No customers yet", `href="/customers/new"`}, nil)
	wantPage(t, v, "/items", []string{"No items yet"}, nil)
	form := controls(t, v.read("/items/new").body)
	form.Set("name", `</script><b>"Rack"`)
	form.Set("net_unit_price", "1,250.5")
	form.Set("currency", "dirham")
	form.Set("vat_category", "nonsense")
	if got := v.send("/items/new", form, ""); got.status != http.StatusUnprocessableEntity &&
		notesAt(t, got.body)["currency"] == "" {
		t.Errorf("an ambiguous currency: %d", got.status)
	}
	form.Set("currency", "UAE Dirham")
	form.Set("net_unit_price", "a lot")
	got := v.send("/items/new", form, "")
	if got.status != http.StatusUnprocessableEntity || notesAt(t, got.body)["net_unit_price"] == "" ||
		controls(t, got.body).Get("name") != `</script><b>"Rack"` {
		t.Errorf("a price in words: %d %v", got.status, notesAt(t, got.body))
	}
	form = controls(t, got.body)
	form.Set("net_unit_price", "1,250.5")
	got = v.send("/items/new", form, "")
	at, _, _ := strings.Cut(got.header.Get("Location"), "?")
	if again := v.send("/items/new", form, ""); got.status != http.StatusSeeOther ||
		again.header.Get("Location") != got.header.Get("Location") {
		t.Fatalf("creation: %d %v; the same form again: %s", got.status, notesAt(t, got.body), again.header.Get("Location"))
	}
	wantPage(t, v, "/items?q=RACK", []string{"&lt;/script&gt;&lt;b&gt;", "1,250.5 AED"}, []string{"<b>\"Rack"})
	wantPage(t, v, "/items?q=nothing", []string{"No item matches your search"}, []string{"Rack"})
	wantPage(t, v, "/items?x=1", []string{"x=1"}, nil)
	wantPage(t, v, at, []string{"UAE Dirham", "nonsense"}, nil)

	customer, _ := s.fillBook(t, token)
	at = "/customers/" + customer
	wantPage(t, v, "/customers", []string{"Dune, Dubai branch", "Dune Logistics FZE", "Oasis &lt;b&gt;"}, nil)
	wantPage(t, v, at, []string{"United Arab Emirates", "Credit transfer", "14"}, nil)
	stale := controls(t, v.read(at+"/edit").body)
	edit := controls(t, v.read(at+"/edit").body)
	edit.Set("buyer_city", "Ajman")
	if got := v.send(at+"/edit", edit, ""); got.status != http.StatusSeeOther {
		t.Fatalf("change: %d %v", got.status, notesAt(t, got.body))
	}
	var read api.Customer
	s.api(t, token, http.MethodGet, "/api/v1/client/customers/"+customer, nil, &read)
	if *read.BuyerCity != "Ajman" || *read.Note != "two\r\nlines" || *read.PaymentTermsDays != 14 ||
		*read.BuyerCountry != "AE" {
		t.Errorf("changed to %+v", read)
	}
	stale.Set("buyer_street", "1 Old Road")
	conflict := v.send(at+"/edit", stale, "")
	again := controls(t, conflict.body)
	if conflict.status != http.StatusConflict || !strings.Contains(conflict.body, `href="#f-buyer_city"`) ||
		strings.Contains(conflict.body, `href="#f-note"`) || again.Get("buyer_street") != "1 Old Road" {
		t.Errorf("a stale form: %d", conflict.status)
	}
	if got := v.send(at+"/edit", again, ""); got.status != http.StatusSeeOther {
		t.Errorf("the stale form again: %d", got.status)
	}
	for _, version := range []string{"", "1", stale.Get("version")} {
		if got := v.send(at+"/delete", url.Values{"version": {version}}, ""); got.status != http.StatusConflict ||
			!strings.Contains(got.body, "Nothing was deleted") {
			t.Errorf("deletion of version %q: %d", version, got.status)
		}
	}
	now := controls(t, v.read(at).body).Get("version")
	if got := v.send(at+"/delete", url.Values{"version": {now}}, ""); got.status != http.StatusSeeOther ||
		got.header.Get("Location") != "/customers?notice=good.customers_deleted" {
		t.Errorf("deletion: %d %s", got.status, got.header.Get("Location"))
	}
	if got := v.get(at); got.status != http.StatusNotFound {
		t.Errorf("a deleted customer: %d", got.status)
	}
}

// TestBookIsOfTheCompany checks that nobody reads or changes the book of another company, and that a viewer only reads.
func TestBookIsOfTheCompany(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Second)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	customer, item := s.fillBook(t, token)
	s.company(t, "other@example.com", "correct horse battery staple")
	other := s.visitor(t)
	other.post("/login", "email", "other@example.com", "password", "correct horse battery staple")
	wantPage(t, other, "/customers", []string{"No customers yet"}, []string{"Dune"})
	for _, at := range []string{"/customers/" + customer, "/items/" + item, "/customers/" + item, "/items/" + customer} {
		for _, path := range []string{at, at + "/edit"} {
			if got := other.get(path); got.status != http.StatusNotFound {
				t.Errorf("another company reads %s: %d", path, got.status)
			}
		}
		for _, path := range []string{at + "/edit", at + "/delete"} {
			if got := other.send(path, url.Values{"version": {"1"}, "recipient_name": {"x"}, "name": {"x"}},
				""); got.status != http.StatusNotFound {
				t.Errorf("another company changes %s: %d", path, got.status)
			}
		}
	}
	viewer := s.colleague(t, access.Viewer)
	wantPage(t, viewer, "/customers", []string{"Dune"}, []string{`id="new"`})
	wantPage(t, viewer, "/items/"+item, []string{"Pallet storage"}, []string{`id="edit"`, `id="delete"`})
	if got := viewer.send("/items/new", url.Values{"name": {"x"}}, ""); got.status != http.StatusForbidden {
		t.Errorf("a viewer creates an item: %d", got.status)
	}
	if got := v.get("/items/" + customer); got.status != http.StatusNotFound {
		t.Errorf("a customer is an item: %d", got.status)
	}
}
