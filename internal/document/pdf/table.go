package pdf

import (
	"fmt"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/codelist"
)

// column is a column of a table.
type column struct {
	name     string
	x, width float64
	right    bool
}

// columns places columns beside each other, with gaps.
func columns(x float64, all ...column) []column {
	const gap = 8
	for n := range all {
		all[n].x = x
		x += all[n].width + gap
	}
	return all
}

// begin draws the head of a table, which every page repeats until end.
func (l *layout) begin(table []column) {
	cells := make([]cell, 0, len(table))
	for _, c := range table {
		cells = append(cells, cell{x: c.x, width: c.width, right: c.right, lines: l.one(c.name, styles.head, c.width)})
	}
	first, last := table[0], table[len(table)-1]
	draw := func() {
		l.page().fill(first.x-4, l.y, last.x+last.width-first.x+8, lead+6, tint)
		before := l.tableHead
		l.tableHead = nil
		l.row(lead, 3, 3, cells...)
		l.tableHead = before
	}
	l.need(6 * lead)
	draw()
	l.tableHead = func() { draw() }
}

func (l *layout) end() { l.tableHead = nil }

// lines draws the table of lines.
func (l *layout) lines() {
	table := columns(marginSide+4,
		column{name: "#", width: 22}, column{name: "Description", width: 190},
		column{name: "Quantity", width: 62, right: true}, column{name: "Unit price", width: 68, right: true},
		column{name: "Tax", width: 42, right: true}, column{name: strings.TrimSpace("Net amount " + l.currency()), width: 67,
			right: true})
	l.begin(table)
	for n := range l.p.Lines {
		item := &l.p.Lines[n]
		cells := make([]cell, len(table))
		for at, c := range table {
			cells[at] = cell{x: c.x, width: c.width, right: c.right}
		}
		cells[0].lines = l.one(itoa(n, item.ID), styles.small, table[0].width)
		cells[1].lines = l.description(item, table[1].width)
		cells[2].lines = append(l.number(quantity(item.Quantity), styles.body),
			l.wrap(unit(text(item.UnitCode)), styles.caption, table[2].width, 2)...)
		cells[3].lines = l.number(money(item.NetUnitPrice, l.currency()), styles.body)
		if item.BaseQuantity != nil && *item.BaseQuantity != "1" {
			cells[3].lines = append(cells[3].lines, l.one("per "+quantity(item.BaseQuantity), styles.caption, table[3].width)...)
		}
		cells[4].lines = append(l.one(rate(item.VATRate), styles.body, table[4].width),
			l.one(text(item.VATCategory), styles.caption, table[4].width)...)
		cells[5].lines = l.number(money(item.Net, l.currency()), styles.body)
		l.row(lead, 4, 3, cells...)
		l.horizontal(marginSide, contentWidth)
	}
	l.end()
	if l.p.LineCount > len(l.p.Lines) {
		note := fmt.Sprintf("%d more lines are in the document.", l.p.LineCount-len(l.p.Lines))
		l.row(lead, 4, 0, cell{x: marginSide + 4, width: contentWidth, lines: l.one(note, styles.small, contentWidth)})
	}
	l.y += 8
}

func rate(a *api.Amount) string {
	if a == nil {
		return absent
	}
	return quantity(a) + "%"
}

// description returns the name of an item and everything that explains it.
func (l *layout) description(item *api.ParsedLine, width float64) []line {
	out := l.wrap(text(item.Name), styles.strong, width, maxNameLines)
	out = append(out, l.wrap(text(item.Description), styles.small, width, maxTextLines)...)
	classification := named(text(item.CommodityVersion), scheme(text(item.CommodityScheme), text(item.CommodityCode)))
	for _, f := range given(fact{"Item", text(item.ItemCode)}, fact{"Buyer's item", text(item.BuyerItemCode)},
		fact{"Standard item", scheme(text(item.StandardItemScheme), text(item.StandardItemCode))},
		fact{"Classification", classification}, fact{"Service code", text(item.ServiceCode)},
		fact{"Supply", listed(codelist.SupplyTypes(), item.SupplyType)}, fact{"Lot", text(item.LotNumber)},
		fact{"Origin", country(text(item.OriginCountry))}, fact{"Order", text(item.OrderReference)},
		fact{"Order line", text(item.OrderLineReference)},
		fact{"Invoiced object", scheme(text(item.InvoicedObjectScheme), text(item.InvoicedObject))},
		fact{"Booking reference", text(item.AccountingReference)}, fact{"Period", period(item.Period)},
		fact{"No tax", named(text(item.TaxExemptionCode), text(item.TaxExemptionReason))}) {
		out = append(out, l.pair(f, width)...)
	}
	for _, a := range item.Attributes {
		out = append(out, l.pair(fact{text(a.Name), text(a.Value)}, width)...)
	}
	if discount, ok := rat(item.DiscountAmount); ok && discount.Sign() != 0 && item.GrossUnitPrice != nil {
		out = append(out, l.one("Price "+money(item.GrossUnitPrice, l.currency())+" less "+money(item.DiscountAmount,
			l.currency()), styles.small, width)...)
	}
	for _, a := range item.Allowances {
		out = append(out, l.pair(fact{allowance(a) + " " + money(a.Amount, l.currency()), l.grounds(a)}, width)...)
	}
	return append(out, l.wrap(text(item.Note), styles.small, width, maxTextLines)...)
}

