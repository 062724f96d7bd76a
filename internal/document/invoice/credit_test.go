package invoice

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quittance/client/api"
)

// creditable is an invoice with two lines and a discount line: 1000.00 + 50.00 − 100.00 net, 5 % tax on all but the
// second.
func creditable() *api.Draft {
	return &api.Draft{Currency: new("AED"), TotalAmount: dec("995.00"), Items: []api.Item{
		{Name: new("Consulting"), UnitCode: new("HUR"), Quantity: dec("10"), NetUnitPrice: dec("100.00"),
			VATCategory: new("S"), VATRate: dec("5")},
		{Name: new("Export"), Quantity: dec("1.5"), BaseQuantity: dec("3"), NetUnitPrice: dec("100"), VATCategory: new("O")},
		{Name: new("Discount"), Quantity: dec("-1"), NetUnitPrice: dec("100.00"), VATCategory: new("S"), VATRate: dec("5.0")},
	}}
}

// full and partial return requests as package strictjson accepts them.
func full() *api.CreditNoteRequest { return &api.CreditNoteRequest{Kind: new(api.CreditFull)} }

func partial(items ...api.CreditItemRequest) *api.CreditNoteRequest {
	return &api.CreditNoteRequest{Kind: new(api.CreditPartial), Items: items}
}

func byQuantity(position int, quantity string) api.CreditItemRequest {
	return api.CreditItemRequest{Position: &position, Quantity: dec(quantity)}
}

func byAmount(position int, amount string) api.CreditItemRequest {
	return api.CreditItemRequest{Position: &position, NetAmount: dec(amount)}
}

// credit makes a credit that must be accepted.
func credit(t *testing.T, d *api.Draft, live []Credit, request *api.CreditNoteRequest) Credit {
	t.Helper()
	made, faults := NewCredit(d, live, request, Arithmetic{})
	if len(faults) > 0 {
		t.Fatalf("refused: %v", faults)
	}
	return made
}

// nets formats the items of a credit as position:quantity=net, and its total.
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

// broken formats faults as path:rule, in the order of the paths.
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
		{"full takes the total as it is", func(d *api.Draft) { d.TotalAmount = dec("7") }, full(),
			"0:10=1000.00 1:1.5=50.00 2:-1=-100.00 7"},
		{"full of a line that cannot be computed", func(d *api.Draft) { d.Items[0].BaseQuantity = dec("0") }, full(),
			"0:10=null 1:1.5=50.00 2:-1=-100.00 995.00"},
		{"by quantity", nil, partial(byQuantity(0, "2")), "0:2=200.00 210.00"},
		{"by amount", nil, partial(byAmount(0, "0.5")), "0:=0.50 0.53"},
		{"tax of a group is rounded once", nil, partial(byAmount(0, "0.1"), byAmount(1, "0.1")), "0:=0.10 1:=0.10 0.21"},
		{"category O has no tax", nil, partial(byQuantity(1, "0.1")), "1:0.1=3.33 3.33"},
		{"rounded half away from zero", func(d *api.Draft) { d.Items[0].NetUnitPrice = dec("0.005") },
			partial(byQuantity(0, "1")), "0:1=0.01 0.01"},
		{"rounded to nothing", func(d *api.Draft) { d.Items[0].NetUnitPrice = dec("0.001") }, partial(byQuantity(0, "1")),
			"0:1=0.00 0.00"},
		{"of a free line", func(d *api.Draft) { d.Items[0].NetUnitPrice = dec("0") }, partial(byQuantity(0, "10")),
			"0:10=0.00 0.00"},
		{"a negative line with a positive one", nil, partial(byQuantity(0, "2"), byQuantity(2, "-1")),
			"0:2=200.00 2:-1=-100.00 105.00"},
		{"in the order in which they were given", nil, partial(byAmount(1, "1"), byAmount(0, "1.00")),
			"1:=1.00 0:=1.00 2.05"},
		{"everything", nil, partial(byQuantity(0, "10"), byAmount(1, "50"), byQuantity(2, "-1.00")),
			"0:10=1000.00 1:=50.00 2:-1.00=-100.00 995.00"},
		{"a negative invoice", func(d *api.Draft) { d.Items[0].Quantity, d.TotalAmount = dec("-10"), dec("-1105") },
			partial(byQuantity(0, "-10")), "0:-10=-1000.00 -1050.00"},
		{"no minor unit digits", func(d *api.Draft) { d.Currency, d.TotalAmount = new("JPY"), dec("995.00") },
			partial(byAmount(0, "3.0")), "0:=3 3"},
		{"more than 18 digits", func(d *api.Draft) {
			d.Items[1].Quantity, d.Items[1].BaseQuantity, d.Items[1].NetUnitPrice = dec("999999999999999999"), nil, dec("1")
			d.TotalAmount = dec("999999999999999999")
		}, partial(byQuantity(1, "999999999999999998")), "1:999999999999999998=999999999999999998.00 999999999999999998.00"},
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

