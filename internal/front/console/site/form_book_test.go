package site_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"quittance/client/api"
	"quittance/internal/ops/service"
)

// TestFormUsesBook checks that the form of a draft offers customers and items before those of earlier invoices, and
// fills in all their fields without scripts.
func TestFormUsesBook(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	v.created(complete("INV-1"))
	customer, _ := s.fillBook(t, token)
	page := v.read("/invoices/new")
	wantOrder(t, page.body, `<option value="Dune, Dubai branch">sandbox-accepted</option>`,
		`<option value="Oasis &lt;b&gt;FZE&lt;/b&gt;">`, `<option value="Palm Trading LLC">`)
	wantOrder(t, page.body, `<option value="Pallet storage">SKU-7</option>`, `<option value="Consulting">`)
	if got := v.get("/invoices/items?q=SKU", "HX-Request", "true"); !strings.Contains(got.body,
		`value="Pallet storage"`) || strings.Contains(got.body, "Consulting") {
		t.Errorf("search: %s", got.body)
	}
	form := controls(t, page.body)
	form.Set("issue_date", "2026-04-01")
	form.Set("currency", "US Dollar")
	form.Set("recipient_name", "dune, dubai branch")
	form = controls(t, v.send("/invoices/new", form, "fill").body)
	for name, want := range map[string]string{"recipient_name": "Dune Logistics FZE",
		"recipient_network_id": "sandbox-accepted", "buyer_endpoint_scheme": "UAE Tax Identification Number (TIN)",
		"buyer_street": "12 Harbour Road", "buyer_subdivision": "Dubai", "buyer_country": "United Arab Emirates",
		"buyer_tax_id": "100200300400003", "buyer_reference": "COST-7", "currency": "UAE Dirham",
		"payment_means_code": "Credit transfer", "due_date": "2026-04-15", "note": "two\nlines", "customer": customer} {
		if got := strings.ReplaceAll(form.Get(name), "\r\n", "\n"); got != want {
			t.Errorf("%s is filled in as %q, want %q", name, got, want)
		}
	}
	form.Set("items.name", "PALLET STORAGE")
	form.Set("items.quantity", "3")
	filled := controls(t, v.send("/invoices/new", form, "item:0").body)
	for name, want := range map[string]string{"items.name": "Pallet storage", "items.quantity": "3",
		"items.unit_code": "day", "items.net_unit_price": "1,250.50", "items.vat_category": "Standard rate",
		"items.vat_rate": "5", "items.item_code": "SKU-7", "items.description": "per pallet"} {
		if filled.Get(name) != want {
			t.Errorf("%s is filled in as %q, want %q", name, filled.Get(name), want)
		}
	}
	form.Set("currency", "US Dollar")
	other := v.send("/invoices/new", form, "item:0")
	if kept := controls(t, other.body); kept.Get("items.net_unit_price") != "" || kept.Get("items.item_code") != "SKU-7" ||
		!strings.Contains(notesAt(t, other.body)["items-0-net_unit_price"], "another currency") {
		t.Errorf("an item in another currency: price %q, notes %v", kept.Get("items.net_unit_price"), notesAt(t, other.body))
	}
	form.Set("items.name", "Consulting")
	if earlier := controls(t, v.send("/invoices/new", form, "item:0").body); earlier.Get("items.quantity") != "3" ||
		earlier.Get("items.unit_code") == "" {
		t.Errorf("a line of an earlier invoice: %v", earlier)
	}
	for _, button := range []string{"item:7", "item:-1", "item:x", "item:", "item"} {
		if got := v.send("/invoices/new", form, button); got.status != http.StatusOK {
			t.Errorf("the button %s: %d", button, got.status)
		}
	}
	if chosen := controls(t, v.read("/invoices/new?customer="+
		customer).body); chosen.Get("recipient_name") != "Dune Logistics FZE" || chosen.Get("customer") != customer {
		t.Errorf("a new invoice to a customer: %v", chosen)
	}
	for _, id := range []string{"x", "00000000-0000-0000-0000-000000000001"} {
		if got := v.get("/invoices/new?customer=" + id); got.status != http.StatusNotFound {
			t.Errorf("a new invoice to the customer %s: %d", id, got.status)
		}
	}
}

