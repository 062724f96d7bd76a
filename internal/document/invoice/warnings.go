package invoice

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"quittance/client/api"
	"quittance/internal/document/codelist"
)

// unitedArabEmirates is the country whose subdivisions PINT-AE lists.
const unitedArabEmirates = "AE"

// The rules of our advice, as the API names them, independent of any network. Official identifiers are added where they
// exist.
const (
	ruleSchemeUnknown   = "endpoint_scheme_unknown"
	ruleSchemeInactive  = "endpoint_scheme_inactive"
	ruleCountry         = "country_unknown"
	ruleEmirate         = "emirate_unknown"
	ruleTotal           = "total_mismatch"
	ruleRounding        = "total_rounded"
	ruleDueDate         = "due_date_before_issue_date"
	rulePaymentMeans    = "payment_means_unknown"
	ruleUnit            = "unit_unknown"
	ruleTaxCategory     = "tax_category_unknown"
	ruleTaxExemption    = "tax_exemption_unknown"
	ruleTaxRate         = "tax_rate"
	ruleNotCombinable   = "tax_categories_not_combinable"
	ruleBaseQuantity    = "base_quantity_not_positive"
	ruleNetPrice        = "net_price_mismatch"
	ruleLegalType       = "legal_registration_type_unknown"
	ruleNumberSubmitted = "number_already_submitted"
	ruleProfile         = "incomplete_profile"
	ruleAuthorityOnly   = "tax_authority_only"
	ruleCardNumber      = "card_number"
	ruleAllowanceReason = "allowance_reason_unknown"
	ruleDocumentType    = "document_type_unknown"
	ruleTaxCurrency     = "tax_currency"
	rulePercentage      = "percentage_mismatch"
)

// vatexPrefix is the prefix of the exemption codes of the CEF list VATEX, which this package does not have.
const vatexPrefix = "VATEX-"

// Warnings returns our advice on a draft and on the seller's profile, by JSON path. The paths of the profile begin with
// seller., such as seller.legal_name. A rule has this API's name and, if there is one, the official identifier of EN
// 16931 (BR-…), BIS Billing 3 or PINT-AE (ibr-…-ae). Warnings reject nothing, because the provider is responsible for
// regulated validation, except the [Contradictions], which are among them. An absent field of the draft is [Missing],
// not advice. A nil profile is an empty one. Amounts are those of the arithmetic a. The result is never nil.
func Warnings(d *api.Draft, p *api.Profile, a Arithmetic) api.Faults {
	warnings := api.Faults{}
	if p == nil {
		p = &api.Profile{}
	}
	warnEndpointScheme(warnings, "buyer_endpoint_scheme", d.BuyerEndpointScheme)
	warnPredefined(warnings, d)
	warnCard(warnings, d.PaymentCard)
	warnEmirate(warnings, "buyer_subdivision", d.BuyerCountry, d.BuyerSubdivision)
	warnCountry(warnings, "buyer_country", d.BuyerCountry)
	warnTotal(warnings, d, a)
	warnDueDate(warnings, d)
	if !blank(d.PaymentMeansCode) && !codelist.PaymentMeans().Has(*d.PaymentMeansCode) {
		warnings.AddOfficial("payment_means_code", rulePaymentMeans, "BR-CL-16", "is not a payment means of UNCL4461")
	}
	if !blank(d.TypeCode) && !codelist.DocumentTypes().Has(*d.TypeCode) {
		warnings.AddOfficial("type_code", ruleDocumentType, "BR-CL-01", "is not a type of invoices of UNCL1001")
	}
	if !blank(d.TaxCurrency) && !codelist.Currencies().Has(*d.TaxCurrency) {
		warnings.AddOfficial("tax_currency", ruleTaxCurrency, "BR-CL-05", "is not a currency of ISO 4217")
	}
	warnLegalType(warnings, "buyer_legal_id_scheme", d.BuyerCountry, d.BuyerLegalIDScheme, "ibr-183-ae")
	for i := range d.Items {
		warnItem(warnings, i, &d.Items[i])
	}
	warnAllowances(warnings, d, a)
	for _, c := range Contradictions(d) {
		warnings.AddOfficial(c.Path, c.Rule, c.RuleID, c.Message)
	}
	warnSeller(warnings, p, d)
	return warnings
}

// WarnNumber advises on a draft whose number was submitted with another invoice; submitted is that invoice's
// identifier.
func WarnNumber(warnings api.Faults, submitted string) {
	warnings.Add("invoice_number", ruleNumberSubmitted,
		"was submitted already, with the invoice "+submitted+": this one would be refused")
}