// pair is a name and its value, each with an order of its own, on one line if both fit.
func (l *layout) pair(f fact, width float64) []line {
	name, value := l.one(f.name+"  ", styles.caption, width), l.wrap(f.value, styles.small, width, 3)
	if len(value) == 1 && len(name) == 1 && name[0].width+4+value[0].width <= width {
		name[0].runs = append(spaced(name[0]), value[0].runs...)
		name[0].width += 2 + value[0].width
		return name
	}
	return append(name, value...)
}

func allowance(a api.ParsedAllowance) string {
	if a.Charge {
		return "Charge"
	}
	return "Allowance"
}

// grounds says why an allowance or a charge is what it is: in words, as the name of a code, and of which amount.
func (l *layout) grounds(a api.ParsedAllowance) string {
	list := codelist.AllowanceReasons()
	if a.Charge {
		list = codelist.ChargeReasons()
	}
	out := named(listed(list, a.ReasonCode), text(a.Reason))
	if a.Percent != nil && a.BaseAmount != nil {
		out = strings.TrimPrefix(out+" · "+quantity(a.Percent)+"% of "+money(a.BaseAmount, l.currency()), " · ")
	}
	return out
}

// totals draws the tax by category and rate, and beside it the totals.
func (l *layout) totals() {
	l.allowances()
	const beside = 10 // rows that fit beside the totals
	height := l.totalsHeight()
	if len(l.p.TaxBreakdown) > beside {
		l.taxes()
		l.need(height)
		l.sums()
		return
	}
	l.need(max(height, l.taxesHeight()))
	top, at := l.y, len(l.pages)
	l.taxes()
	after := l.y
	if at != len(l.pages) { // long reasons
		l.need(height)
		top = l.y
	}
	l.y = top
	l.sums()
	l.y = max(l.y, after)
}

const taxesWidth = 262.0

func (l *layout) taxesHeight() float64 {
	rows := 1
	for _, t := range l.p.TaxBreakdown {
		rows++
		rows += len(l.wrap(reason(t), styles.caption, taxesWidth-8, 6))
	}
	return float64(rows) * (lead + 6)
}

// taxes draws the tax by category and rate.
func (l *layout) taxes() {
	if len(l.p.TaxBreakdown) == 0 {
		return
	}
	table := columns(marginSide+4, column{name: "Tax category", width: 92}, column{name: "Rate", width: 28, right: true},
		column{name: "Taxable " + l.currency(), width: 58, right: true},
		column{name: "Tax " + l.currency(), width: 52, right: true})
	l.begin(table)
	for _, t := range l.p.TaxBreakdown {
		category := named(text(t.Category), taxCategory(text(t.Category)))
		cells := []cell{
			{lines: l.wrap(category, styles.body, table[0].width, 2)}, {lines: l.number(rate(t.Rate), styles.body)},
			{lines: l.number(money(t.Taxable, l.currency()), styles.body)},
			{lines: l.number(money(t.Tax, l.currency()), styles.body)},
		}
		for n := range cells {
			cells[n].x, cells[n].width, cells[n].right = table[n].x, table[n].width, table[n].right
		}
		l.row(lead, 3, 1, cells...)
		if why := reason(t); why != "" {
			l.row(9.5, 0, 2, cell{x: marginSide + 4, width: taxesWidth - 8, lines: l.wrap(why, styles.caption, taxesWidth-8, 6)})
		}
		l.horizontal(marginSide, taxesWidth)
	}
	l.end()
}

