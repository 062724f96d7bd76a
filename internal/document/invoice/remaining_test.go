package invoice

import (
	"testing"

	"pgregory.net/rapid"

	"quittance/client/api"
)

// TestRemain: what is left of each line and of the invoice is the limit of the next credit note.
func TestRemain(t *testing.T) {
	d := creditable()
	fresh := Remain(d, nil, Arithmetic{})
	wantEqual(t, "what is left of an untouched invoice", fresh, Remaining{Untouched: true, Total: "995.00",
		Lines: []RemainingLine{{"1000.00", "10"}, {"50.00", "1.5"}, {"-100.00", "-1"}}})
	live := []Credit{credit(t, d, nil, partial(byQuantity(0, "2.5"), byAmount(1, "20")))}
	left := Remain(d, live, Arithmetic{})
	wantEqual(t, "what a partial credit leaves", left,
		Remaining{Total: "712.50", Lines: []RemainingLine{{"750.00", "7.5"}, {"30.00", "1.5"}, {"-100.00", "-1"}}})
	all := Remain(d, []Credit{credit(t, d, nil, full())}, Arithmetic{})
	wantEqual(t, "what a full credit leaves", all,
		Remaining{Total: "0.00", Lines: []RemainingLine{{"0.00", "0"}, {"0.00", "0"}, {"0.00", "0"}}})
	d.Items[1].BaseQuantity = dec("0")
	if gap := Remain(d, nil, Arithmetic{}); gap.Lines[1] != (RemainingLine{}) || gap.Lines[0].NetAmount != "1000.00" {
		t.Errorf("with a line that cannot be computed: %+v", gap)
	}
	d.Currency = new("XXZ")
	if unknown := Remain(d, nil, Arithmetic{}); unknown.Total != "" || len(unknown.Lines) != 3 {
		t.Errorf("in no currency: %+v", unknown)
	}
}

// TestRemainIsTheBound: a credit of everything that is left of a line is accepted, and a larger one is refused.
func TestRemainIsTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &api.Draft{Currency: new("AED"), TotalAmount: dec("100000.00"),
			Items: []api.Item{{Name: new("x"), Quantity: dec("10"), NetUnitPrice: dec("12.34"), VATCategory: new("O")}}}
		taken := rapid.IntRange(1, 9).Draw(t, "taken")
		first, faults := NewCredit(d, nil, partial(byQuantity(0, string(rune('0'+taken)))), Arithmetic{})
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		left := Remain(d, []Credit{first}, Arithmetic{}).Lines[0]
		if _, faults := NewCredit(d, []Credit{first}, partial(byAmount(0, string(left.NetAmount))),
			Arithmetic{}); len(faults) > 0 {
			t.Errorf("%s is left and refused: %v", left.NetAmount, faults)
		}
		if _, faults := NewCredit(d, []Credit{first}, partial(byQuantity(0, string(left.Quantity))),
			Arithmetic{}); len(faults) > 0 {
			t.Errorf("%s is left and refused: %v", left.Quantity, faults)
		}
		if _, faults := NewCredit(d, []Credit{first}, partial(byQuantity(0, string(left.Quantity)+".01")),
			Arithmetic{}); len(faults) == 0 {
			t.Errorf("more than %s is accepted", left.Quantity)
		}
	})
}

// TestRequestCredit: for a request with a fault in kind or items, only the faults of its form are returned. Other
// faults are returned with those of the credit.
func TestRequestCredit(t *testing.T) {
	d := creditable()
	for path, want := range map[string]int{"kind": 1, "items": 1, "items[0].position": 1, "reason": 2} {
		form := api.Faults{}
		form.Add(path, "required", "is required")
		request := &api.CreditNoteRequest{}
		if want == 2 {
			request = partial(byQuantity(0, "11"))
		}
		if _, faults := RequestCredit(d, nil, request, Arithmetic{}, form); len(faults) != want || !faults.Has(path) {
			t.Errorf("with a fault at %s: %v", path, faults)
		}
	}
}
