package document

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/document/codelist"
	"quittance/internal/document/invoice"
)

// The rules of findings, as the API names them; official identifiers are added where they exist. Advice on a draft uses
// the same words for the same faults.
const (
	ruleRequired       = "required"
	ruleSellerGap      = "incomplete_profile"
	ruleCharacter      = "character_not_allowed"
	ruleIdentifier     = "identifier_format"
	ruleScheme         = "endpoint_scheme_unknown"
	ruleLegalScheme    = "legal_id_scheme_unknown"
	ruleLegalType      = "legal_registration_type_unknown"
	ruleNotSupported   = "not_supported"
	ruleCountry        = "country_unknown"
	ruleEmirate        = "emirate_unknown"
	ruleCurrency       = "currency_unknown"
	rulePaymentMeans   = "payment_means_unknown"
	ruleDueDate        = "due_date_before_issue_date"
	ruleUnit           = "unit_unknown"
	ruleBaseQuantity   = "base_quantity_not_positive"
	ruleNetPrice       = "net_price_mismatch"
	ruleTaxCategory    = "tax_category_unknown"
	ruleTaxRate        = "tax_rate"
	ruleTaxExemption   = "tax_exemption_unknown"
	ruleCommodity      = "commodity_scheme_unknown"
	ruleReasonCode     = "reason_code_unknown"
	ruleTotal          = "total_mismatch"
	ruleNegativeTotal  = "negative_total"
	ruleNotComputable  = "not_computable"
	ruleNotCombinable  = "tax_categories_not_combinable"
	rulePassportIssuer = "passport_country"
	rulePeriodOrder    = "period_order"
	ruleFrequency      = "billing_frequency_unknown"
	ruleSupplyType     = "supply_type_unknown"
	ruleObjectScheme   = "object_scheme_unknown"
	ruleTaxPoint       = "tax_point"
	rulePayee          = "payee_is_seller"
	rulePrincipal      = "principal_is_seller"
	ruleCombination    = "payment_combination"
	rulePaymentTerms   = "payment_terms_format"
	ruleMinorUnit      = "minor_unit"
	rulePercentage     = "percentage_mismatch"
	ruleDocumentType   = "document_type_unknown"
	ruleTaxCurrency    = "tax_currency"

	ruleAllowanceReason = "allowance_reason_unknown"
)

// checker collects the findings of one document.
type checker struct {
	Document
	profile    Profile
	lines      []line
	allowances []allowance
	subject    bool // something on the document is subject to tax
	findings   Findings
}

func newChecker(p Profile, d Document) *checker {
	c := &checker{Document: d, profile: p, lines: documentLines(p, d), allowances: documentAllowances(p, d)}
	c.subject = slices.ContainsFunc(c.lines, func(l line) bool { return l.category != outOfScope }) ||
		slices.ContainsFunc(c.allowances, func(x allowance) bool { return x.Category != outOfScope })
	return c
}

// add adds a finding at a path of the request. ids are the official rules of PINT-AE and of BIS Billing 3, "" where
// there is none.
func (c *checker) add(path, rule string, ids ruleIDs, message string) {
	id := ids.bis3
	if c.profile == PINTAE {
		id = ids.pintAE
	}
	c.findings = append(c.findings, Finding{Path: path, Fault: api.Fault{Rule: rule, RuleID: id, Message: message}})
}

// need adds a finding if a text is absent.
func (c *checker) need(value, path string, ids ruleIDs, message string) {
	if value != "" {
		return
	}
	rule := ruleRequired
	if strings.HasPrefix(path, invoice.SellerPath) {
		rule = ruleSellerGap
	}
	c.add(path, rule, ids, message)
}

// ruleIDs are the official identifiers of one rule in the two profiles.
type ruleIDs struct{ pintAE, bis3 string }

// both is an official identifier that has the same text in both profiles, or that only one of them uses.
func both(id string) ruleIDs { return ruleIDs{id, id} }

// draftPath is the path of a field of the invoice.
func (c *checker) draftPath(field string) string {
	if c.Credit != nil {
		return CreditedPath + field
	}
	return field
}

// itemPath is the path of the item at a position of the draft.
func itemPath(at int) string { return fmt.Sprintf("items[%d]", at) }

// requirement explains a field that every document needs.
type requirement struct {
	ids     ruleIDs
	message string
}

