package documents

import (
	"reflect"
	"testing"

	"quittance/client/api"
)

// TestDivideAdvice checks that what submission needs is not shown as advice, which prevents nothing.
func TestDivideAdvice(t *testing.T) {
	due, code := api.Fault{Rule: "required", RuleID: "ibr-127-ae", Message: "the invoice must say when payment is due"},
		api.Fault{Rule: "unit_unknown"}
	needs, others := DivideAdvice([]string{"due_date", "items"},
		api.Faults{"items[0].unit_code": {code}, "due_date": {due}})
	want := []Advice{{Path: "due_date", Faults: []api.Fault{due}}, {Path: "items"}}
	if !reflect.DeepEqual(needs, want) || !reflect.DeepEqual(others,
		[]Advice{{Path: "items[0].unit_code", Faults: []api.Fault{code}}}) {
		t.Errorf("needs %+v and other advice %+v", needs, others)
	}
}
