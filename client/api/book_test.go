package api_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"quittance/client/api"
)

// own lists the fields of the book that are about new invoices as a whole, or about the entry itself, and not about a
// recipient or a line.
var own = map[string]bool{"display_name": true, "payment_terms_days": true, "currency": true,
	"payment_means_code": true, "note": true}

// TestBookFieldsAreThoseOfInvoices checks that the fields of a customer and of an item have the types and the rules of
// the fields of an invoice that they fill, and that no such field is left out.
func TestBookFieldsAreThoseOfInvoices(t *testing.T) {
	for _, test := range []struct {
		book, filled reflect.Type
		optional     map[string]bool // required in an invoice alone
		// left tells whether an entry does not have a field.
		left func(reflect.StructField) bool
	}{
		{reflect.TypeFor[api.CustomerFields](), reflect.TypeFor[api.Draft](), nil,
			func(field reflect.StructField) bool { return field.Tag.Get("group") != "buyer" }},
		{reflect.TypeFor[api.CatalogueItemFields](), reflect.TypeFor[api.Item](), map[string]bool{"net_unit_price": true},
			func(field reflect.StructField) bool {
				return slices.Contains([]string{"Quantity", "OrderLine", "OrderReference", "InvoicedObject", "InvoicedObjectScheme",
					"Period", "LotNumber", "Note", "AccountingReference", "Allowances", "Charges", "Attributes"}, field.Name)
			}},
	} {
		known := map[string]reflect.StructField{}
		for field := range test.filled.Fields() {
			known[field.Tag.Get("json")] = field
		}
		for field := range test.book.Fields() {
			name := field.Tag.Get("json")
			of, found := known[name]
			delete(known, name)
			if !found && own[name] {
				continue
			}
			if !found || field.Type != of.Type {
				t.Errorf("%s of %v is %v, and that of %v is %v", name, test.book, field.Type, test.filled, of.Type)
			}
			for _, rule := range []string{"required", "minLength", "maxLength", "pattern", "patternDescription", "codelist",
				"format", "text", "minimum", "exclusiveMinimum", "enum"} {
				relaxed := rule == "required" && (own[name] || test.optional[name])
				if got, want := field.Tag.Get(rule), of.Tag.Get(rule); got != want && !relaxed {
					t.Errorf("%s of %v has %s %q, want %q", name, test.book, rule, got, want)
				}
			}
		}
		for name, field := range known {
			if !test.left(field) {
				t.Errorf("%v has no %s", test.book, name)
			}
		}
	}
}

// randomFields sets each field of a struct to a random value, or leaves it out.
func randomFields(random *rand.Rand, into any) {
	value := reflect.ValueOf(into).Elem()
	for _, field := range value.Fields() {
		if random.IntN(4) == 0 || field.Kind() != reflect.Pointer {
			continue
		}
		text := strconv.FormatUint(random.Uint64()%1_000_000, 10)
		switch field.Interface().(type) {
		case *string:
			field.Set(reflect.ValueOf(new(text + " \u202e\t\"<é😀")))
		case *api.Decimal:
			field.Set(reflect.ValueOf(new(api.MustDecimal(text + ".50"))))
		case *int:
			field.Set(reflect.ValueOf(new(random.IntN(100))))
		}
	}
}

// asJSON returns the fields of a value by name.
func asJSON(t *testing.T, value any) map[string]string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name, field := range fields {
		out[name] = string(field)
	}
	return out
}

// TestFill checks with random values that the fields of a customer and of an item get into a draft unchanged, that the
// other fields of the draft stay, and that the recipient and the line of the draft make the same customer and item
// again.
func TestFill(t *testing.T) {
	random := rand.New(rand.NewPCG(36, 1))
	check := func(what string, entry, before, after any) {
		t.Helper()
		entries, old, filled := asJSON(t, entry), asJSON(t, before), asJSON(t, after)
		for name, value := range filled {
			want, copied := entries[name]
			if !copied || own[name] {
				want = old[name]
			}
			if value != want {
				t.Errorf("%s: %s is %s, want %s", what, name, value, want)
			}
		}
	}
	for range 500 {
		var customer api.CustomerFields
		var draft api.Draft
		randomFields(random, &customer)
		randomFields(random, &draft)
		before := draft
		customer.Fill(&draft)
		check("draft", customer, before, draft)
		again := api.CustomerOf(&draft)
		check("customer", again, customer, customer)

		var item api.CatalogueItemFields
		var line api.Item
		randomFields(random, &item)
		randomFields(random, &line)
		unfilled := line
		item.Fill(&line)
		check("line", item, unfilled, line)
		if got := api.CatalogueItemOf(&line, item.Currency); !reflect.DeepEqual(got, item) {
			t.Errorf("item %+v, want %+v", got, item)
		}
	}
}
