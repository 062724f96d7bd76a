package invoice

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quittance/api"
)

// creditable is an invoice of two lines and a discount line: 1000.00 + 50.00 − 100.00 net, 5 % tax on all but the second.
func creditable() *api.Draft {
	return &api.Draft{Currency: ptr("AED"), TotalAmount: dec("995.00"), Items: []api.Item{
		{Name: ptr("Consulting"), UnitCode: ptr("HUR"), Quantity: dec("10"), NetUnitPrice: dec("100.00"), VATCategory: ptr("S"), VATRate: dec("5")},
		{Name: ptr("Export"), Quantity: dec("1.5"), BaseQuantity: dec("3"), NetUnitPrice: dec("100"), VATCategory: ptr("O")},
		{Name: ptr("Discount"), Quantity: dec("-1"), NetUnitPrice: dec("100.00"), VATCategory: ptr("S"), VATRate: dec("5.0")},
	}}
}

// full and partial are requests as the JSON border lets them pass.
func full() *api.CreditNoteRequest { return &api.CreditNoteRequest{Kind: ptr(api.CreditFull)} }

func partial(items ...api.CreditItemRequest) *api.CreditNoteRequest {
	return &api.CreditNoteRequest{Kind: ptr(api.CreditPartial), Items: items}
}

func byQuantity(position int, quantity string) api.CreditItemRequest {
	return api.CreditItemRequest{Position: &position, Quantity: dec(quantity)}
}

func byAmount(position int, amount string) api.CreditItemRequest {
	return api.CreditItemRequest{Position: &position, NetAmount: dec(amount)}
}

// credit makes a credit that is to be accepted.
func credit(t *testing.T, d *api.Draft, live []Credit, request *api.CreditNoteRequest) Credit {
	t.Helper()
	made, faults := NewCredit(d, live, request)
	if len(faults) > 0 {
		t.Fatalf("refused: %v", faults)
	}
	return made
}

// nets shows the items of a credit as position:quantity=net, and its total.
func nets(c Credit) string {
	var out []string
	for _, item := range c.Items {
		quantity, net := "", "null"
		if item.Quantity != nil {
			quantity = item.Quantity.String()
		}
		if item.NetAmount != nil {
			net = string(*item.NetAmount)
		}
		out = append(out, fmt.Sprintf("%d:%s=%s", item.Position, quantity, net))
	}
	return strings.Join(append(out, string(c.Total)), " ")
}

// broken shows faults as path:rule, in the order of the paths.
func broken(faults api.Faults) string {
	var out []string
	for path, list := range faults {
		for _, fault := range list {
			out = append(out, path+":"+fault.Rule)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestNewCredit(t *testing.T) {
	tests := []struct {
		name    string
		change  func(d *api.Draft)
		request *api.CreditNoteRequest
		want    string
	}{
		{"full", nil, full(), "0:10=1000.00 1:1.5=50.00 2:-1=-100.00 995.00"},
		{"full takes the total as it is", func(d *api.Draft) { d.TotalAmount = dec("7") }, full(), "0:10=1000.00 1:1.5=50.00 2:-1=-100.00 7"},
		{"full of a line that cannot be computed", func(d *api.Draft) { d.Items[0].BaseQuantity = dec("0") }, full(), "0:10=null 1:1.5=50.00 2:-1=-100.00 995.00"},
		{"by quantity", nil, partial(byQuantity(0, "2")), "0:2=200.00 210.00"},
		{"by amount", nil, partial(byAmount(0, "0.5")), "0:=0.50 0.53"},
		{"tax of a group is rounded once", nil, partial(byAmount(0, "0.1"), byAmount(1, "0.1")), "0:=0.10 1:=0.10 0.21"},
		{"category O has no tax", nil, partial(byQuantity(1, "0.1")), "1:0.1=3.33 3.33"},
		{"rounded half away from zero", func(d *api.Draft) { d.Items[0].NetUnitPrice = dec("0.005") }, partial(byQuantity(0, "1")), "0:1=0.01 0.01"},
		{"rounded to nothing", func(d *api.Draft) { d.Items[0].NetUnitPrice = dec("0.001") }, partial(byQuantity(0, "1")), "0:1=0.00 0.00"},
		{"of a free line", func(d *api.Draft) { d.Items[0].NetUnitPrice = dec("0") }, partial(byQuantity(0, "10")), "0:10=0.00 0.00"},
		{"a negative line with a positive one", nil, partial(byQuantity(0, "2"), byQuantity(2, "-1")), "0:2=200.00 2:-1=-100.00 105.00"},
		{"in the order in which they were given", nil, partial(byAmount(1, "1"), byAmount(0, "1.00")), "1:=1.00 0:=1.00 2.05"},
		{"everything", nil, partial(byQuantity(0, "10"), byAmount(1, "50"), byQuantity(2, "-1.00")), "0:10=1000.00 1:=50.00 2:-1.00=-100.00 995.00"},
		{"a negative invoice", func(d *api.Draft) { d.Items[0].Quantity, d.TotalAmount = dec("-10"), dec("-1105") }, partial(byQuantity(0, "-10")), "0:-10=-1000.00 -1050.00"},
		{"no minor unit digits", func(d *api.Draft) { d.Currency, d.TotalAmount = ptr("JPY"), dec("995.00") }, partial(byAmount(0, "3.0")), "0:=3 3"},
		{"more than 18 digits", func(d *api.Draft) {
			d.Items = []api.Item{{Name: ptr("Large"), Quantity: dec("999999999999999999"), NetUnitPrice: dec("1"), VATCategory: ptr("O")}}
			d.TotalAmount = dec("999999999999999999")
		}, partial(byQuantity(0, "999999999999999998.0")[0:]...), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := creditable()
			if tt.change != nil {
				tt.change(d)
			}
			if got := nets(credit(t, d, nil, tt.request)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
