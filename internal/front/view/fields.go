package view

import (
	"fmt"
	"reflect"

	"quittance/client/api"
)

// Field is one field of a draft, of a line or of a summary, as the tags of its type T describe it. Forms, pages and
// files walk the fields, so that a new one is in all of them.
type Field[T any] struct {
	// Name is the JSON name.
	Name string
	Tag  reflect.StructTag
	// Number reports that the field is a number, and not a text.
	Number bool
	index  int
}

// FieldsOf returns the fields of a type that are an optional text or number, in the order of the type.
func FieldsOf[T any]() []Field[T] {
	var out []Field[T]
	for field := range reflect.TypeFor[T]().Fields() {
		number := field.Type == reflect.TypeFor[*api.Decimal]() || field.Type == reflect.TypeFor[*int]()
		if number || field.Type == reflect.TypeFor[*string]() {
			out = append(out, Field[T]{field.Tag.Get("json"), field.Tag, number, field.Index[0]})
		}
	}
	return out
}

// Pointer returns the address of the field, which is a **string, a **[api.Decimal] or a **int.
func (f Field[T]) Pointer(of *T) any {
	return reflect.ValueOf(of).Elem().Field(f.index).Addr().Interface()
}

// Text returns the text of the field, or "" if it is absent. Decimals keep their digits.
func (f Field[T]) Text(of *T) string {
	value := reflect.ValueOf(of).Elem().Field(f.index)
	if value.IsNil() {
		return ""
	}
	return fmt.Sprint(value.Elem().Interface())
}

// Texts returns the texts of some fields by name.
func Texts[T any](fields []Field[T], of *T) map[string]string {
	out := make(map[string]string, len(fields))
	for _, field := range fields {
		out[field.Name] = field.Text(of)
	}
	return out
}

// copied has the positions of each field that a summary and a draft have: in the summary, and in the draft.
//
//nolint:gochecknoglobals // a plan of two types, read only
var copied = func() (out [][2]int) {
	for field := range reflect.TypeFor[api.InvoiceSummary]().Fields() {
		if same, ok := reflect.TypeFor[api.Draft]().FieldByName(field.Name); ok {
			out = append(out, [2]int{field.Index[0], same.Index[0]})
		}
	}
	return out
}()

// copyDraft copies the fields of a draft into a summary.
func copyDraft(to *api.InvoiceSummary, from *api.Draft) {
	target, source := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for _, at := range copied {
		target.Field(at[0]).Set(source.Field(at[1]))
	}
}