// requirements are the fields of [invoice.Missing]. Fields of an item are named without their position.
var requirements = map[string]requirement{ //nolint:gochecknoglobals // a constant table
	"invoice_number":       {ruleIDs{"ibr-002", "BR-02"}, "the invoice needs a number"},
	"recipient_name":       {ruleIDs{"ibr-007", "BR-07"}, "the invoice must name the buyer"},
	"recipient_network_id": {ruleIDs{"ibr-080", "PEPPOL-EN16931-R010"}, "the buyer's electronic address is missing"},
	"buyer_endpoint_scheme": {ruleIDs{"ibr-063", "BR-63"},
		"the buyer's electronic address needs its scheme, such as 0235 for a UAE tax number"},
	"buyer_street":       {ruleIDs{"ibr-144-ae", ""}, "the buyer's address needs a street"},
	"buyer_city":         {ruleIDs{"ibr-144-ae", ""}, "the buyer's address needs a city"},
	"buyer_country":      {ruleIDs{"ibr-011", "BR-11"}, "the buyer's address needs a country"},
	"total_amount":       {ruleIDs{}, "the invoice needs its total with tax"},
	"currency":           {ruleIDs{"ibr-005", "BR-05"}, "the invoice needs a currency"},
	"issue_date":         {ruleIDs{"ibr-003", "BR-03"}, "the invoice needs its issue date"},
	"due_date":           {ruleIDs{"ibr-127-ae", ""}, "the invoice must say when payment is due"},
	"payment_means_code": {ruleIDs{"ibr-191-ae", ""}, "the invoice must say how it is paid"},
	"items":              {ruleIDs{"ibr-016", "BR-16"}, "the invoice needs at least one line"},
	"name":               {ruleIDs{"ibr-025", "BR-25"}, "the line must name what was sold"},
	"unit_code":          {ruleIDs{"ibr-023", "BR-23"}, "the quantity of the line needs its unit"},
	"quantity":           {ruleIDs{"ibr-022", "BR-22"}, "the line needs a quantity"},
	"net_unit_price":     {ruleIDs{"ibr-026", "BR-26"}, "the line needs its net price"},
	"vat_category":       {ruleIDs{"ibr-145-ae", "BR-CO-04"}, "the line needs its tax category"},
	"vat_rate": {ruleIDs{"ibr-119-ae", "BR-48"},
		"the line needs its tax rate, which is 0 where no tax is charged"},
	"allowances.amount":       {ruleIDs{"ibr-031", "BR-31"}, allowanceAmount},
	"allowances.vat_category": {ruleIDs{"aligned-ibrp-032", "BR-32"}, "the allowance needs its tax category"},
	"allowances.vat_rate":     {ruleIDs{}, allowanceRate},
	"charges.amount":          {ruleIDs{"ibr-036", "BR-36"}, allowanceAmount},
	"charges.vat_category":    {ruleIDs{"aligned-ibrp-037", "BR-37"}, "the charge needs its tax category"},
	"charges.vat_rate":        {ruleIDs{}, allowanceRate},

	"items.allowances.amount": {ruleIDs{"ibr-041", "BR-41"}, allowanceAmount},
	"items.charges.amount":    {ruleIDs{"ibr-043", "BR-43"}, allowanceAmount},
}

const (
	allowanceAmount = "an allowance or a charge needs its amount, or the percentage and the amount that it is of"
	allowanceRate   = "an allowance or a charge needs its tax rate, which is 0 where no tax is charged"
)

// fieldOf returns the name of a field without positions: items.charges.amount for items[2].charges[0].amount, and name
// for items[2].name.
func fieldOf(path string) string {
	name := positions.ReplaceAllString(path, "")
	if item, inItem := strings.CutPrefix(name, "items."); inItem && !strings.Contains(item, ".") {
		return item
	}
	return name
}

// positions are the positions in a path.
var positions = regexp.MustCompile(`\[[0-9]+\]`)

// written returns the paths of the items that are lines of the document: for a credit note those that it credits.
func (c *checker) written() map[string]bool {
	written := map[string]bool{}
	for i := range c.lines {
		written[itemPath(c.lines[i].at)] = true
	}
	return written
}

// required adds the fields that every submission needs. A credit note says neither how nor when it is paid, and needs
// nothing of the lines that it does not credit.
func (c *checker) required() {
	credited := c.written()
	for _, path := range invoice.Missing(c.Draft) {
		item, _, _ := strings.Cut(path, ".")
		field := fieldOf(path)
		if c.Credit != nil && (field == "due_date" || field == "payment_means_code" ||
			strings.HasPrefix(item, "items[") && !credited[item]) {
			continue
		}
		c.need("", c.draftPath(path), requirements[field].ids, requirements[field].message)
	}
}

