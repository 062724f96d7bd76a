package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/strictjson"
)

// book is the pages of the customer book or of the item catalogue. Their forms have the controls, the conversions and
// the rules of the fields of a draft.
type book[F invoices.BookFields] struct {
	// name is the section of the pages and the key of their messages below "book.", and path their address.
	name, path string
	of         func(*base.Tenant) invoices.Book[F]
	list       func(t view.Tenant, ctx context.Context, search string, page,
		perPage int) (view.Page[invoices.BookEntry[F]], error)
	// groups are the fields in the order of the form, each group under a heading.
	groups  []fieldGroup
	decoder *strictjson.Decoder[F]
	// draft returns a draft that is filled with the entry, and the prefix of the paths of its fields.
	draft func(*F) (draft api.Draft, prefix string)
	// multiline returns the field with several lines.
	multiline func(*F) **string
	// names returns the name of the entry and what is below it in a list.
	names func(*F) (name, under string)
	// columns are the fields in the columns of the list.
	columns []string
}

// fieldGroup is some fields of a form under a heading, whose key is below "book.group.".
type fieldGroup struct {
	name  string
	specs []fieldSpec
}

// pick returns the descriptions of some fields. In the book, only the given one is required, and none is marked as
// optional.
func pick(from []fieldSpec, required string, names ...string) []fieldSpec {
	out := make([]fieldSpec, len(names))
	for n, name := range names {
		at := slices.IndexFunc(from, func(spec fieldSpec) bool { return spec.name == name })
		if at >= 0 {
			out[n] = from[at]
		}
		out[n].name, out[n].required, out[n].optional = name, name == required, false
	}
	return out
}

func customerBook() *book[api.CustomerFields] {
	defaults := pick(draftFields, "", "currency", "payment_means_code", "payment_terms_days", "note")
	defaults[2].kind = numberField
	return &book[api.CustomerFields]{name: "customers", path: "/customers", of: invoices.Customers,
		list: view.Tenant.Customers,
		groups: []fieldGroup{
			{"customer", pick(draftFields, "recipient_name", "recipient_name", "display_name", "buyer_endpoint_scheme",
				"recipient_network_id", "buyer_street", "buyer_city", "buyer_subdivision", "buyer_country",
				"buyer_tax_id", "buyer_legal_id", "buyer_legal_id_scheme", "buyer_reference")},
			{"defaults", defaults},
		},
		decoder: strictjson.For[api.CustomerFields](),
		draft: func(c *api.CustomerFields) (draft api.Draft, prefix string) {
			c.Fill(&draft)
			draft.Currency, draft.PaymentMeansCode = c.Currency, c.PaymentMeansCode
			return draft, ""
		},
		multiline: func(c *api.CustomerFields) **string { return &c.Note },
		names: func(c *api.CustomerFields) (name, under string) {
			if name = c.Name(); name != deref(c.RecipientName) {
				under = deref(c.RecipientName)
			}
			return name, under
		},
		columns: []string{"recipient_network_id", "buyer_tax_id", "buyer_city", "payment_terms_days"}}
}

func itemCatalogue() *book[api.CatalogueItemFields] {
	currency := pick(draftFields, "", "currency")
	return &book[api.CatalogueItemFields]{name: "items", path: "/items", of: invoices.Items,
		list: view.Tenant.CatalogueItems,
		groups: []fieldGroup{
			{"item", pick(itemFields, "name", "name", "item_code", "unit_code", "description")},
			{"price", append(currency, pick(itemFields, "", "net_unit_price", "base_quantity", "gross_unit_price",
				"discount_amount")...)},
			{"tax", pick(itemFields, "", "vat_category", "vat_rate", "tax_exemption_code", "tax_exemption_reason",
				"commodity_code", "commodity_scheme")},
		},
		decoder: strictjson.For[api.CatalogueItemFields](),
		draft: func(i *api.CatalogueItemFields) (draft api.Draft, prefix string) {
			draft.Currency, draft.Items = i.Currency, make([]api.Item, 1)
			i.Fill(&draft.Items[0])
			return draft, "items[0]."
		},
		multiline: func(i *api.CatalogueItemFields) **string { return &i.Description },
		names:     func(i *api.CatalogueItemFields) (name, under string) { return deref(i.Name), deref(i.ItemCode) },
		columns:   []string{"unit_code", "net_unit_price", "vat_category", "vat_rate"}}
}

func bookRoutes() []route { return slices.Concat(customerBook().routes(), itemCatalogue().routes()) }

func (b *book[F]) routes() []route {
	return []route{
		{method: http.MethodGet, path: b.path, needs: access.Read, serve: b.listEntries},
		{method: http.MethodGet, path: b.path + "/new", needs: access.Write, serve: b.newEntry},
		{method: http.MethodPost, path: b.path + "/new", needs: access.Write, serve: b.createEntry},
		{method: http.MethodGet, path: b.path + "/{entry}", needs: access.Read, serve: b.showEntry},
		{method: http.MethodGet, path: b.path + "/{entry}/edit", needs: access.Write, serve: b.editEntry},
		{method: http.MethodPost, path: b.path + "/{entry}/edit", needs: access.Write, serve: b.changeEntry},
		{method: http.MethodPost, path: b.path + "/{entry}/delete", needs: access.Write, serve: b.deleteEntry},
	}
}

