package pdf

import (
	"math/big"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/codelist"
)

// absent is shown for an amount that is not known.
const absent = "–"

// money formats an amount of a currency with at least the digits of its minor unit, and its thousands in groups. Digits
// beyond the minor unit are kept unless they are zeros.
func money(a *api.Amount, currency string) string {
	least := 2
	if c, ok := codelist.Currencies().Lookup(currency); ok && c.MinorUnits != codelist.NoMinorUnits {
		least = c.MinorUnits
	}
	return grouped(a, least)
}

// quantity formats a number that is no amount.
func quantity(a *api.Amount) string { return grouped(a, 0) }

func grouped(a *api.Amount, least int) string {
	if a == nil {
		return absent
	}
	digits, negative := strings.CutPrefix(string(*a), "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	for len(fraction) > least && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	if len(fraction) < least {
		fraction += strings.Repeat("0", least-len(fraction))
	}
	var b strings.Builder
	if negative {
		b.WriteString("−")
	}
	for n := range len(whole) {
		if n > 0 && (len(whole)-n)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(whole[n])
	}
	if fraction != "" {
		b.WriteString("." + fraction)
	}
	return b.String()
}

// taxCategories are the names of the usual tax categories (UNCL5305).
var taxCategories = map[string]string{ //nolint:gochecknoglobals // a constant table
	"S": "Standard rate", "Z": "Zero rate", "E": "Exempt", "AE": "Reverse charge", "O": "Out of scope of tax",
	"N": "Profit margin scheme", "G": "Export",
	"K": "Intra-community supply",
}

func taxCategory(code string) string {
	if name := taxCategories[code]; name != "" {
		return name
	}
	known, _ := codelist.TaxCategories().Lookup(code)
	return known.Name
}

// unit is the name of a unit, or its code if it has no name. The unit "one" is not shown.
func unit(code string) string {
	if code == "C62" {
		return ""
	}
	if known, ok := codelist.Units().Lookup(code); ok && known.Name != "" {
		return known.Name
	}
	return code
}

func country(code string) string {
	if known, ok := codelist.Countries().Lookup(code); ok && known.Name != "" {
		return known.Name
	}
	return code
}

// subdivision is the name of an emirate, or else the code.
func subdivision(country, code string) string {
	if known, ok := codelist.Emirates().Lookup(code); ok && country == emirates && known.Name != "" {
		return known.Name
	}
	return code
}

// named returns a code with its name.
func named(code, name string) string {
	if code == "" || name == "" {
		return code + name
	}
	return name + " (" + code + ")"
}

const emirates = "AE"

// title is the title of a document. A seller in the UAE writes tax invoices (Cabinet Decision 52 of 2017, article 59),
// unless nothing on it is taxable.
func title(p *api.ParsedDocument) string {
	tax := ""
	if text(p.Seller.Country) == emirates && text(p.Seller.TaxID) != "" && taxable(p) {
		tax = "tax "
	}
	names := map[string]string{
		api.ReceivedInvoice: tax + "invoice", api.ReceivedCreditNote: tax + "credit note",
		api.ReceivedSelfBilledInvoice:    "self-billed " + tax + "invoice",
		api.ReceivedSelfBilledCreditNote: "self-billed " + tax + "credit note",
	}
	name := names[p.Type]
	return strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]
}

// taxable tells whether a line is neither exempt nor out of scope of tax.
func taxable(p *api.ParsedDocument) bool {
	for n := range p.Lines {
		if category := text(p.Lines[n].VATCategory); category != "E" && category != "O" {
			return true
		}
	}
	return false
}

func isCredit(p *api.ParsedDocument) bool {
	return p.Type == api.ReceivedCreditNote || p.Type == api.ReceivedSelfBilledCreditNote
}

// text returns an optional text, and "" for an absent one.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// rat returns the value of a number; ok is false for one that is absent or has another form.
func rat(a *api.Amount) (value *big.Rat, ok bool) {
	if a == nil {
		return nil, false
	}
	return new(big.Rat).SetString(string(*a))
}
