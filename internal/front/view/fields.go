package view

import (
	"reflect"

	"quittance/client/api"
)

// Field is one field of a draft, of a line or of a summary, as the tags of its type T describe it. Forms, pages and
// files walk the fields, so that a new one is in all of them.
type Field[T any] struct {
	// Name is the JSON name.
	Name string
	Tag  reflect.StructTag
	// Decimal reports that the field is a number, and not a text.
	Decimal bool
	index   int
}

// FieldsOf returns the fields of a type that are a text or a decimal, in the order of the type.
func FieldsOf[T any]() []Field[T] {
	var out []Field[T]
	for field := range reflect.TypeFor[T]().Fields() {
		decimal := field.Type == reflect.TypeFor[*api.Decimal]()
		if decimal || field.Type == reflect.TypeFor[*string]() {
			out = append(out, Field[T]{field.Tag.Get("json"), field.Tag, decimal, field.Index[0]})
		}
	}
	return out
}

// Pointer returns the address of the field, which is a **string or a **[api.Decimal].
func (f Field[T]) Pointer(of *T) any {
	return reflect.ValueOf(of).Elem().Field(f.index).Addr().Interface()
}

// Text returns the text of the field, or "" if it is absent. Decimals keep their digits.
func (f Field[T]) Text(of *T) string {
	switch value := f.Pointer(of).(type) {
	case **string:
		if *value != nil {
			return **value
		}
	case **api.Decimal:
		if *value != nil {
			return (*value).String()
		}
	}
	return ""
}

// copied has the positions of each field that a summary and a draft have: in the summary, and in the draft.
var copied = positions() //nolint:gochecknoglobals // a plan of two types, read only

func positions() (out [][2]int) {
	for field := range reflect.TypeFor[api.InvoiceSummary]().Fields() {
		if same, ok := reflect.TypeFor[api.Draft]().FieldByName(field.Name); ok {
			out = append(out, [2]int{field.Index[0], same.Index[0]})
		}
	}
	return out
}

// copyDraft copies the fields of a draft into a summary.
func copyDraft(to *api.InvoiceSummary, from *api.Draft) {
	target, source := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for _, at := range copied {
		target.Field(at[0]).Set(source.Field(at[1]))
	}
}
