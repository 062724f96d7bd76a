package server

import (
	"context"
	"net/http"
	"unicode/utf8"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/strictjson"
)

// book is the operations of the customer book or the item catalogue: F are the fields that a request sets, and S is
// what a response shows.
type book[F invoices.BookFields, S any] struct {
	// parameter is the path parameter with the identifier of an entry.
	parameter string
	of        func(*base.Tenant) invoices.Book[F]
	list      func(t view.Tenant, ctx context.Context, search string, page, perPage int) (view.Page[invoices.BookEntry[F]],
		error)
	show func(invoices.BookEntry[F]) S
	// currency returns the currency of an entry, the only field with a rule that tags cannot express.
	currency func(*F) *string
	decoder  *strictjson.Decoder[F]
}

func customerBook() *book[api.CustomerFields, api.Customer] {
	return &book[api.CustomerFields, api.Customer]{parameter: "customer_id", of: invoices.Customers,
		list: view.Tenant.Customers, show: view.Customer, currency: func(c *api.CustomerFields) *string { return c.Currency },
		decoder: strictjson.For[api.CustomerFields]()}
}

func itemCatalogue() *book[api.CatalogueItemFields, api.CatalogueItem] {
	return &book[api.CatalogueItemFields, api.CatalogueItem]{parameter: "item_id", of: invoices.Items,
		list: view.Tenant.CatalogueItems, show: view.CatalogueItem,
		currency: func(i *api.CatalogueItemFields) *string { return i.Currency },
		decoder:  strictjson.For[api.CatalogueItemFields]()}
}

// bookRoutes are the operations about what drafts are filled with.
func bookRoutes() []route {
	customers, items := customerBook(), itemCatalogue()
	patch := []string{"application/merge-patch+json"}
	return []route{
		{method: http.MethodGet, path: client + "/customers", needs: access.Read,
			operation: withoutBody(customers.listEntries), query: append(paging[:2:2], "name"),
			name: "listCustomers", tag: "Customers and items", summary: "List the customers", status: 200},
		{method: http.MethodPost, path: client + "/customers", needs: access.Write, operation: withFaults(customers.create),
			idempotent: true, name: "createCustomer", tag: "Customers and items", summary: "Create a customer", status: 201,
			codes: []api.Code{api.CodeLimitReached}},
		{method: http.MethodGet, path: client + "/customers/{customer_id}", needs: access.Read,
			operation: withoutBody(customers.read), name: "readCustomer", tag: "Customers and items", summary: "Read a customer",
			status: 200},
		{method: http.MethodPatch, path: client + "/customers/{customer_id}", needs: access.Write,
			operation: withPatch[api.CustomerFields](customers.patch), idempotent: true, conditional: true,
			mediaTypes: patch, name: "patchCustomer", tag: "Customers and items", summary: "Change a customer", status: 200,
			codes: []api.Code{api.CodeLimitReached, api.CodePreconditionFailed}},
		{method: http.MethodDelete, path: client + "/customers/{customer_id}", needs: access.Write,
			operation: withoutBody(customers.delete), conditional: true, name: "deleteCustomer", tag: "Customers and items",
			summary: "Delete a customer", status: 200, codes: []api.Code{api.CodePreconditionFailed}},
		{method: http.MethodGet, path: client + "/items", needs: access.Read, operation: withoutBody(items.listEntries),
			query: append(paging[:2:2], "name"), name: "listItems", tag: "Customers and items", summary: "List the items",
			status: 200},
		{method: http.MethodPost, path: client + "/items", needs: access.Write, operation: withFaults(items.create),
			idempotent: true, name: "createItem", tag: "Customers and items", summary: "Create an item", status: 201,
			codes: []api.Code{api.CodeLimitReached}},
		{method: http.MethodGet, path: client + "/items/{item_id}", needs: access.Read, operation: withoutBody(items.read),
			name: "readItem", tag: "Customers and items", summary: "Read an item", status: 200},
		{method: http.MethodPatch, path: client + "/items/{item_id}", needs: access.Write,
			operation: withPatch[api.CatalogueItemFields](items.patch), idempotent: true, conditional: true,
			mediaTypes: patch, name: "patchItem", tag: "Customers and items", summary: "Change an item", status: 200,
			codes: []api.Code{api.CodeLimitReached, api.CodePreconditionFailed}},
		{method: http.MethodDelete, path: client + "/items/{item_id}", needs: access.Write,
			operation: withoutBody(items.delete), conditional: true, name: "deleteItem", tag: "Customers and items",
			summary: "Delete an item", status: 200, codes: []api.Code{api.CodePreconditionFailed}}}
}