// texts adds the texts with characters that XML cannot hold (XML 1.0, section 2.2).
func (c *checker) texts() {
	characters(c, c.draftPath(""), draftFields, c.Draft)
	for i := range c.lines {
		characters(c, c.lines[i].path+".", itemFields, c.lines[i].item)
		c.reasonCharacters(c.lines[i].allowances)
	}
	c.reasonCharacters(c.allowances)
	characters(c, invoice.SellerPath, sellerFields, c.seller())
	if c.Credit != nil {
		for _, field := range [...]struct {
			path  string
			value *string
		}{
			{"credit_note_number", &c.Credit.CreditNoteNumber}, {"reason", &c.Credit.Reason},
			{"reason_code", c.Credit.ReasonCode},
		} {
			if strings.ContainsFunc(text(field.value), notXML) {
				c.character(field.path)
			}
		}
	}
}

// The fields that a document is made of.
//
//nolint:gochecknoglobals // constant tables
var (
	draftFields  = invoice.FieldsOf[api.Draft]()
	itemFields   = invoice.FieldsOf[api.Item]()
	sellerFields = slices.DeleteFunc(invoice.FieldsOf[api.Profile](),
		func(field invoice.Field[api.Profile]) bool { return field.Name == "logo" })
)

// characters checks the texts of some fields. It makes a path only for what it finds.
func characters[T any](c *checker, prefix string, fields []invoice.Field[T], of *T) {
	for n := range fields {
		if field := &fields[n]; !field.Number && strings.ContainsFunc(field.Text(of), notXML) {
			c.character(prefix + field.Name)
		}
	}
}

// reasonCharacters checks the texts of allowances and charges.
func (c *checker) reasonCharacters(all []allowance) {
	for i := range all {
		x := &all[i]
		for _, field := range [...]struct {
			name  string
			value *string
		}{{".reason", x.reason}, {".reason_code", x.reasonCode}} {
			if strings.ContainsFunc(text(field.value), notXML) {
				c.character(x.path + field.name)
			}
		}
		if x.of == nil {
			continue
		}
		if strings.ContainsFunc(text(x.of.TaxExemptionReason), notXML) {
			c.character(x.path + ".tax_exemption_reason")
		}
	}
}

func (c *checker) character(path string) {
	c.add(path, ruleCharacter, ruleIDs{}, "contains a character that cannot be written in XML")
}

// notXML tells whether a character is not one of XML 1.0.
func notXML(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF || r == '\uFFFD'
}

// parties checks seller and buyer.
func (c *checker) parties() {
	s, d := c.seller(), c.Draft
	c.need(text(s.LegalName), "seller.legal_name", ruleIDs{"ibr-006", "BR-06"},
		"an invoice names its seller: enter the company's legal name")
	c.need(text(s.Country), "seller.country", ruleIDs{"ibr-009", "BR-09"}, "the seller's address needs a country")
	c.need(text(s.EndpointScheme), "seller.endpoint_scheme", ruleIDs{"ibr-062", "BR-62"},
		"the seller's electronic address needs its scheme")
	c.need(text(s.EndpointID), "seller.endpoint_id", ruleIDs{"ibr-081", "PEPPOL-EN16931-R020"},
		"the seller's electronic address is missing")
	c.country(s.Country, "seller.country", ruleIDs{"ibr-cl-14", "BR-CL-14"})
	c.country(d.BuyerCountry, c.draftPath("buyer_country"), ruleIDs{"ibr-cl-14", "BR-CL-14"})
	c.partyNumber(s.Identifier, s.IdentifierScheme, "seller.identifier", ruleIDs{"ibr-cl-10", "BR-CL-10"})
	c.partyNumber(d.BuyerIdentifier, d.BuyerIdentifierScheme, c.draftPath("buyer_identifier"),
		ruleIDs{"ibr-cl-10", "BR-CL-10"})
	c.endpoint(s.EndpointScheme, s.EndpointID, "seller.endpoint_scheme", "seller.endpoint_id")
	c.endpoint(d.BuyerEndpointScheme, d.RecipientNetworkID, c.draftPath("buyer_endpoint_scheme"),
		c.draftPath("recipient_network_id"))
}

func (c *checker) country(code *string, path string, ids ruleIDs) {
	if text(code) != "" && !codelist.Countries().Accepts(text(code), c.profile.ruleSets()...) {
		c.add(path, ruleCountry, ids, "is not the code of a country")
	}
}