func TestNewCreditRefused(t *testing.T) {
	d := creditable()
	part := credit(t, d, nil, partial(byQuantity(0, "8"), byAmount(1, "20")))
	whole := credit(t, d, nil, full())
	noRate := func(d *api.Draft) { d.Items[0].VATRate = nil }
	tests := []struct {
		name    string
		change  func(d *api.Draft)
		live    []Credit
		request *api.CreditNoteRequest
		want    string
	}{
		{"full with items", nil, nil, &api.CreditNoteRequest{Kind: new(api.CreditFull),
			Items: []api.CreditItemRequest{byQuantity(0, "1")}}, "items:not_allowed"},
		{"full after part", nil, []Credit{part}, full(), "kind:exceeds_invoice"},
		{"full after full", nil, []Credit{whole}, full(), "kind:exceeds_invoice"},
		{"part after full", nil, []Credit{whole}, partial(byQuantity(0, "1")), "kind:exceeds_invoice"},
		{"without items", nil, nil, partial(), "items:required"},
		{"no such line", nil, nil, partial(byQuantity(3, "1"), byQuantity(1<<40, "1")),
			"items[0].position:position items[1].position:position"},
		{"a line twice", nil, nil, partial(byQuantity(0, "1"), byAmount(0, "1")), "items[1].position:position"},
		{"neither", nil, nil, partial(api.CreditItemRequest{Position: new(0)}), "items[0]:one_of"},
		{"both", nil, nil, partial(api.CreditItemRequest{Position: new(0), Quantity: dec("1"), NetAmount: dec("100")}),
			"items[0]:one_of"},
		{"nothing of a line", nil, nil, partial(byQuantity(0, "0"), byAmount(1, "0.00")),
			"items[0].quantity:sign items[1].net_amount:sign"},
		{"of the other sign", nil, nil, partial(byQuantity(0, "-1"), byAmount(1, "-1"), byQuantity(2, "1")),
			"items[0].quantity:sign items[1].net_amount:sign items[2].quantity:sign"},
		{"finer than the currency", nil, nil, partial(byAmount(0, "0.001")), "items[0].net_amount:minor_unit"},
		{"more than the line", nil, nil, partial(byQuantity(0, "10.000001"), byAmount(1, "50.01"), byAmount(2, "-100.01")),
			"items[0].quantity:exceeds_line items[1].net_amount:exceeds_line items[2].net_amount:exceeds_line"},
		{"more than is left of the line", nil, []Credit{part}, partial(byQuantity(0, "2.01"), byAmount(1, "30.01")),
			"items[0].quantity:exceeds_line items[1].net_amount:exceeds_line"},
		{"an amount after a quantity", nil, []Credit{part}, partial(byAmount(0, "200.01")),
			"items[0].net_amount:exceeds_line"},
		{"a quantity after an amount", nil, []Credit{part}, partial(byQuantity(1, "1")), "items[0].quantity:exceeds_line"},
		{"more of a free line", func(d *api.Draft) { d.Items[0].NetUnitPrice = dec("0") }, nil, partial(byQuantity(0, "11")),
			"items[0].quantity:exceeds_line"},
		{"an amount of a free line", func(d *api.Draft) { d.Items[0].NetUnitPrice = dec("0") },
			nil, partial(byAmount(0, "0.01")), "items[0].net_amount:exceeds_line"},
		{"more than the invoice", nil, nil, partial(byQuantity(0, "10")), "items:exceeds_invoice"},
		{"more than is left of the invoice", func(d *api.Draft) { d.TotalAmount = dec("870") }, []Credit{part},
			partial(byAmount(1, "10.01")), "items:exceeds_invoice"},
		{"of an invoice of nothing", func(d *api.Draft) { d.TotalAmount = dec("0") }, nil, partial(byAmount(1, "0.01")),
			"items:exceeds_invoice"},
		{"a total of the other sign", nil, nil, partial(byQuantity(2, "-1")), "items:exceeds_invoice"},
		{"a line that cannot be computed", func(d *api.Draft) { d.Items[0].BaseQuantity = dec("0.0") },
			nil, partial(byAmount(0, "1")), "items[0].position:not_computable"},
		{"a line without rate", noRate, nil, partial(byAmount(0, "1")), "items[0].position:not_computable"},
		{"a line without rate, and more", noRate, nil, partial(byAmount(0, "1000.01")),
			"items[0].net_amount:exceeds_line items[0].position:not_computable"},
		{"an unknown currency", func(d *api.Draft) { d.Currency = new("ABC") }, nil, partial(byAmount(0, "1")),
			"invoice_id:not_computable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := creditable()
			if tt.change != nil {
				tt.change(d)
			}
			made, faults := NewCredit(d, tt.live, tt.request, Arithmetic{})
			if got := broken(faults); got != tt.want || made.Total != "" {
				t.Errorf("got %s with a total of %q, want %s", got, made.Total, tt.want)
			}
		})
	}
}

