package book

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/front/console/drafts"
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
	// names returns the name of the entry and what is below it in a list.
	names func(*F) (name, under string)
	// columns are the fields in the columns of the list.
	columns []string
}

// fieldGroup is some fields of a form under a heading, whose key is below "book.group.".
type fieldGroup struct {
	name  string
	specs []drafts.FieldSpec
}

// pick returns the descriptions of some fields. In the book, only the given one is required, and none is marked as
// optional.
func pick(from []drafts.FieldSpec, required string, names ...string) []drafts.FieldSpec {
	out := make([]drafts.FieldSpec, len(names))
	for n, name := range names {
		at := slices.IndexFunc(from, func(spec drafts.FieldSpec) bool { return spec.Name == name })
		if at >= 0 {
			out[n] = from[at]
		}
		out[n].Name, out[n].Required, out[n].Optional = name, name == required, false
	}
	return out
}

// rest returns the descriptions of the fields of an entry that are in none of some groups, in their order.
func rest[F invoices.BookFields](from []drafts.FieldSpec, groups ...[]drafts.FieldSpec) []drafts.FieldSpec {
	var names []string
	for _, spec := range from {
		of := func(known drafts.FieldSpec) bool { return known.Name == spec.Name }
		if drafts.HasField[F](spec.Name) && !slices.ContainsFunc(slices.Concat(groups...), of) {
			names = append(names, spec.Name)
		}
	}
	return pick(from, "", names...)
}

func customerBook() *book[api.CustomerFields] {
	defaults := pick(drafts.Fields, "", "currency", "payment_means_code", "payment_terms_days", "note")
	defaults[2].Kind = drafts.NumberField
	customer := pick(drafts.Fields, "recipient_name", "recipient_name", "display_name", "buyer_endpoint_scheme",
		"recipient_network_id", "buyer_street", "buyer_city", "buyer_postal_code", "buyer_subdivision", "buyer_country",
		"buyer_tax_id", "buyer_legal_id", "buyer_legal_id_scheme", "buyer_reference")
	return &book[api.CustomerFields]{name: "customers", path: "/customers", of: invoices.Customers,
		list: view.Tenant.Customers,
		groups: []fieldGroup{
			{"customer", customer}, {"customer.more", rest[api.CustomerFields](drafts.Fields, customer, defaults)},
			{"defaults", defaults},
		},
		decoder: strictjson.For[api.CustomerFields](),
		draft: func(c *api.CustomerFields) (draft api.Draft, prefix string) {
			c.Fill(&draft)
			draft.Currency, draft.PaymentMeansCode = c.Currency, c.PaymentMeansCode
			return draft, ""
		},
		names: func(c *api.CustomerFields) (name, under string) {
			if name = c.Name(); name != console.Deref(c.RecipientName) {
				under = console.Deref(c.RecipientName)
			}
			return name, under
		},
		columns: []string{"recipient_network_id", "buyer_tax_id", "buyer_city", "payment_terms_days"}}
}

func itemCatalogue() *book[api.CatalogueItemFields] {
	item := pick(drafts.ItemFields, "name", "name", "item_code", "unit_code", "description")
	price := append(pick(drafts.Fields, "", "currency"), pick(drafts.ItemFields, "", "net_unit_price", "base_quantity",
		"gross_unit_price", "discount_amount")...)
	tax := pick(drafts.ItemFields, "", "vat_category", "vat_rate", "tax_exemption_code", "tax_exemption_reason",
		"commodity_code", "commodity_scheme")
	return &book[api.CatalogueItemFields]{name: "items", path: "/items", of: invoices.Items,
		list: view.Tenant.CatalogueItems,
		groups: []fieldGroup{
			{"item", item}, {"price", price}, {"tax", tax},
			{"item.more", rest[api.CatalogueItemFields](drafts.ItemFields, item, price, tax)},
		},
		decoder: strictjson.For[api.CatalogueItemFields](),
		draft: func(i *api.CatalogueItemFields) (draft api.Draft, prefix string) {
			draft.Currency, draft.Items = i.Currency, make([]api.Item, 1)
			i.Fill(&draft.Items[0])
			return draft, "items[0]."
		},
		names: func(i *api.CatalogueItemFields) (name, under string) {
			return console.Deref(i.Name), console.Deref(i.ItemCode)
		},
		columns: []string{"unit_code", "net_unit_price", "vat_category", "vat_rate"}}
}

func bookRoutes() []console.Route {
	return slices.Concat(customerBook().routes(), itemCatalogue().routes(), []console.Route{{Method: http.MethodPost,
		Path: "/invoices/{invoice}/customer", Needs: access.Write, Serve: saveRecipient}})
}

