package invoice

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"quittance/client/api"
)

// Field is one text or number of a type T of the API, as its tags describe it. Forms, pages and files walk the fields,
// so that a new one is in all of them.
type Field[T any] struct {
	// Name is the JSON path: due_date, or delivery.city for the city in the group delivery.
	Name string
	// Section is the part of a form that the field belongs to: the tag group of the field, or of the group that it is in.
	Section string
	Tag     reflect.StructTag
	// Number reports that the field is a number, and not a text.
	Number bool
	index  []int
}

// FieldsOf returns the fields of a type that are an optional text or number, and those of its optional groups, in the
// order of the type. It does not descend into lists.
func FieldsOf[T any]() []Field[T] { return appendFields[T](nil, reflect.TypeFor[T](), Field[T]{}) }

// appendFields appends the fields of a type that is reached as in says.
func appendFields[T any](out []Field[T], t reflect.Type, in Field[T]) []Field[T] {
	for at := range t.NumField() {
		of := t.Field(at)
		name, _, _ := strings.Cut(of.Tag.Get("json"), ",")
		field := Field[T]{Name: in.Name + name, Section: in.Section, Tag: of.Tag,
			index: append(slices.Clip(in.index), at)}
		if field.Section == "" {
			field.Section = of.Tag.Get("group")
		}
		switch {
		case !of.IsExported():
		case of.Type == reflect.TypeFor[*api.Decimal]() || of.Type == reflect.TypeFor[*int]() ||
			of.Type == reflect.TypeFor[*api.Amount]():
			field.Number = true
			out = append(out, field)
		case of.Type == reflect.TypeFor[*string]():
			out = append(out, field)
		case of.Anonymous:
			field.Name = in.Name
			out = appendFields(out, of.Type, field)
		case of.Type.Kind() == reflect.Pointer && of.Type.Elem().Kind() == reflect.Struct:
			field.Name += "."
			out = appendFields(out, of.Type.Elem(), field)
		}
	}
	return out
}

// value returns the field of a value; ok is false if the group that it is in is absent.
func (f Field[T]) value(of *T) (value reflect.Value, ok bool) {
	value = reflect.ValueOf(of).Elem().Field(f.index[0])
	for _, at := range f.index[1:] {
		if value.Kind() == reflect.Pointer {
			if value.IsNil() {
				return reflect.Value{}, false
			}
			value = value.Elem()
		}
		value = value.Field(at)
	}
	return value, true
}

// Pointer returns the address of the field, which is a **string, a **[api.Decimal], a **[api.Amount] or a **int; nil if
// the group that it is in is absent.
func (f Field[T]) Pointer(of *T) any {
	value, ok := f.value(of)
	if !ok {
		return nil
	}
	return value.Addr().Interface()
}

// Set gives the field a text, which must not be a number. It makes the group that the field is in.
func (f Field[T]) Set(of *T, text *string) {
	value := reflect.ValueOf(of).Elem()
	for _, at := range f.index {
		if value.Kind() == reflect.Pointer {
			if value.IsNil() {
				value.Set(reflect.New(value.Type().Elem()))
			}
			value = value.Elem()
		}
		value = value.Field(at)
	}
	value.Set(reflect.ValueOf(text))
}

// Text returns the text of the field, or "" if it is absent. Decimals keep their digits.
func (f Field[T]) Text(of *T) string {
	if value, ok := f.value(of); !ok || value.IsNil() {
		return ""
	} else if !f.Number {
		return value.Elem().String()
	}
	switch value := f.Pointer(of).(type) {
	case **api.Decimal:
		return number(*value)
	case **api.Amount:
		if *value != nil {
			return string(**value)
		}
	case **int:
		if *value != nil {
			return strconv.Itoa(**value)
		}
	}
	return ""
}

// Texts returns the texts of some fields by name.
func Texts[T any](fields []Field[T], of *T) map[string]string {
	out := make(map[string]string, len(fields))
	for _, field := range fields {
		out[field.Name] = field.Text(of)
	}
	return out
}

// FlatName returns the name of a field as a column has it, which is one word: delivery_city for delivery.city.
func FlatName(path string) string { return strings.ReplaceAll(path, ".", "_") }