// TestCreditMessages: the message of a refused credit says what is left.
func TestCreditMessages(t *testing.T) {
	d := creditable()
	live := []Credit{credit(t, d, nil, partial(byQuantity(0, "8.5")))}
	for path, want := range map[string]string{
		"items[0].quantity":   "must not take more than is left of the line's quantity, 1.5",
		"items[1].net_amount": "must not take more than is left of the line's net amount, 50",
	} {
		_, faults := NewCredit(d, live, partial(byQuantity(0, "2"), byAmount(1, "51")), Arithmetic{})
		if list := faults[path]; len(list) != 1 || list[0].Message != want {
			t.Errorf("%s: %v, want %s", path, list, want)
		}
	}
	_, faults := NewCredit(d, live, partial(byQuantity(0, "1.5")), Arithmetic{})
	if want := "must not take more than is left of the invoice's total_amount: they take 157.50 with tax, 102.50 is left"; len(faults["items"]) != 1 || faults["items"][0].Message != want {
		t.Errorf("%v, want %s", faults, want)
	}
}

// TestCreditItem: an item describes its line, and is encoded with exact numbers.
func TestCreditItem(t *testing.T) {
	made := credit(t, creditable(), nil, partial(byQuantity(0, "2.50"), byAmount(1, "1")))
	got, err := json.Marshal(made.Items)
	want := `[{"position":0,"name":"Consulting","unit_code":"HUR","quantity":2.50,"net_amount":250.00,"vat_category":"S","vat_rate":5},` +
		`{"position":1,"name":"Export","unit_code":null,"quantity":null,"net_amount":1.00,"vat_category":"O","vat_rate":null}]`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// TestCreditInManyParts: an invoice of many rates is credited in equal parts. The tax of each rate is rounded in each,
// and the last part takes what is left.
func TestCreditInManyParts(t *testing.T) {
	for name, a := range map[string]Arithmetic{"own": {}, "format": {Digits: FormatDigits}} {
		d := &api.Draft{Currency: new("EUR"), TotalAmount: dec("15.00")}
		request := partial()
		for n := range 10 {
			d.Items = append(d.Items, api.Item{Name: new("x"), Quantity: dec("1"), NetUnitPrice: dec("1.00"),
				VATCategory: new("S"), VATRate: dec(strconv.Itoa(5 + 10*n))})
			request.Items = append(request.Items, byAmount(n, "0.10"))
		}
		var live []Credit
		sum := new(big.Rat)
		for part := range 10 {
			made, faults := NewCredit(d, live, request, a)
			if len(faults) > 0 {
				t.Fatalf("%s: part %d: %v", name, part+1, faults)
			}
			live = append(live, made)
			sum.Add(sum, ratOf(string(made.Total)))
		}
		if sum.FloatString(2) != "15.00" {
			t.Errorf("%s: the parts add up to %s", name, sum.FloatString(2))
		}
	}
}

// TestCreditsStayWithin: for any sequence of credits and voids, the live credits of an invoice never exceed a line or
// the invoice. A credit is refused only if it would exceed them, as computed with rational numbers. Once everything is
// void, the whole invoice can be credited again.
func TestCreditsStayWithin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, scale := randomCreditable(t)
		m := creditModel{draft: d, scale: scale}
		var live []Credit
		for range rapid.IntRange(1, 15).Draw(t, "steps") {
			step := rapid.SampledFrom([]string{"partial", "partial", "partial", "full", "void"}).Draw(t, "step")
			if step == "void" {
				if len(live) > 0 {
					n := rapid.IntRange(0, len(live)-1).Draw(t, "which")
					live = slices.Delete(live, n, n+1)
				}
				m.check(t, live)
				continue
			}
			request := full()
			if step == "partial" {
				request = randomPartial(t, d)
			}
			made, faults := NewCredit(d, live, request, Arithmetic{})
			if total, fits := m.total(live, request); fits != (len(faults) == 0) || fits &&
				ratOf(string(made.Total)).Cmp(total) != 0 {
				t.Fatalf("credited %s, faults %v; want %s, %v", nets(made), faults, total.FloatString(scale), fits)
			}
			if len(faults) == 0 {
				live = append(live, made)
			}
			m.check(t, live)
		}
		made, faults := NewCredit(d, nil, full(), Arithmetic{})
		if len(faults) > 0 || string(made.Total) != d.TotalAmount.String() || len(made.Items) != len(d.Items) {
			t.Fatalf("after everything is void, a full credit is %s, %v", nets(made), faults)
		}
	})
}

