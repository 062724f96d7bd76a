// Package codelist holds the official code lists an invoice is checked against.
//
// Invariant: a list holds exactly the codes that at least one of the four rule sets EN 16931 1.3.16, Peppol BIS
// Billing 3 (2026.5), PINT 1.1.3 and PINT-AE 1.0.4 accepts, and nothing changes it after it was read. Codes are
// compared as they are written: case and white space count.
//
// The files of data come from the published artefacts: endpoint schemes from the EAS list with the states of the
// Peppol list v9.7, currencies from ISO 4217 with their minor units, countries from ISO 3166-1 (1A and XI are
// accepted by the rules, not by ISO), emirates from PINT-AE, types of invoices from UNCL1001, payment means from
// UNCL4461, tax categories from UNCL5305, units from UN/ECE Recommendations 20 and 21 (packaging with an X in
// front), types of legal registrations and reasons of tax exemptions and of credit notes from PINT-AE. Columns en,
// bis3, pint and pint_ae hold y where that rule set accepts the code. The published UAE list writes the tax
// category N with a Greek letter; the rules compare with the Latin one, and so does the file.
//
// Start reading at [List], then at the functions that return one.
package codelist

import (
	"bytes"
	"embed"
	"encoding/csv"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed data/*.csv
var files embed.FS

// NoMinorUnits is the [Currency.MinorUnits] of a code that has no minor unit, such as XAU: no rule rounds its amounts.
const NoMinorUnits = -1

// Entry is one code of a list.
type Entry struct {
	// Code is the code as invoices carry it.
	Code string
	// Name is the English name for people, in one line; empty where the published list gives none.
	Name string
}

// Currency is a currency of ISO 4217.
type Currency struct {
	Entry
	// MinorUnits is the number of digits after the point, from 0 to 4, or [NoMinorUnits].
	MinorUnits int
}

// EndpointScheme is an electronic address scheme (EAS, EN 16931 BT-34-1 and BT-49-1).
type EndpointScheme struct {
	Entry
	// Active is true when the Peppol list v9.7 allows the scheme for new data.
	Active bool
}

// Emirate is a country subdivision of the United Arab Emirates.
type Emirate struct {
	Entry
	// ISO is the same emirate's code in ISO 3166-2, which PINT-AE does not accept.
	ISO string
}

// TaxExemption is a reason for which the seller charges no tax in the United Arab Emirates.
type TaxExemption struct {
	Entry
	// ReverseCharge is true for goods and services whose tax the buyer accounts for (BTAE-09), false for exempt ones.
	ReverseCharge bool
}

// RuleSet is one of the official rule sets, by the name of its column.
type RuleSet string

// The rule sets.
const (
	EN16931 RuleSet = "en"
	BIS3    RuleSet = "bis3"
	PINT    RuleSet = "pint"
	PINTAE  RuleSet = "pint_ae"
)

// ruleSets lists every rule set.
var ruleSets = [...]RuleSet{EN16931, BIS3, PINT, PINTAE}

// List is one code list in its published order.
type List[T any] struct {
	entries []T
	byCode  map[string]T
	// refused holds the codes that a rule set with a column in the file does not accept, by rule set.
	refused map[RuleSet]map[string]bool
}

// Lookup returns the entry with exactly this code.
func (l *List[T]) Lookup(code string) (T, bool) {
	entry, ok := l.byCode[code]
	return entry, ok
}

// Has tells whether the list holds exactly this code.
func (l *List[T]) Has(code string) bool {
	_, ok := l.byCode[code]
	return ok
}

// Accepts tells whether each of the rule sets accepts exactly this code. A rule set without a column in the list
// narrows nothing.
func (l *List[T]) Accepts(code string, sets ...RuleSet) bool {
	for _, set := range sets {
		if l.refused[set][code] {
			return false
		}
	}
	return l.Has(code)
}

// All yields every entry in the published order.
func (l *List[T]) All() iter.Seq[T] { return slices.Values(l.entries) }

// Currencies returns the invoice currencies (EN 16931 BT-5, rule BR-CL-04).
func Currencies() *List[Currency] { return currencies() }

// EndpointSchemes returns the electronic address schemes (EN 16931 BT-34-1 and BT-49-1, rule BR-CL-25).
func EndpointSchemes() *List[EndpointScheme] { return endpointSchemes() }

// Countries returns the countries (EN 16931 BT-40 and BT-55, rule BR-CL-14).
func Countries() *List[Entry] { return countries() }

// Emirates returns the subdivisions of the United Arab Emirates (PINT-AE IBT-039 and IBT-054, rule ibr-128-ae).
func Emirates() *List[Emirate] { return emirates() }

// PaymentMeans returns the payment means (EN 16931 BT-81, rule BR-CL-16).
func PaymentMeans() *List[Entry] { return paymentMeans() }

// TaxCategories returns the tax categories of an invoice line (EN 16931 BT-151, rule BR-CL-18).
func TaxCategories() *List[Entry] { return taxCategories() }

// DocumentTypes returns the types of invoices (EN 16931 BT-3, UNCL1001, rule BR-CL-01).
func DocumentTypes() *List[Entry] { return documentTypes() }

// Units returns the units of measure and of packaging (EN 16931 BT-130, rule BR-CL-23).
func Units() *List[Entry] { return units() }

// LegalRegistrationTypes returns the types of a legal registration in the United Arab Emirates (PINT-AE BTAE-15 and
// BTAE-16, rules ibr-173-ae and ibr-183-ae).
func LegalRegistrationTypes() *List[Entry] { return legalRegistrationTypes() }

// TaxExemptions returns the reasons for which sellers charge no tax in the United Arab Emirates (EN 16931 BT-121,
// BTAE-09, rules ibr-167-ae and ibr-006-ae).
func TaxExemptions() *List[TaxExemption] { return taxExemptions() }

// CreditReasons returns the reasons for a credit note in the United Arab Emirates (PINT-AE BTAE-03, rule ibr-001-ae).
func CreditReasons() *List[Entry] { return creditReasons() }

// ItemClassifications returns the schemes of item classifications (EN 16931 BT-158-1, UNTDID 7143, rule BR-CL-13). It
// has no names.
func ItemClassifications() *List[Entry] { return itemClassifications() }

// ObjectSchemes returns the schemes of identifiers of invoiced objects (EN 16931 BT-18-1 and BT-128-1, UNTDID 1153,
// rule BR-CL-07). It has no names.
func ObjectSchemes() *List[Entry] { return objectSchemes() }

// AllowanceReasons returns the reasons of allowances (EN 16931 BT-98 and BT-140, UNCL5189, rule BR-CL-19).
func AllowanceReasons() *List[Entry] { return allowanceReasons() }

// ChargeReasons returns the reasons of charges (EN 16931 BT-105 and BT-145, UNCL7161, rule BR-CL-20).
func ChargeReasons() *List[Entry] { return chargeReasons() }

// TaxPoints returns what sets the tax point date (EN 16931 BT-8, UNTDID 2475, rule BR-CL-06).
func TaxPoints() *List[Entry] { return taxPoints() }

// BillingFrequencies returns how often a continuous supply is invoiced in the United Arab Emirates (PINT-AE BTAE-06,
// rule ibr-005-ae).
func BillingFrequencies() *List[Entry] { return billingFrequencies() }

// SupplyTypes returns what an item is in the United Arab Emirates: goods, services or both (PINT-AE BTAE-13).
func SupplyTypes() *List[Entry] { return supplyTypes() }

// ExemptionReasons returns the reasons of the CEF list VATEX for which no tax is charged (EN 16931 BT-121, rule
// BR-CL-22). It has no names.
func ExemptionReasons() *List[Entry] { return exemptionReasons() }

// Each list is read once, when it is first asked for: a command that needs none pays for none.
var (
	currencies = lazy("iso4217.csv", func(r row) (Currency, error) {
		minor, err := minorUnits(r.cells["minor_units"])
		return Currency{Entry: r.entry(), MinorUnits: minor}, err
	})
	endpointSchemes = lazy("eas.csv", func(r row) (EndpointScheme, error) {
		return EndpointScheme{Entry: r.entry(), Active: r.cells["peppol_v97_state"] == "active"}, nil
	})
	emirates = lazy("uae_emirates.csv", func(r row) (Emirate, error) {
		return Emirate{Entry: r.entry(), ISO: r.cells["iso3166_2"]}, nil
	})
	countries     = lazy("iso3166-1.csv", plain)
	paymentMeans  = lazy("uncl4461_payment_means.csv", plain)
	taxCategories = lazy("uncl5305_tax_category.csv", plain)
	documentTypes = lazy("uncl1001_invoice.csv", plain)
	units         = lazy("unece_rec20_21_units.csv", plain)

	itemClassifications = lazy("uncl7143_item_classification.csv", plain)
	exemptionReasons    = lazy("vatex.csv", plain)
	objectSchemes       = lazy("untdid1153_object.csv", plain)
	allowanceReasons    = lazy("uncl5189_allowance_reason.csv", plain)
	chargeReasons       = lazy("uncl7161_charge_reason.csv", plain)
	taxPoints           = lazy("untdid2475_tax_point.csv", plain)
	billingFrequencies  = lazy("ae_billing_frequency.csv", plain)
	supplyTypes         = lazy("ae_supply_type.csv", plain)

	legalRegistrationTypes = lazy("ae_legal_id_type.csv", plain)
	creditReasons          = lazy("ae_credit_reason.csv", plain)
	taxExemptions          = lazy("ae_tax_exemption.csv", func(r row) (TaxExemption, error) {
		return TaxExemption{Entry: r.entry(), ReverseCharge: r.cells["reverse_charge"] == "y"}, nil
	})
)

// plain reads a row of a list that says no more than code and name.
func plain(r row) (Entry, error) { return r.entry(), nil }

// minorUnits reads the column of ISO 4217, which writes N.A. where a currency has no minor unit.
func minorUnits(cell string) (int, error) {
	if cell == "N.A." {
		return NoMinorUnits, nil
	}
	return strconv.Atoi(cell)
}

// lazy returns a function that reads the embedded file the first time it is called. The file is part of the program:
// a fault in it is a fault of the build, so it panics.
func lazy[T any](file string, read func(row) (T, error)) func() *List[T] {
	return sync.OnceValue(func() *List[T] {
		text, err := files.ReadFile("data/" + file)
		if err != nil {
			panic(fmt.Sprintf("codelist: %v", err))
		}
		list, err := parse(text, read)
		if err != nil {
			panic(fmt.Sprintf("codelist: %s: %v", file, err))
		}
		return list
	})
}

// row is one line of a file: its first column is the code, the others go by their names in the header.
type row struct {
	code  string
	cells map[string]string
}

// entry returns the code and the name; some published names run over several lines.
func (r row) entry() Entry {
	return Entry{Code: r.code, Name: strings.Join(strings.Fields(r.cells["name"]), " ")}
}

// accepted tells whether a rule set accepts the code. A file without any such column is a rule set's own list.
func (r row) accepted() bool {
	ruled := false
	for _, set := range ruleSets {
		mark, ok := r.cells[string(set)]
		if mark == "y" {
			return true
		}
		ruled = ruled || ok
	}
	return !ruled
}

// parse reads a file with a header line and keeps the accepted codes.
func parse[T any](text []byte, read func(row) (T, error)) (*List[T], error) {
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("no header line")
	}
	list := &List[T]{byCode: make(map[string]T, len(records)), refused: map[RuleSet]map[string]bool{}}
	for _, record := range records[1:] {
		r := row{code: record[0], cells: make(map[string]string, len(record))}
		for i, name := range records[0] {
			r.cells[name] = record[i]
		}
		if !r.accepted() {
			continue
		}
		if _, twice := list.byCode[r.code]; twice || r.code == "" {
			return nil, fmt.Errorf("code %q stands twice or is empty", r.code)
		}
		entry, err := read(r)
		if err != nil {
			return nil, fmt.Errorf("code %q: %w", r.code, err)
		}
		for _, set := range ruleSets {
			if mark, ok := r.cells[string(set)]; ok && mark != "y" {
				if list.refused[set] == nil {
					list.refused[set] = map[string]bool{}
				}
				list.refused[set][r.code] = true
			}
		}
		list.entries = append(list.entries, entry)
		list.byCode[r.code] = entry
	}
	return list, nil
}
