package export

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/document/tabular"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// Customers returns the customer book, those that search finds.
func (x *Exporter) Customers(t *base.Tenant, search string) List {
	return whole("customers", structFields[api.Customer](), func(ctx context.Context) ([]api.Customer, error) {
		found, err := x.of(t).Customers(ctx, search, 1, invoices.MaxBookEntries)
		return presentAll(view.Customer, found.Entries), x.bound(found.Total, err)
	})
}

// CatalogueItems returns the item catalogue, those that search finds.
func (x *Exporter) CatalogueItems(t *base.Tenant, search string) List {
	return whole("items", structFields[api.CatalogueItem](), func(ctx context.Context) ([]api.CatalogueItem, error) {
		found, err := x.of(t).CatalogueItems(ctx, search, 1, invoices.MaxBookEntries)
		return presentAll(view.CatalogueItem, found.Entries), x.bound(found.Total, err)
	})
}

// structFields returns a column for each field of a type of the API and of its groups, under its JSON name. The text of
// lists and of other objects is not for people.
func structFields[R any]() []field[R] {
	var out []field[R]
	for _, f := range reflect.VisibleFields(reflect.TypeFor[R]()) {
		if f.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if group := groupFields[R](name + "."); len(group) > 0 {
			out = append(out, group...)
			continue
		}
		column := field[R]{name: name,
			text: func(row *R) string { return textOf(reflect.ValueOf(row).Elem().FieldByIndex(f.Index)) }}
		switch f.Type {
		case reflect.TypeFor[*api.Decimal](), reflect.TypeFor[*int](), reflect.TypeFor[int]():
			column.kind = tabular.Decimal
		case reflect.TypeFor[time.Time](), reflect.TypeFor[*time.Time]():
			column.kind = tabular.Time
		}
		if f.Tag.Get("format") == "date" {
			column.kind = tabular.Date
		}
		out = append(out, column)
	}
	return out
}

// groupFields returns a column for each field of a group, whose path begins with prefix.
func groupFields[R any](prefix string) (out []field[R]) {
	for _, f := range invoice.FieldsOf[R]() {
		if strings.HasPrefix(f.Name, prefix) {
			column := field[R]{name: invoice.FlatName(f.Name), text: f.Text}
			if f.Tag.Get("format") == "date" {
				column.kind = tabular.Date
			}
			out = append(out, column)
		}
	}
	return out
}

// textOf returns the text of a value of a field.
func textOf(value reflect.Value) string {
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return ""
		}
		value = value.Elem()
	}
	if at, ok := reflect.TypeAssert[time.Time](value); ok {
		return moment(at)
	}
	return fmt.Sprint(value.Interface())
}