// small generates decimals with few digits, so that sums often meet their limits.
func small(t *rapid.T, label string, least, most int64, scale int) *api.Decimal {
	n := rapid.Int64Range(least, most).Draw(t, label)
	return dec(big.NewRat(n, pow10(scale).Int64()).FloatString(scale))
}

func randomCreditable(t *rapid.T) (*api.Draft, int) {
	currency := rapid.SampledFrom([]string{"JPY", "AED", "BHD"}).Draw(t, "currency")
	d := &api.Draft{Currency: &currency}
	least := rapid.SampledFrom([]int64{1, 1, -20}).Draw(t, "least quantity")
	for range rapid.IntRange(1, 4).Draw(t, "lines") {
		item := api.Item{Name: new("N"), Quantity: small(t, "quantity", least, 20, rapid.IntRange(0, 1).Draw(t, "scale")),
			NetUnitPrice: small(t, "price", 0, 3000, rapid.IntRange(0, 3).Draw(t, "scale")),
			VATCategory:  rapid.SampledFrom([]*string{new("S"), new("O"), nil}).Draw(t, "category")}
		if rapid.Bool().Draw(t, "has base") {
			item.BaseQuantity = small(t, "base", 1, 7, 0)
		}
		item.VATRate = rapid.SampledFrom([]*api.Decimal{dec("5"), dec("5.0"), dec("20"), dec("33.3")}).Draw(t, "rate")
		d.Items = append(d.Items, item)
	}
	scale, _ := moneyScale(&currency)
	total := api.MustDecimal(Arithmetic{}.Compute(d).Total.String())
	d.TotalAmount = &total
	switch computed := units(total.String(), scale).Int64(); rapid.IntRange(0, 3).Draw(t, "total") {
	case 0: // the invoice itself is the tighter bound
		d.TotalAmount = small(t, "lower total", min(computed, 0), max(computed, 0), scale)
	case 1:
		d.TotalAmount = small(t, "another total", -5000, 5000, scale)
	}
	return d, scale
}