// wantOrder fails the test unless the texts are in a page in this order.
func wantOrder(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		_, rest, found := strings.Cut(page, text)
		if !found {
			t.Errorf("%s is not there, or not in its place", text)
			return
		}
		page = rest
	}
}

// TestFormSavesToBook checks that the boxes of the form save the recipient and the chosen line, also after lines were
// moved, and that they change an entry that is there.
func TestFormSavesToBook(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	customer, item := s.fillBook(t, token)
	var customers api.List[api.Customer]
	var items api.List[api.CatalogueItem]
	list := func() {
		t.Helper()
		customers, items = api.List[api.Customer]{}, api.List[api.CatalogueItem]{}
		for into, path := range map[any]string{&customers.Data: "/customers", &items.Data: "/items"} {
			if status := s.api(t, token, http.MethodGet, "/api/v1/client"+path, nil, into); status != http.StatusOK {
				t.Fatalf("%s: %d", path, status)
			}
		}
	}
	form := complete("INV-1")
	form.Set("due_date", "2026-03-31")
	form["items.name"] = append(form["items.name"], "Second")
	form["items.quantity"], form["items.net_unit_price"] = append(form["items.quantity"], "1"),
		append(form["items.net_unit_price"], "7")
	form.Set("save_customer", "1")
	form.Set("save_item", "1")
	moved := v.send("/invoices/new", form, "up:1")
	form = controls(t, moved.body)
	if form.Get("save_item") != "0" || form.Get("save_customer") != "1" || form["items.name"][0] != "Second" {
		t.Fatalf("after the line was moved, the boxes are %v and %v", form["save_item"], form["save_customer"])
	}
	form.Set("invoice_number", "INV-2")
	if got := v.send("/invoices/new", form, "save"); got.status != http.StatusSeeOther {
		t.Fatalf("save: %d %v", got.status, notesAt(t, got.body))
	}
	list()
	if len(customers.Data) != 3 || *customers.Data[2].RecipientName != "Palm Trading LLC" ||
		*customers.Data[2].Currency != "AED" || *customers.Data[2].PaymentTermsDays != 30 {
		t.Errorf("the customers are %+v", customers.Data)
	}
	if len(items.Data) != 2 || *items.Data[1].Name != "Second" || items.Data[1].NetUnitPrice.String() != "7" ||
		*items.Data[1].Currency != "AED" {
		t.Errorf("the items are %+v", items.Data)
	}
	// A customer with a name of its own, and an item of the same name, are changed and not added again.
	form = controls(t, v.read("/invoices/new?customer="+customer).body)
	for name, value := range map[string]string{"invoice_number": "INV-3", "buyer_city": "Ajman",
		"note": "for this invoice", "items.name": "pallet storage", "items.quantity": "1", "items.net_unit_price": "9",
		"save_customer": "1", "save_item": "0"} {
		form.Set(name, value)
	}
	if got := v.send("/invoices/new", form, "save"); got.status != http.StatusSeeOther {
		t.Fatalf("save: %d %v", got.status, notesAt(t, got.body))
	}
	list()
	if c := customers.Data[0]; len(customers.Data) != 3 || c.ID != customer || *c.BuyerCity != "Ajman" ||
		*c.DisplayName != "Dune, Dubai branch" || *c.Note != "two\r\nlines" || *c.PaymentTermsDays != 14 {
		t.Errorf("the customers are %+v", customers.Data)
	}
	if i := items.Data[0]; len(items.Data) != 2 || i.ID != item || i.NetUnitPrice.String() != "9" {
		t.Errorf("the items are %+v", items.Data)
	}
}