func (b *book[F]) routes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: b.path, Needs: access.Read, Serve: b.listEntries},
		{Method: http.MethodGet, Path: b.path + "/new", Needs: access.Write, Serve: b.newEntry},
		{Method: http.MethodPost, Path: b.path + "/new", Needs: access.Write, Serve: b.createEntry},
		{Method: http.MethodGet, Path: b.path + "/{entry}", Needs: access.Read, Serve: b.showEntry},
		{Method: http.MethodGet, Path: b.path + "/{entry}/edit", Needs: access.Write, Serve: b.editEntry},
		{Method: http.MethodPost, Path: b.path + "/{entry}/edit", Needs: access.Write, Serve: b.changeEntry},
		{Method: http.MethodPost, Path: b.path + "/{entry}/delete", Needs: access.Write, Serve: b.deleteEntry},
	}
}

// specs returns all fields.
func (b *book[F]) specs() []drafts.FieldSpec {
	var out []drafts.FieldSpec
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

func (b *book[F]) listEntries(req *console.Request) error {
	p := bookList{Name: b.name, Path: b.path, Paging: req.Paging(), MayWrite: req.Session.Permissions.Has(access.Write)}
	valid, ignored := req.ReadFilters(func(name, value string) bool {
		return name == console.SearchParameter &&
			len(value) <= console.MaxSearch
	})
	p.Search, p.Ignored = valid[console.SearchParameter], ignored
	found, err := b.list(view.Of(req.Session.Tenant), req.R.Context(), p.Search, p.Paging.Page, p.Paging.PerPage)
	if err != nil {
		return err
	}
	p.Paging.Total = found.Total
	for n := range found.Entries {
		e := &found.Entries[n]
		row := bookRow{ID: e.ID.String()}
		row.Name, row.Under = b.names(&e.Fields)
		shown := b.show(req.Words, &e.Fields)
		for _, column := range b.columns {
			fact := bookFact{Key: column, Value: shown[column], Number: drafts.SpecNamed(b.specs(),
				column).Kind == drafts.NumberField}
			if column == "net_unit_price" && fact.Value != "" {
				draft, _ := b.draft(&e.Fields)
				fact.Value = strings.TrimSpace(fact.Value + " " + console.Deref(draft.Currency))
			}
			row.Cells = append(row.Cells, fact)
		}
		p.Rows = append(p.Rows, row)
	}
	return req.Show(http.StatusOK, "book", "book."+b.name+".title", page.Layout{Section: b.name, Body: p,
		Export: console.NewExportMenu(b.path, map[string]string{console.SearchParameter: p.Search})})
}

// values returns the texts of an entry as the API takes them.
func (b *book[F]) values(fields *F) map[string]string {
	return invoice.Texts(invoice.FieldsOf[F](), fields)
}

// show returns the texts of an entry as people read and type them.
func (b *book[F]) show(t *console.Words, fields *F) map[string]string {
	return drafts.ShowFields(t, b.specs(), b.values(fields))
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

func (b *book[F]) showEntry(req *console.Request) error {
	return b.respondEntry(req, http.StatusOK, nil)
}

// respondEntry responds with the page of an entry.
func (b *book[F]) respondEntry(req *console.Request, status int, flash *page.Notice) error {
	found, err := b.entryOfPath(req)
	if err != nil {
		return err
	}
	shown := b.show(req.Words, &found.Fields)
	name, _ := b.names(&found.Fields)
	p := bookEntryPage{Name: b.name, Path: b.path, ID: found.ID.String(), Title: name, Version: found.Version,
		MayWrite: req.Session.Permissions.Has(access.Write)}
	p.CreatedAt, p.UpdatedAt = found.CreatedAt, found.UpdatedAt
	for _, group := range b.groups {
		facts := bookFactGroup{Name: group.name}
		for _, spec := range group.specs {
			if shown[spec.Name] != "" {
				facts.Facts = append(facts.Facts, bookFact{Key: spec.Name, Value: shown[spec.Name],
					Number: spec.Kind == drafts.NumberField})
			}
		}
		if len(facts.Facts) > 0 {
			p.Groups = append(p.Groups, facts)
		}
	}
	return req.Show(status, "book_entry", "", page.Layout{Title: name, Section: b.name, Notice: flash, Body: p})
}

func (b *book[F]) entryOfPath(req *console.Request) (invoices.BookEntry[F], error) {
	id, err := req.ID("entry")
	if err != nil {
		return invoices.BookEntry[F]{}, err
	}
	return b.of(req.Session.Tenant).Entry(req.R.Context(), id)
}