// specs returns all fields.
func (b *book[F]) specs() []fieldSpec {
	var out []fieldSpec
	for _, group := range b.groups {
		out = append(out, group.specs...)
	}
	return out
}

// bookList is the view model of a list.
type bookList struct {
	// Name is the beginning of the keys of the messages, and Path the address.
	Name, Path string
	Search     string
	Ignored    []string
	Rows       []bookRow
	Paging     page.Paging
	MayWrite   bool
}

// bookRow is one entry. Cells are in the order of the columns.
type bookRow struct {
	ID, Name, Under string
	Cells           []bookFact
}

// bookFact is one field of an entry as people read it.
type bookFact struct {
	// Key is that of its label.
	Key, Value string
	Number     bool
}

func (b *book[F]) listEntries(req *request) error {
	p := bookList{Name: b.name, Path: b.path, Paging: req.Paging(), MayWrite: req.session.Permissions.Has(access.Write)}
	valid, ignored := req.readFilters(func(name, value string) bool {
		return name == searchParameter &&
			len(value) <= maxSearch
	})
	p.Search, p.Ignored = valid[searchParameter], ignored
	found, err := b.list(view.Of(req.session.Tenant), req.R.Context(), p.Search, p.Paging.Page, p.Paging.PerPage)
	if err != nil {
		return err
	}
	p.Paging.Total = found.Total
	for n := range found.Entries {
		e := &found.Entries[n]
		row := bookRow{ID: e.ID.String()}
		row.Name, row.Under = b.names(&e.Fields)
		shown, err := b.show(req.words, &e.Fields)
		if err != nil {
			return err
		}
		for _, column := range b.columns {
			fact := bookFact{Key: column, Value: shown[column], Number: specNamed(b.specs(), column).kind == numberField}
			if column == "net_unit_price" && fact.Value != "" {
				draft, _ := b.draft(&e.Fields)
				fact.Value = strings.TrimSpace(fact.Value + " " + deref(draft.Currency))
			}
			row.Cells = append(row.Cells, fact)
		}
		p.Rows = append(p.Rows, row)
	}
	return req.Show(http.StatusOK, "book", "book."+b.name+".title", page.Layout{Section: b.name, Body: p,
		Export: newExportMenu(b.path, map[string]string{searchParameter: p.Search})})
}

// specNamed returns the description of the field with a name, which is zero if there is none.
func specNamed(specs []fieldSpec, name string) fieldSpec {
	if n := slices.IndexFunc(specs, func(spec fieldSpec) bool { return spec.name == name }); n >= 0 {
		return specs[n]
	}
	return fieldSpec{}
}

// values returns the texts of an entry as the API takes them.
func (b *book[F]) values(fields *F) (map[string]string, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("console: entry of the book: %w", err)
	}
	body, err := strictjson.Parse(text)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, value := range body.Members() {
		out[string(name)] = inputOf(value)
	}
	return out, nil
}

// show returns the texts of an entry as people read and type them.
func (b *book[F]) show(t *words, fields *F) (map[string]string, error) {
	values, err := b.values(fields)
	return t.showFields(b.specs(), values, values["buyer_country"]), err
}

// bookEntryPage is the view model of an entry.
type bookEntryPage struct {
	Name, Path, ID string
	Title          string
	Groups         []bookFactGroup
	Version        int64
	MayWrite       bool
	// CreatedAt and UpdatedAt are when the entry was created, and when it last changed.
	CreatedAt, UpdatedAt time.Time
}

// bookFactGroup is some fields of an entry under a heading.
type bookFactGroup struct {
	Name  string
	Facts []bookFact
}

func (b *book[F]) showEntry(req *request) error { return b.respondEntry(req, http.StatusOK, nil) }

// respondEntry responds with the page of an entry.
func (b *book[F]) respondEntry(req *request, status int, flash *page.Notice) error {
	found, err := b.entryOfPath(req)
	if err != nil {
		return err
	}
	shown, err := b.show(req.words, &found.Fields)
	if err != nil {
		return err
	}
	name, _ := b.names(&found.Fields)
	p := bookEntryPage{Name: b.name, Path: b.path, ID: found.ID.String(), Title: name, Version: found.Version,
		MayWrite: req.session.Permissions.Has(access.Write)}
	p.CreatedAt, p.UpdatedAt = found.CreatedAt, found.UpdatedAt
	for _, group := range b.groups {
		facts := bookFactGroup{Name: group.name}
		for _, spec := range group.specs {
			if shown[spec.name] != "" {
				facts.Facts = append(facts.Facts, bookFact{Key: spec.name, Value: shown[spec.name],
					Number: spec.kind == numberField})
			}
		}
		if len(facts.Facts) > 0 {
			p.Groups = append(p.Groups, facts)
		}
	}
	return req.Show(status, "book_entry", "", page.Layout{Title: name, Section: b.name, Notice: flash, Body: p})
}

func (b *book[F]) entryOfPath(req *request) (invoices.BookEntry[F], error) {
	id, err := req.ID("entry")
	if err != nil {
		return invoices.BookEntry[F]{}, err
	}
	return b.of(req.session.Tenant).Entry(req.R.Context(), id)
}