// TestFormSavesWithoutBook checks that a draft is saved although its recipient cannot be added to the customer book.
func TestFormSavesWithoutBook(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond, func(c *service.Config) { c.Quotas.StoredBytes = 1 })
	v := s.loggedIn(t)
	form := complete("INV-1")
	form.Set("save_customer", "1")
	got := v.send("/invoices/new", form, "save")
	at, key, _ := strings.Cut(got.header.Get("Location"), "?")
	if key != "notice=bad.book_full" {
		t.Fatalf("save: %d %s", got.status, got.header.Get("Location"))
	}
	wantPage(t, v, at+"?"+key, []string{"INV-1", "The draft was saved"}, nil)
	wantPage(t, v, "/customers", []string{"No customers yet"}, nil)
}

// TestCustomerLandsInDraft checks with random values that all fields of a customer and of an item get through the form
// into a draft, as they are in the book.
func TestCustomerLandsInDraft(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	random := rand.New(rand.NewPCG(36, 2))
	texts := []string{"abc", "1 <b>\"&amp;", "é😀 \u202eabc", "'; --", "0", "%s", "Ä\u0301", "=cmd()"}
	for n := range 12 {
		customer := api.CustomerFields{RecipientName: new(fmt.Sprintf("Customer %d", n))}
		item := api.CatalogueItemFields{Name: new(fmt.Sprintf("Item %d", n))}
		for _, fields := range []reflect.Value{reflect.ValueOf(&customer).Elem(), reflect.ValueOf(&item).Elem()} {
			for f := range fields.NumField() {
				name := fields.Type().Field(f).Tag.Get("json")
				field := fields.Field(f)
				if !field.IsNil() || random.IntN(3) == 0 {
					continue
				}
				switch field.Interface().(type) {
				case *string:
					field.Set(reflect.ValueOf(new(texts[random.IntN(len(texts))])))
				case *api.Decimal:
					field.Set(reflect.ValueOf(new(api.MustDecimal(fmt.Sprintf("%d.%02d0", random.IntN(5_000_000), random.IntN(100))))))
				}
				switch name {
				case "display_name":
					field.Set(reflect.ValueOf(new(fmt.Sprintf("Branch %d", n))))
				case "currency":
					field.Set(reflect.ValueOf(new("AED")))
				case "buyer_country", "origin_country":
					field.Set(reflect.ValueOf(new([]string{"AE", "DE", "XX"}[random.IntN(3)])))
				}
			}
		}
		for path, body := range map[string]any{"/customers": customer, "/items": item} {
			if status := s.api(t, token, http.MethodPost, "/api/v1/client"+path, body, nil); status != http.StatusCreated {
				t.Fatalf("create at %s: %d", path, status)
			}
		}
		form := controls(t, v.read("/invoices/new").body)
		form.Set("recipient_name", customer.Name())
		form.Set("items.name", *item.Name)
		form = controls(t, v.send("/invoices/new", controls(t, v.send("/invoices/new", form, "fill").body), "item:0").body)
		form.Set("invoice_number", fmt.Sprintf("INV-%d", n))
		form.Set("currency", "UAE Dirham")
		form.Set("items.quantity", "1")
		form.Set("total_amount", "1")
		if form.Get("items.net_unit_price") == "" {
			item.NetUnitPrice = new(api.MustDecimal("3"))
			form.Set("items.net_unit_price", "3")
		}
		got := v.send("/invoices/new", form, "save")
		if got.status != http.StatusSeeOther {
			t.Fatalf("save: %d %v", got.status, notesAt(t, got.body))
		}
		at, _, _ := strings.Cut(got.header.Get("Location"), "?")
		var made api.Invoice
		s.api(t, token, http.MethodGet, "/api/v1/client"+at, nil, &made)
		if landed := api.CustomerOf(&made.Draft); !reflect.DeepEqual(landed, api.CustomerOf(filledWith(&customer))) {
			t.Errorf("the recipient is %+v, want %+v", made.Draft, customer)
		}
		item.Currency = new("AED")
		if item.VATCategory == nil { // a new line keeps the tax of the invoice before
			item.VATCategory, item.VATRate = made.Items[0].VATCategory, made.Items[0].VATRate
		}
		if landed := api.CatalogueItemOf(&made.Items[0], made.Currency); !reflect.DeepEqual(landed, item) {
			t.Errorf("the line is %+v, want %+v", landed, item)
		}
	}
}