func randomPartial(t *rapid.T, d *api.Draft) *api.CreditNoteRequest {
	request := partial()
	positions := rapid.Permutation([]int{0, 1, 2, 3}[:len(d.Items)]).Draw(t, "positions")
	for _, position := range positions[:rapid.IntRange(1, len(positions)).Draw(t, "count")] {
		scale, _ := moneyScale(d.Currency)
		input := LineOf(&d.Items[position])
		line, _ := Arithmetic{}.lineAmount(&input, scale)
		quantity := units(d.Items[position].Quantity.String(), 2).Int64()
		item := api.CreditItemRequest{Position: &position}
		tenths := rapid.Int64Range(1, 10).Draw(t, "tenths")
		switch rapid.IntRange(0, 9).Draw(t, "how") {
		case 0:
			item.Quantity = small(t, "any quantity", -60, 60, 1)
		case 1:
			item.NetAmount = small(t, "any amount", -500, 500, scale)
		case 2, 3, 4, 5:
			item.Quantity = dec(big.NewRat(quantity*tenths, 1000).FloatString(3))
		default:
			item.NetAmount = dec(string(creditAmount(big.NewInt(line.Int64()*tenths/10), scale)))
		}
		request.Items = append(request.Items, item)
	}
	return request
}

// creditModel determines what may be credited of an invoice, independently of the code.
type creditModel struct {
	draft *api.Draft
	scale int
}

func ratOf(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("not a number: " + text)
	}
	return r
}

// round rounds half away from zero to the minor unit.
func (m creditModel) round(x *big.Rat) *big.Rat { return ratOf(x.FloatString(m.scale)) }

// net returns the net amount of a quantity of a line.
func (m creditModel) net(position int, quantity *api.Decimal) *big.Rat {
	item := &m.draft.Items[position]
	net := new(big.Rat).Mul(ratOf(quantity.String()), ratOf(item.NetUnitPrice.String()))
	if item.BaseQuantity != nil {
		net.Quo(net, ratOf(item.BaseQuantity.String()))
	}
	return m.round(net)
}

// inside reports whether a sum lies between 0 and its limit.
func inside(sum, bound *big.Rat) bool {
	return sum.Sign()*bound.Sign() >= 0 && new(big.Rat).Abs(sum).Cmp(new(big.Rat).Abs(bound)) <= 0
}

// taken adds up what credits take of the invoice, and of the net amount and the quantity of a line.
func (m creditModel) taken(live []Credit, position int) (total, net, quantity *big.Rat) {
	total, net, quantity = new(big.Rat), new(big.Rat), new(big.Rat)
	for _, c := range live {
		total.Add(total, ratOf(string(c.Total)))
		for _, item := range c.Items {
			if item.Position != position {
				continue
			}
			net.Add(net, ratOf(string(*item.NetAmount)))
			if item.Quantity != nil {
				quantity.Add(quantity, ratOf(item.Quantity.String()))
			}
		}
	}
	return total, net, quantity
}