// maxBookName is the maximum length in characters of the text that is searched in the book.
const maxBookName = 256

func (b *book[F, S]) listEntries(c *call, ctx context.Context) (int, api.List[S], error) { //nolint:revive // the parameters of a method of *call, as an operation takes them
	var out api.List[S]
	page, perPage, err := c.page(defaultPerPage)
	if err != nil {
		return 0, out, err
	}
	query := c.request.URL.Query()
	name := query.Get("name")
	if length := utf8.RuneCountInString(name); query.Has("name") && (length < 1 || length > maxBookName) {
		return 0, out, malformedQuery("name", "max_length", "must have 1 to 256 characters")
	}
	found, err := b.list(view.Of(c.session.Tenant), ctx, name, page, perPage)
	if err != nil {
		return 0, out, err
	}
	out.Pagination = pagination(page, perPage, found.Total)
	out.Data = present(found.Entries, b.show)
	return http.StatusOK, out, nil
}

// respond returns the response for an entry and sets its entity tag.
func (b *book[F, S]) respond(c *call, e invoices.BookEntry[F]) api.Data[S] {
	c.header.Set("ETag", entityTag(e.Version))
	return api.Data[S]{Data: b.show(e)}
}

// checked returns an error with all faults of the fields of an entry. They have the rules of the fields of a draft.
func (b *book[F, S]) checked(fields *F, faults api.Faults) error {
	return problem.For(api.CodeValidationFailed).In(faults.With(invoice.Faults(&api.Draft{Currency: b.currency(fields)})))
}

func (b *book[F, S]) create(c *call, ctx context.Context, fields F, faults api.Faults) (int, api.Data[S], error) { //nolint:revive // the parameters of a method of *call, as an operation takes them
	if err := b.checked(&fields, faults); err != nil {
		return 0, api.Data[S]{}, err
	}
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[S], error) {
		created, err := b.of(t).Create(ctx, fields)
		if err != nil {
			return 0, api.Data[S]{}, err
		}
		return http.StatusCreated, b.respond(c, created), nil
	})
}

func (b *book[F, S]) read(c *call, ctx context.Context) (int, api.Data[S], error) { //nolint:revive // the parameters of a method of *call, as an operation takes them
	id, err := c.id(b.parameter)
	if err != nil {
		return 0, api.Data[S]{}, err
	}
	found, err := b.of(c.session.Tenant).Entry(ctx, id)
	if err != nil {
		return 0, api.Data[S]{}, err
	}
	return http.StatusOK, b.respond(c, found), nil
}

// patch applies a merge patch to an entry.
func (b *book[F, S]) patch(c *call, ctx context.Context) (int, api.Data[S], error) { //nolint:revive // the parameters of a method of *call, as an operation takes them
	id, err := c.id(b.parameter)
	if err != nil {
		return 0, api.Data[S]{}, err
	}
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[S], error) {
		updated, err := b.of(t).Update(ctx, id, c.matches, func(current []byte) (F, error) {
			fields, faults, err := b.decoder.Patch(current, c.body)
			if err != nil {
				return fields, err
			}
			return fields, b.checked(&fields, faults)
		})
		if err != nil {
			return 0, api.Data[S]{}, err
		}
		return http.StatusOK, b.respond(c, updated), nil
	})
}

func (b *book[F, S]) delete(c *call, ctx context.Context) (int, api.Data[api.Deleted], error) { //nolint:revive // the parameters of a method of *call, as an operation takes them
	var out api.Data[api.Deleted]
	id, err := c.id(b.parameter)
	if err != nil {
		return 0, out, err
	}
	if err := b.of(c.session.Tenant).Delete(ctx, id, c.matches); err != nil {
		return 0, out, err
	}
	out.Data = api.Deleted{ID: id.String(), Deleted: true}
	return http.StatusOK, out, nil
}