// interchange checks a scheme of identifiers that has to be one of ISO 6523.
func (c *checker) interchange(scheme, path string, ids ruleIDs) {
	if !interchangeScheme(scheme) {
		c.add(path, ruleLegalScheme, ids, "is not a scheme of ISO 6523, four digits such as 0088")
	}
}

// endpoint checks an electronic address (BT-34, BT-49) and its scheme.
func (c *checker) endpoint(scheme, id *string, schemePath, idPath string) {
	if text(scheme) == "" {
		return
	}
	if !codelist.EndpointSchemes().Accepts(text(scheme), c.profile.ruleSets()...) {
		c.add(schemePath, ruleScheme, ruleIDs{"ibr-cl-25", "BR-CL-25"},
			"is not a scheme of electronic addresses in this document format")
	}
	c.identifier(text(scheme), text(id), idPath)
}

// identifier checks the form of an identifier whose scheme has one.
func (c *checker) identifier(scheme, id, path string) {
	form := identifierForms[scheme]
	rule := form.bis3
	if c.profile == PINTAE {
		rule = form.pintAE
	}
	if rule.valid != nil && id != "" && !rule.valid(id) {
		c.add(path, ruleIdentifier, both(rule.id), "is not "+form.name)
	}
}

// references checks what stands at the top of the document, and the payment.
func (c *checker) references() {
	d := c.Draft
	if code := text(d.Currency); code != "" && !codelist.Currencies().Accepts(code, c.profile.ruleSets()...) {
		c.add(c.draftPath("currency"), ruleCurrency, ruleIDs{"ibr-cl-04", "PEPPOL-EN16931-CL007"},
			"is not a currency of this document format")
	}
	if c.Credit != nil && !c.withinGermany() {
		return
	}
	means := text(d.PaymentMeansCode)
	if means != "" && !codelist.PaymentMeans().Accepts(means, c.profile.ruleSets()...) {
		c.add(c.draftPath("payment_means_code"), rulePaymentMeans, ruleIDs{"ibr-cl-16", "BR-CL-16"},
			"is not a means of payment in this document format")
	}
	if means == "30" || means == "58" && c.profile == BIS3 {
		c.need(text(c.seller().PayeeAccount), "seller.payee_account", ruleIDs{"ibr-192-ae", "BR-61"},
			"a credit transfer needs the account to pay to")
	}
	issued, errIssued := time.Parse(time.DateOnly, text(d.IssueDate))
	due, errDue := time.Parse(time.DateOnly, text(d.DueDate))
	if c.Credit == nil && errIssued == nil && errDue == nil && due.Before(issued) { // other rules report absent dates
		c.add("due_date", ruleDueDate, ruleIDs{}, "payment cannot be due before the invoice is issued")
	}
}

// checkLines checks what every line needs in both profiles.
func (c *checker) checkLines() {
	sets := c.profile.ruleSets()
	for i := range c.lines {
		l := &c.lines[i]
		if l.unit != "" && !codelist.Units().Accepts(l.unit, sets...) {
			c.add(l.path+".unit_code", ruleUnit, ruleIDs{"ibr-cl-23", "BR-CL-23"},
				"is not a unit of UN/ECE Recommendation 20 or 21, such as C62 for one or HUR for an hour")
		}
		if decimal(l.base).Sign() <= 0 {
			c.add(l.path+".base_quantity", ruleBaseQuantity, ruleIDs{"ibr-087", "PEPPOL-EN16931-R121"},
				"the price must be for a quantity above zero")
		}
		if l.category != "" && !codelist.TaxCategories().Accepts(l.category, sets...) {
			c.add(l.path+".vat_category", ruleTaxCategory, ruleIDs{"ibr-139-ae", "BR-CL-18"},
				"is not a tax category of this document format")
		}
		c.price(l)
		c.article(l)
	}
}

// article checks the standard identifier of an item and its origin.
func (c *checker) article(l *line) {
	c.country(l.item.OriginCountry, l.path+".origin_country", ruleIDs{"ibr-cl-15", "BR-CL-15"})
	code, scheme := text(l.item.StandardItemCode), text(l.item.StandardItemScheme)
	if code == "" {
		return
	}
	c.need(scheme, l.path+".standard_item_scheme", ruleIDs{"ibr-064", "BR-64"},
		"the standard item code needs its scheme, 0160 for a GTIN")
	if scheme != "" {
		c.interchange(scheme, l.path+".standard_item_scheme", ruleIDs{"ibr-cl-21", "BR-CL-21"})
	}
	if text(l.item.CommodityScheme) == articleScheme && text(l.item.CommodityCode) != "" {
		c.add(l.path+".commodity_scheme", ruleCommodity, ruleIDs{},
			"is the scheme of a GTIN, and standard_item_code has one already")
	}
}