// reason says why no tax is charged.
func reason(t api.ParsedTax) string {
	if code, why := text(t.ExemptionCode), text(t.ExemptionReason); code != "" || why != "" {
		return named(code, why)
	}
	return ""
}

// allowances draws the allowances and charges on the whole document.
func (l *layout) allowances() {
	for _, a := range l.p.Allowances {
		lines := l.wrap(l.grounds(a), styles.body, contentWidth-180, 3)
		lines = append(lines, l.one(strings.TrimSpace(text(a.VATCategory)+" "+rate(a.VATRate)), styles.caption,
			contentWidth-180)...)
		l.row(lead, 2, 2, cell{x: marginSide + 4, width: 70, lines: l.one(allowance(a), styles.small, 70)},
			cell{x: marginSide + 80, width: contentWidth - 180, lines: lines},
			cell{x: marginSide + contentWidth - 94, width: 90, right: true,
				lines: l.number(money(a.Amount, l.currency()), styles.body)})
	}
	if len(l.p.Allowances) > 0 {
		l.horizontal(marginSide, contentWidth)
		l.y += 8
	}
}

// sum is a row of the totals.
type sum struct {
	name   string
	amount *api.Amount
	// currency is that of the amount, if it is not that of the document.
	currency string
}

// rows returns the totals that the document has. Net, tax and total are always among them.
func (l *layout) rows() []sum {
	t := &l.p.Totals
	var out []sum
	optional := func(name string, amount *api.Amount, currency string) {
		if r, ok := rat(amount); ok && r.Sign() != 0 {
			out = append(out, sum{name, amount, currency})
		}
	}
	if t.Allowances != nil || t.Charges != nil {
		optional("Lines", t.Lines, l.currency())
	}
	optional("Allowances", t.Allowances, l.currency())
	optional("Charges", t.Charges, l.currency())
	out = append(out, sum{"Total without tax", t.Net, l.currency()}, sum{"Tax", t.Tax, l.currency()},
		sum{"Total with tax", t.Total, l.currency()})
	optional("Paid", t.Prepaid, l.currency())
	optional("Rounding", t.Rounding, l.currency())
	return out
}

const sumHeight = lead + 5

func (l *layout) totalsHeight() float64 { return float64(len(l.rows())+3)*sumHeight + 20 }

// sums draws the totals at the right, and the payable amount below them.
func (l *layout) sums() {
	const width = 214.0
	const x = marginSide + contentWidth - width
	amount := func(s sum) string {
		if s.amount == nil {
			return absent
		}
		return strings.TrimSpace(s.currency + " " + money(s.amount, s.currency))
	}
	for _, s := range l.rows() {
		l.row(lead, 3, 2, cell{x: x + 6, width: 90, lines: l.one(s.name, styles.body, 90)},
			cell{x: x + 96, width: width - 102, right: true, lines: l.number(amount(s), styles.body)})
		l.horizontal(x, width)
	}
	due := style{size: 10.5, bold: true, color: white}
	name := "Amount due"
	if isCredit(l.p) {
		name = "Amount credited"
	}
	l.y += 4
	l.page().fill(x, l.y, width, lead+12, accent)
	l.row(lead, 6, 6, cell{x: x + 6, width: 92, lines: l.one(name, due, 92)},
		cell{x: x + 98, width: width - 104, right: true, lines: l.number(amount(sum{"", l.p.Totals.Payable, l.currency()}),
			due)})
	for _, s := range []sum{{"Tax in ", l.p.Totals.TaxInTaxCurrency, text(l.p.TaxCurrency)},
		{"Total in ", l.p.Totals.TotalInTaxCurrency, text(l.p.TaxCurrency)}} {
		if s.amount != nil && s.currency != l.currency() {
			l.row(lead, 3, 2, cell{x: x + 6, width: 90, lines: l.one(s.name+s.currency, styles.small, 90)},
				cell{x: x + 96, width: width - 102, right: true, lines: l.number(amount(s), styles.small)})
		}
	}
	if l.p.TaxExchangeRate != nil {
		l.row(lead, 0, 2, cell{x: x + 6, width: 90, lines: l.one("Exchange rate", styles.small, 90)},
			cell{x: x + 96, width: width - 102, right: true, lines: l.number(quantity(l.p.TaxExchangeRate), styles.small)})
	}
	l.y += 4
}