// check compares the live credits with their limits.
func (m creditModel) check(t *rapid.T, live []Credit) {
	for position := range m.draft.Items {
		total, net, quantity := m.taken(live, position)
		if !inside(total, ratOf(m.draft.TotalAmount.String())) {
			t.Fatalf("the live credits take %s of %s", total.FloatString(m.scale), m.draft.TotalAmount)
		}
		whole := m.net(position, m.draft.Items[position].Quantity)
		if !inside(net, whole) || !inside(quantity, ratOf(m.draft.Items[position].Quantity.String())) {
			t.Fatalf("the live credits take %s, %s times, of line %d: %s", net.FloatString(m.scale), quantity.RatString(),
				position, whole.FloatString(m.scale))
		}
	}
}

// takesRest reports whether a request takes what is left of the amount of every line.
func (m creditModel) takesRest(live []Credit, request *api.CreditNoteRequest) bool {
	for position := range m.draft.Items {
		_, net, _ := m.taken(live, position)
		for _, item := range request.Items {
			switch {
			case *item.Position != position:
			case item.Quantity != nil:
				net.Add(net, m.net(position, item.Quantity))
			default:
				net.Add(net, ratOf(item.NetAmount.String()))
			}
		}
		if net.Cmp(m.net(position, m.draft.Items[position].Quantity)) != 0 {
			return false
		}
	}
	return true
}

// explains reports whether roundings make up for the difference between what is left and what was computed: one minor
// unit for each line of the request, for each line that was credited earlier, and for each earlier total.
func (m creditModel) explains(live []Credit, request *api.CreditNoteRequest, left, total *big.Rat) bool {
	roundings := len(request.Items)
	for _, c := range live {
		roundings += len(c.Items) + 1
	}
	away := new(big.Rat).Sub(left, total)
	return m.round(away.Abs(away)).Cmp(new(big.Rat).Mul(big.NewRat(int64(roundings), 1), m.unit())) <= 0
}

func (m creditModel) unit() *big.Rat {
	return new(big.Rat).SetFrac(big.NewInt(1), pow10(m.scale))
}

// total returns the total of a request, and whether it is allowed.
func (m creditModel) total(live []Credit, request *api.CreditNoteRequest) (total *big.Rat, fits bool) {
	if *request.Kind == api.CreditFull {
		return ratOf(m.draft.TotalAmount.String()), len(live) == 0
	}
	total, fits = new(big.Rat), true
	taxed := map[string]*big.Rat{}
	for _, item := range request.Items {
		line := &m.draft.Items[*item.Position]
		whole := m.net(*item.Position, line.Quantity)
		_, taken, quantity := m.taken(live, *item.Position)
		var net *big.Rat
		if item.Quantity != nil {
			net = m.net(*item.Position, item.Quantity)
			asked, of := ratOf(item.Quantity.String()), ratOf(line.Quantity.String())
			fits = fits && asked.Sign() != 0 && asked.Sign() == of.Sign() && inside(quantity.Add(quantity, asked), of)
		} else {
			net = ratOf(item.NetAmount.String())
			fits = fits && net.Sign() != 0 && net.Sign() == whole.Sign()
		}
		fits = fits && inside(taken.Add(taken, net), whole)
		total.Add(total, net)
		if text(line.VATCategory) != "O" {
			key := text(line.VATCategory) + ratOf(line.VATRate.String()).RatString()
			if taxed[key] == nil {
				taxed[key] = new(big.Rat)
			}
			taxed[key].Add(taxed[key], new(big.Rat).Mul(net, new(big.Rat).Quo(ratOf(line.VATRate.String()), big.NewRat(100, 1))))
		}
	}
	for _, tax := range taxed {
		total.Add(total, m.round(tax))
	}
	bound := ratOf(m.draft.TotalAmount.String())
	sum, _, _ := m.taken(live, 0)
	if left := new(big.Rat).Sub(bound, sum); m.takesRest(live, request) && m.explains(live, request, left, total) {
		total = left
	}
	fits = fits && inside(total, bound) && inside(sum.Add(sum, total), bound)
	for _, c := range live {
		fits = fits && c.Kind != api.CreditFull
	}
	return total, fits
}