// filledWith returns a draft with a customer.
func filledWith(c *api.CustomerFields) *api.Draft {
	var d api.Draft
	c.Fill(&d)
	return &d
}

// TestKeyboardBook checks that a user with a keyboard alone creates a draft by choosing a customer and an item.
func TestKeyboardBook(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 20*time.Millisecond)
		token := s.token(t, s.email, s.password)
		s.fillBook(t, token)
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/invoices/new")
		b.until(`document.activeElement.id === "f-invoice_number"`)
		b.press("INV-1")
		b.tabTo("#f-recipient_name")
		b.press("dubai br")
		b.until(`document.querySelector("#f-recipient_name-choices li")?.dataset.value === "Dune, Dubai branch"`)
		b.press(kb.ArrowDown + kb.Enter)
		b.until(
			`document.querySelector("#f-recipient_name").value === "Dune Logistics FZE" && document.querySelector("#f-buyer_city").value === "Dubai"`)
		b.until(`document.activeElement.id === "f-recipient_network_id"`)
		b.tabTo("#f-items-0-name")
		b.press("pallet")
		b.until(`document.querySelector("#f-items-0-name-choices li")?.dataset.value === "Pallet storage"`)
		b.press(kb.ArrowDown + kb.Enter)
		b.until(`document.querySelector("#f-items-0-net_unit_price").value === "1,250.50"`)
		b.until(`document.activeElement.id === "f-items-0-quantity"`)
		b.press("2" + kb.Enter)
		b.until(`document.querySelector(".notice.good") && document.body.innerText.includes("2,626.05")`)
		b.wantQuiet("the keyboard")
	})
}

// TestHeldEnter checks that the press of Enter that chooses an item does not also send the form, from the field that
// has the focus by the time the key is released.
func TestHeldEnter(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, 20*time.Millisecond)
		s.fillBook(t, s.token(t, s.email, s.password))
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open("/invoices/new")
		b.until(`document.activeElement.id === "f-invoice_number"`)
		b.markPage()
		b.tabTo("#f-items-0-name")
		b.press("pallet")
		b.until(`document.querySelector("#f-items-0-name-choices li")?.dataset.value === "Pallet storage"`)
		b.press(kb.ArrowDown)
		enter := func(event input.KeyType, repeated bool) {
			key := input.DispatchKeyEvent(event).WithKey("Enter").WithCode("Enter").WithWindowsVirtualKeyCode(13).WithAutoRepeat(
				repeated)
			if event == input.KeyChar {
				key = key.WithText("\r")
			}
			b.do(key)
		}
		enter(input.KeyRawDown, false)
		b.until(`document.activeElement.id === "f-items-0-quantity"`)
		enter(input.KeyChar, false)
		enter(input.KeyRawDown, true)
		enter(input.KeyChar, true)
		enter(input.KeyUp, false)
		var unsent bool
		b.do(chromedp.Evaluate(`window.stayed === true && !("sent" in document.querySelector("#draft").dataset)`, &unsent))
		if !unsent {
			t.Error("the press that chose the item has sent the form")
		}
		b.press("x" + kb.Enter) // another press sends it
		b.refused("422")
		b.until(`document.querySelector("#f-items-0-quantity").getAttribute("aria-invalid") === "true"`)
		b.wantQuiet("the form")
	})
}