// contradictions adds what contradicts itself in every profile. PINT-AE has the rules of EN 16931 for its own
// categories, with other identifiers.
func (c *checker) contradictions() {
	emirati := map[string]string{
		"BR-S-05": "aligned-ibrp-s-05", "BR-Z-05": "aligned-ibrp-z-05", "BR-E-05": "aligned-ibrp-e-05",
		"BR-O-05": "aligned-ibrp-o-05", "BR-S-06": "aligned-ibrp-s-06", "BR-Z-06": "aligned-ibrp-z-06",
		"BR-E-06": "aligned-ibrp-e-06", "BR-O-06": "aligned-ibrp-o-06", "BR-S-07": "aligned-ibrp-s-07",
		"BR-Z-07": "aligned-ibrp-z-07", "BR-E-07": "aligned-ibrp-e-07", "BR-O-07": "aligned-ibrp-o-07",
	}
	written := c.written()
	for i := range c.allowances {
		written[strings.TrimPrefix(c.allowances[i].path, CreditedPath)] = true
	}
	for _, found := range invoice.Contradictions(c.Draft) {
		if entry, _, _ := strings.Cut(found.Path, "."); written[entry] {
			c.add(c.draftPath(found.Path), found.Rule, ruleIDs{emirati[found.RuleID], found.RuleID}, found.Message)
		}
	}
}

// price checks that the net price is the gross price less the discount, exactly.
func (c *checker) price(l *line) {
	discount := decimal(l.discount)
	switch {
	case l.price == "":
	case l.gross == "" && discount.Sign() != 0:
		c.add(l.path+".gross_unit_price", ruleRequired, ruleIDs{"ibr-126-ae", "PEPPOL-EN16931-R046"},
			"a discount needs the gross price that it is taken from")
	case l.gross != "" && new(big.Rat).Sub(decimal(l.gross), discount).Cmp(decimal(l.price)) != 0:
		c.add(l.path+".net_unit_price", ruleNetPrice, ruleIDs{"aligned-ibrp-004", "PEPPOL-EN16931-R046"},
			"the net price must be the gross price less the discount")
	}
}

// totals compares the author's total with the computed one. The document asks for the author's if rounding explains the
// difference, and states it (BT-114).
func (c *checker) totals() {
	m, ok := compute(c.profile, c.Document)
	stated, roundings := c.stated()
	if !ok {
		c.notComputable()
		return
	}
	due, _, asStated := m.sums.Due(stated, roundings)
	if c.profile == PINTAE && decimal(due.String()).Sign() < 0 {
		c.add("total_amount", ruleNegativeTotal, ruleIDs{},
			"the total is below zero: reduce an earlier invoice with a credit note instead")
	}
	if !asStated {
		c.add("total_amount", ruleTotal, ruleIDs{"ibr-co-15", "BR-CO-15"},
			fmt.Sprintf("the lines and their tax add up to %s, not to %s", m.sums.Totals().Total, stated))
	}
}

// notComputable explains why a document without any other finding has no amounts: a line, an allowance or a charge has
// too many digits for the rule of its profile.
func (c *checker) notComputable() {
	if _, known := codelist.Currencies().Lookup(text(c.Draft.Currency)); !known {
		return
	}
	for i := range c.allowances {
		x := &c.allowances[i]
		amounts := c.profile.Arithmetic().Parts(c.Draft.Currency, []invoice.AllowanceCharge{x.AllowanceCharge})
		if x.Base != "" && x.Percent != "" && amounts[0] == nil {
			c.add(x.path+".percent", ruleNotComputable, ruleIDs{x.byKind("ibr-131-ae", "ibr-146-ae"), ""},
				"the percentage of this amount cannot be checked by the receiver: give the amount alone")
		}
	}
	for i := range c.lines {
		l := &c.lines[i]
		if l.quantity == "" || l.price == "" || decimal(l.base).Sign() <= 0 {
			continue
		}
		if one := []invoice.Line{l.input()}; !c.computable(one) {
			c.add(l.path+".quantity", ruleNotComputable, ruleIDs{"ibr-147-ae", ""},
				"the amount of the line is too large to be checked by the receiver: split the line")
		}
	}
}

// computable tells whether lines have amounts.
func (c *checker) computable(lines []invoice.Line) bool {
	_, ok := c.profile.Arithmetic().Sum(c.Draft.Currency, lines, nil)
	return ok
}