// warnEndpointScheme advises on an electronic address scheme (BT-34-1, BT-49-1).
func warnEndpointScheme(warnings api.Faults, path string, code *string) {
	if blank(code) {
		return
	}
	scheme, ok := codelist.EndpointSchemes().Lookup(*code)
	switch {
	case !ok:
		warnings.AddOfficial(path, ruleSchemeUnknown, "BR-CL-25", "is not an electronic address scheme of the EAS list")
	case !scheme.Active:
		warnings.AddOfficial(path, ruleSchemeInactive, "PEPPOL-EN16931-CL008",
			"is not an active scheme of the EAS list: do not use it for new data")
	}
}

// warnPredefined advises on the electronic addresses that PINT-AE has for buyers who get no document: of a deemed
// supply, outside electronic invoicing, and abroad without an address in the network.
func warnPredefined(warnings api.Faults, d *api.Draft) {
	address := text(d.RecipientNetworkID)
	if text(d.BuyerEndpointScheme) == "0235" && (address == "9900000097" || address == "9900000098" ||
		address == "9900000099") {
		warnings.Add("recipient_network_id", ruleAuthorityOnly, "is an address that nobody receives at: the invoice goes to "+
			"the tax authority alone, and there may never be a receiver_state")
	}
}

// warnCard advises on the number of a payment card that shows more digits than the rules of payment cards allow.
func warnCard(warnings api.Faults, card *api.PaymentCard) {
	const most = 10
	if card == nil {
		return
	}
	digits := 0
	for _, r := range text(card.Number) {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	if digits > most {
		warnings.AddOfficial("payment_card.number", ruleCardNumber, "BR-51",
			"shows more than ten digits: at most the first six and the last four may be shown")
	}
}

// warnCountry advises on a country code (BT-40, BT-55).
func warnCountry(warnings api.Faults, path string, code *string) {
	if !blank(code) && !codelist.Countries().Has(*code) {
		warnings.AddOfficial(path, ruleCountry, "BR-CL-14", "is not a country of ISO 3166-1")
	}
}

// warnEmirate advises on a subdivision of the United Arab Emirates (BT-39, BT-54). There are no lists for other
// countries.
func warnEmirate(warnings api.Faults, path string, country, subdivision *string) {
	if text(country) != unitedArabEmirates || blank(subdivision) || codelist.Emirates().Has(*subdivision) {
		return
	}
	for emirate := range codelist.Emirates().All() {
		if emirate.ISO == *subdivision {
			warnings.AddOfficial(path, ruleEmirate, "ibr-128-ae",
				"is the ISO 3166-2 code of the emirate; the UAE rules want "+emirate.Code)
			return
		}
	}
	warnings.AddOfficial(path, ruleEmirate, "ibr-128-ae", "is not an emirate: AUH, DXB, SHJ, UAQ, FUJ, AJM or RAK")
}

// warnLegalType advises on the type of a legal registration in the United Arab Emirates (BTAE-15, BTAE-16). Elsewhere
// the field is the scheme of an identifier, for which this package has no list.
func warnLegalType(warnings api.Faults, path string, country, kind *string, ruleID string) {
	if text(country) == unitedArabEmirates && !blank(kind) && !codelist.LegalRegistrationTypes().Has(*kind) {
		warnings.AddOfficial(path, ruleLegalType, ruleID, "is not a type of registration in the UAE: TL, EID, PAS or CD")
	}
}

// warnTotal advises if total_amount differs from the computed total by more than one minor unit per item, and in a
// document format, which states the difference, if it differs at all.
func warnTotal(warnings api.Faults, d *api.Draft, a Arithmetic) {
	s, ok := a.SumDraft(d)
	if !ok || s.tax == nil || !given(d.TotalAmount) {
		return
	}
	due, ok := s.due(d.TotalAmount.String(), 0)
	switch {
	case !ok:
		warnings.AddOfficial("total_amount", ruleTotal, "BR-CO-15",
			fmt.Sprintf("is away from the computed total %s by more than one minor unit per item", s.Totals().Total))
	case a.Digits > 0 && due.Cmp(s.total()) != 0:
		_, rounding, _ := s.Due(d.TotalAmount.String(), 0)
		warnings.Add("total_amount", ruleRounding, fmt.Sprintf(
			"differs from the computed total %s: the document states the rounding amount %s (BT-114)", s.Totals().Total,
			rounding))
	}
}

// warnDueDate advises if payment is due before the invoice is issued.
func warnDueDate(warnings api.Faults, d *api.Draft) {
	issued, errIssued := time.Parse(time.DateOnly, text(d.IssueDate))
	due, errDue := time.Parse(time.DateOnly, text(d.DueDate))
	if errIssued != nil || errDue != nil {
		return // absent or malformed dates cannot be compared, and other rules report them
	}
	if due.Before(issued) {
		warnings.Add("due_date", ruleDueDate, "is before issue_date")
	}
}

// warnItem advises on one invoice line.
func warnItem(warnings api.Faults, i int, item *api.Item) {
	if !blank(item.UnitCode) && !codelist.Units().Has(*item.UnitCode) {
		warnings.AddOfficial(itemPath(i, "unit_code"), ruleUnit, "BR-CL-23",
			"is not a unit of UN/ECE Recommendation 20 or 21")
	}
	if !blank(item.VATCategory) && !codelist.TaxCategories().Has(*item.VATCategory) {
		warnings.AddOfficial(itemPath(i, "vat_category"), ruleTaxCategory, "BR-CL-18", "is not a tax category of UNCL5305")
	}
	if code := text(item.TaxExemptionCode); !blank(item.TaxExemptionCode) && !strings.HasPrefix(code, vatexPrefix) &&
		!codelist.TaxExemptions().Has(code) {
		warnings.Add(itemPath(i, "tax_exemption_code"), ruleTaxExemption,
			"is neither a VATEX code nor one of the UAE's reasons of exemption")
	}
	if given(item.BaseQuantity) && parse(item.BaseQuantity.String()).coefficient <= 0 {
		warnings.AddOfficial(itemPath(i, "base_quantity"), ruleBaseQuantity, "PEPPOL-EN16931-R121",
			"must be above zero: no line amount can be computed")
	}
	if !given(item.GrossUnitPrice) || !given(item.NetUnitPrice) {
		return
	}
	gross, net, discount := parse(item.GrossUnitPrice.String()), parse(item.NetUnitPrice.String()), decimal{}
	if given(item.DiscountAmount) {
		discount = parse(item.DiscountAmount.String())
	}
	if !isDifference(net, gross, discount) {
		warnings.AddOfficial(itemPath(i, "net_unit_price"), ruleNetPrice, "PEPPOL-EN16931-R046",
			"is not gross_unit_price less discount_amount")
	}
}

// warnAllowances advises on the allowances and charges of an invoice and of its lines.
func warnAllowances(warnings api.Faults, d *api.Draft, a Arithmetic) {
	warn := func(x AllowanceCharge, code *string, path string) {
		list, id := codelist.AllowanceReasons(), "BR-CL-19"
		if x.Charge {
			list, id = codelist.ChargeReasons(), "BR-CL-20"
		}
		if !blank(code) && !list.Has(*code) {
			warnings.AddOfficial(path+"reason_code", ruleAllowanceReason, id, "is not a reason of UNCL5189 for an allowance, "+
				"or of UNCL7161 for a charge")
		}
		if !a.Percentage(&x) {
			warnings.AddOfficial(path+"amount", rulePercentage, "PEPPOL-EN16931-R040", "is not percent of base_amount")
		}
	}
	for i, x := range AllowancesOf(d) {
		list, entry, at := "allowances", d.Allowances, i
		if x.Charge {
			list, entry, at = "charges", d.Charges, i-len(d.Allowances)
		}
		path := fmt.Sprintf("%s[%d].", list, at)
		warn(x, entry[at].ReasonCode, path)
		if x.Category != "" && !codelist.TaxCategories().Has(x.Category) {
			warnings.AddOfficial(path+"vat_category", ruleTaxCategory, "BR-CL-18", "is not a tax category of UNCL5305")
		}
	}
	for n := range d.Items {
		item := &d.Items[n]
		for i, x := range LineAllowancesOf(item) {
			list, entry, at := "allowances", item.Allowances, i
			if x.Charge {
				list, entry, at = "charges", item.Charges, i-len(item.Allowances)
			}
			warn(x, entry[at].ReasonCode, fmt.Sprintf("items[%d].%s[%d].", n, list, at))
		}
	}
}

// isDifference reports whether a is exactly b less c.
func isDifference(a, b, c decimal) bool {
	x, fitsX := a.smallAt(api.MaxScale)
	y, fitsY := b.smallAt(api.MaxScale)
	z, fitsZ := c.smallAt(api.MaxScale)
	if fitsX && fitsY && fitsZ {
		return x == y-z
	}
	difference := b.at(api.MaxScale)
	return difference.Sub(difference, c.at(api.MaxScale)).Cmp(a.at(api.MaxScale)) == 0
}
