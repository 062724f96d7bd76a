package view

import (
	"reflect"

	"quittance/client/api"
)

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
