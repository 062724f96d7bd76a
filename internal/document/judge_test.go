package document_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"quittance/internal/codelist"
	"quittance/internal/document"
)

// element is one element of a document that was read back.
type element struct {
	name       string // with the usual prefix: cbc:ID
	attributes map[string]string
	text       string
	children   []*element
	parent     *element
}

// prefixes are the usual prefixes of the namespaces.
var prefixes = map[string]string{
	"urn:oasis:names:specification:ubl:schema:xsd:Invoice-2":                   "",
	"urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2":                "",
	"urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2": "cac:",
	"urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2":     "cbc:",
}

// read reads a document by its namespaces.
func read(text []byte) (*element, error) {
	decoder := xml.NewDecoder(bytes.NewReader(text))
	top := &element{}
	at := top
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			if at != top || len(top.children) != 1 {
				return nil, errors.New("not one root")
			}
			root := top.children[0]
			root.parent = nil
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			prefix, ok := prefixes[token.Name.Space]
			if !ok {
				return nil, fmt.Errorf("namespace %q", token.Name.Space)
			}
			e := &element{name: prefix + token.Name.Local, attributes: map[string]string{}, parent: at}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			at.children = append(at.children, e)
			at = e
		case xml.EndElement:
			at = at.parent
		case xml.CharData:
			at.text += string(token)
		}
	}
}

// all returns the elements at a path of names below e, such as cac:Item/cbc:Name; Line stands for the lines of either root.
func (e *element) all(path string) []*element {
	name, rest, deeper := strings.Cut(path, "/")
	var found []*element
	for _, child := range e.children {
		if child.name != name && (name != "Line" || child.name != "cac:InvoiceLine" && child.name != "cac:CreditNoteLine") {
			continue
		}
		if deeper {
			found = append(found, child.all(rest)...)
		} else {
			found = append(found, child)
		}
	}
	return found
}

// get returns the text of the first element at a path, "" if there is none.
func (e *element) get(path string) string {
	if found := e.all(path); len(found) > 0 {
		return strings.TrimSpace(found[0].text)
	}
	return ""
}

// attribute returns an attribute of the first element at a path.
func (e *element) attribute(path, name string) string {
	if found := e.all(path); len(found) > 0 {
		return found[0].attributes[name]
	}
	return ""
}

// each calls f with e and every element below it.
func (e *element) each(f func(*element)) {
	f(e)
	for _, child := range e.children {
		child.each(f)
	}
}

// value returns the number at a path; 0 if there is none, and NaN text panics, which a test reports.
func (e *element) value(path string) *big.Rat {
	text := e.get(path)
	if text == "" {
		return new(big.Rat)
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(path + " is not a number: " + text)
	}
	return r
}

func sum(elements []*element, path string) *big.Rat {
	total := new(big.Rat)
	for _, e := range elements {
		total.Add(total, e.value(path))
	}
	return total
}

// within tells whether two numbers are at most a tolerance in hundredths apart.
func within(a, b *big.Rat, hundredths int64) bool {
	distance := new(big.Rat).Sub(a, b)
	return distance.Abs(distance).Cmp(big.NewRat(hundredths, 100)) <= 0
}

// judge applies the rules that matter to a document that was read back, without knowing how it was written, and returns the official
// identifiers of those that it violates. It is written from the text of the rules, and shares no code with the writer.
func judge(p document.Profile, text []byte) (violated []string) {
	root, err := read(text)
	if err != nil {
		return []string{"not XML: " + err.Error()}
	}
	j := &judgement{root: root, profile: p}
	j.structure()
	j.amounts()
	if p == document.PINTAE {
		j.emiratiDocument()
		j.emiratiLines()
	} else {
		j.union()
	}
	return j.violated
}

type judgement struct {
	root     *element
	profile  document.Profile
	violated []string
}

// rule notes a rule that does not hold. A rule of one profile has an identifier for it alone.
func (j *judgement) rule(holds bool, pintAE, bis3 string) {
	id := bis3
	if j.profile == document.PINTAE {
		id = pintAE
	}
	if !holds && id != "" && !slices.Contains(j.violated, id) {
		j.violated = append(j.violated, id)
	}
}

// order is the order of the elements that documents of this program use, from the schemas of UBL 2.1.
var order = map[string]string{
	"Invoice": "cbc:CustomizationID cbc:ProfileID cbc:ProfileExecutionID cbc:ID cbc:UUID cbc:IssueDate cbc:IssueTime cbc:DueDate cbc:InvoiceTypeCode cbc:Note cbc:DocumentCurrencyCode cbc:TaxCurrencyCode cbc:BuyerReference " +
		"cac:OrderReference cac:ContractDocumentReference cac:AdditionalDocumentReference cac:AccountingSupplierParty cac:AccountingCustomerParty cac:PaymentMeans cac:TaxExchangeRate cac:TaxTotal cac:LegalMonetaryTotal cac:InvoiceLine",
	"CreditNote": "cbc:CustomizationID cbc:ProfileID cbc:ProfileExecutionID cbc:ID cbc:UUID cbc:IssueDate cbc:CreditNoteTypeCode cbc:Note cbc:DocumentCurrencyCode cbc:TaxCurrencyCode cbc:BuyerReference " +
		"cac:DiscrepancyResponse cac:OrderReference cac:BillingReference cac:ContractDocumentReference cac:AdditionalDocumentReference cac:AccountingSupplierParty cac:AccountingCustomerParty cac:TaxExchangeRate cac:TaxTotal cac:LegalMonetaryTotal cac:CreditNoteLine",
	"cac:Party":                   "cbc:EndpointID cac:PostalAddress cac:PartyTaxScheme cac:PartyLegalEntity",
	"cac:PostalAddress":           "cbc:StreetName cbc:CityName cbc:CountrySubentity cac:Country",
	"cac:PartyLegalEntity":        "cbc:RegistrationName cbc:CompanyID",
	"cac:InvoiceLine":             "cbc:ID cbc:InvoicedQuantity cbc:LineExtensionAmount cac:OrderLineReference cac:Item cac:Price cac:ItemPriceExtension",
	"cac:CreditNoteLine":          "cbc:ID cbc:CreditedQuantity cbc:LineExtensionAmount cac:OrderLineReference cac:Item cac:Price cac:ItemPriceExtension",
	"cac:Item":                    "cbc:Description cbc:Name cac:SellersItemIdentification cac:StandardItemIdentification cac:AdditionalItemIdentification cac:CommodityClassification cac:ClassifiedTaxCategory",
	"cac:CommodityClassification": "cbc:NatureCode cbc:ItemClassificationCode",
	"cac:ClassifiedTaxCategory":   "cbc:ID cbc:Percent cbc:TaxExemptionReasonCode cbc:TaxExemptionReason cac:TaxScheme",
	"cac:TaxCategory":             "cbc:ID cbc:Percent cbc:TaxExemptionReasonCode cbc:TaxExemptionReason cac:TaxScheme",
	"cac:Price":                   "cbc:PriceAmount cbc:BaseQuantity cac:AllowanceCharge",
	"cac:AllowanceCharge":         "cbc:ChargeIndicator cbc:Amount cbc:BaseAmount",
	"cac:LegalMonetaryTotal":      "cbc:LineExtensionAmount cbc:TaxExclusiveAmount cbc:TaxInclusiveAmount cbc:PayableRoundingAmount cbc:PayableAmount",
}

// structure checks the order of elements, that none is empty, and the form of dates and times.
func (j *judgement) structure() {
	j.root.each(func(e *element) {
		if names, ok := order[e.name]; ok {
			place := -1
			for _, child := range e.children {
				next := slices.Index(strings.Fields(names), child.name)
				j.rule(next >= place && next >= 0, "XSD order of "+e.name+": "+child.name, "XSD order of "+e.name+": "+child.name)
				place = next
			}
		}
		j.rule(len(e.children) > 0 || strings.TrimSpace(e.text) != "", "ibr-079", "PEPPOL-EN16931-R008")
		if e.name == "cbc:IssueDate" || e.name == "cbc:DueDate" {
			j.rule(regexp.MustCompile(`^\d{4}-\d\d-\d\d$`).MatchString(e.text), "ibr-073", "PEPPOL-EN16931-F001")
		}
		if e.name == "cbc:IssueTime" {
			j.rule(regexp.MustCompile(`^\d\d:\d\d:\d\d$`).MatchString(e.text), "ibr-119", "UBL-CR-006")
		}
		if currency, ok := e.attributes["currencyID"]; ok && e.parent.name != "cac:ItemPriceExtension" && e.parent.parent != nil && e.parent.parent.name != "cac:ItemPriceExtension" {
			second := e.parent.name == "cac:TaxTotal" && currency == j.root.get("cbc:TaxCurrencyCode")
			j.rule(second || currency == j.root.get("cbc:DocumentCurrencyCode"), "ibr-126", "PEPPOL-EN16931-R051")
		}
	})
	for _, needed := range []struct{ path, pintAE, bis3 string }{
		{"cbc:CustomizationID", "ibr-001", "BR-01"}, {"cbc:ProfileID", "ibr-076", "PEPPOL-EN16931-R001"}, {"cbc:ID", "ibr-002", "BR-02"}, {"cbc:IssueDate", "ibr-003", "BR-03"},
		{"cbc:DocumentCurrencyCode", "ibr-005", "BR-05"}, {"Line/cbc:ID", "ibr-016", "BR-16"},
		{"cac:AccountingSupplierParty/cac:Party/cac:PartyLegalEntity/cbc:RegistrationName", "ibr-006", "BR-06"},
		{"cac:AccountingCustomerParty/cac:Party/cac:PartyLegalEntity/cbc:RegistrationName", "ibr-007", "BR-07"},
		{"cac:AccountingSupplierParty/cac:Party/cac:PostalAddress/cac:Country/cbc:IdentificationCode", "ibr-009", "BR-09"},
		{"cac:AccountingCustomerParty/cac:Party/cac:PostalAddress/cac:Country/cbc:IdentificationCode", "ibr-011", "BR-11"},
		{"cac:AccountingSupplierParty/cac:Party/cbc:EndpointID", "ibr-081", "PEPPOL-EN16931-R020"},
		{"cac:AccountingCustomerParty/cac:Party/cbc:EndpointID", "ibr-080", "PEPPOL-EN16931-R010"},
	} {
		j.rule(j.root.get(needed.path) != "", needed.pintAE, needed.bis3)
	}
	for _, party := range []string{"cac:AccountingSupplierParty/cac:Party", "cac:AccountingCustomerParty/cac:Party"} {
		j.rule(codelist.EndpointSchemes().Has(j.root.attribute(party+"/cbc:EndpointID", "schemeID")), "ibr-cl-25", "BR-CL-25")
		j.rule(codelist.Countries().Has(j.root.get(party+"/cac:PostalAddress/cac:Country/cbc:IdentificationCode")), "ibr-cl-14", "BR-CL-14")
	}
}

// amounts checks the arithmetic of the totals, of the breakdown and of the lines.
func (j *judgement) amounts() {
	r := j.root
	total, lines := "cac:LegalMonetaryTotal/", r.all("Line")
	net, gross := r.value(total+"cbc:TaxExclusiveAmount"), r.value(total+"cbc:TaxInclusiveAmount")
	tax := new(big.Rat)
	subtotals := r.all("cac:TaxTotal/cac:TaxSubtotal")
	if totals := r.all("cac:TaxTotal"); len(totals) > 0 {
		tax = totals[0].value("cbc:TaxAmount")
	}
	j.rule(r.value(total+"cbc:LineExtensionAmount").Cmp(sum(lines, "cbc:LineExtensionAmount")) == 0, "ibr-co-10", "BR-CO-10")
	j.rule(net.Cmp(r.value(total+"cbc:LineExtensionAmount")) == 0, "ibr-co-13", "BR-CO-13")
	j.rule(tax.Cmp(sum(subtotals, "cbc:TaxAmount")) == 0, "ibr-co-14", "BR-CO-14")
	j.rule(gross.Cmp(new(big.Rat).Add(net, tax)) == 0, "ibr-co-15", "BR-CO-15")
	j.rule(r.value(total+"cbc:PayableAmount").Cmp(new(big.Rat).Add(gross, r.value(total+"cbc:PayableRoundingAmount"))) == 0, "ibr-co-16", "BR-CO-16")
	for _, e := range append(r.all("cac:LegalMonetaryTotal")[0].children, r.all("cac:TaxTotal/cbc:TaxAmount")...) {
		_, fraction, _ := strings.Cut(e.text, ".")
		j.rule(len(fraction) <= 2, "ibr-091", "BR-DEC-18")
	}
	for _, s := range subtotals {
		category, percent := s.get("cac:TaxCategory/cbc:ID"), s.get("cac:TaxCategory/cbc:Percent")
		taxable := new(big.Rat)
		for _, line := range lines {
			c := "cac:Item/cac:ClassifiedTaxCategory/"
			if line.get(c+"cbc:ID") == category && (category != "S" || line.value(c+"cbc:Percent").Cmp(s.value("cac:TaxCategory/cbc:Percent")) == 0) {
				taxable.Add(taxable, line.value("cbc:LineExtensionAmount"))
			}
		}
		j.rule(taxable.Cmp(s.value("cbc:TaxableAmount")) == 0, "aligned-ibrp-"+strings.ToLower(category)+"-08", "BR-"+category+"-08")
		if category == "S" {
			share := new(big.Rat).Mul(taxable, s.value("cac:TaxCategory/cbc:Percent"))
			j.rule(within(s.value("cbc:TaxAmount"), share.Mul(share, big.NewRat(1, 100)), 1), "aligned-ibrp-s-09", "BR-CO-17")
		} else {
			j.rule(s.value("cbc:TaxAmount").Sign() == 0, "aligned-ibrp-"+strings.ToLower(category)+"-09", "BR-"+category+"-09")
		}
		j.rule((percent == "") == (category == "O" || category == "E" && j.profile == document.PINTAE), "ibr-119-ae", "BR-48")
	}
	for _, line := range lines {
		j.line(line)
	}
}

func (j *judgement) line(line *element) {
	quantity := "cbc:InvoicedQuantity"
	if j.root.name == "CreditNote" {
		quantity = "cbc:CreditedQuantity"
	}
	category := line.get("cac:Item/cac:ClassifiedTaxCategory/cbc:ID")
	found := false
	for _, id := range j.root.all("cac:TaxTotal/cac:TaxSubtotal/cac:TaxCategory/cbc:ID") {
		found = found || id.text == category
	}
	j.rule(found, "aligned-ibrp-"+strings.ToLower(category)+"-01", "BR-"+category+"-01")
	j.rule(line.get(quantity) != "", "ibr-022", "BR-22")
	j.rule(codelist.Units().Has(line.attribute(quantity, "unitCode")), "ibr-cl-23", "BR-CL-23")
	j.rule(line.attribute(quantity, "unitCode") == line.attribute("cac:Price/cbc:BaseQuantity", "unitCode"), "ibr-088", "PEPPOL-EN16931-R130")
	j.rule(line.get("cac:Item/cbc:Name") != "", "ibr-025", "BR-25")
	j.rule(line.get("cac:Price/cbc:PriceAmount") != "" && line.value("cac:Price/cbc:PriceAmount").Sign() >= 0, "ibr-027", "BR-27")
	if base := line.all("cac:Price/cac:AllowanceCharge"); len(base) > 0 {
		net := new(big.Rat).Sub(base[0].value("cbc:BaseAmount"), base[0].value("cbc:Amount"))
		j.rule(net.Cmp(line.value("cac:Price/cbc:PriceAmount")) == 0, "aligned-ibrp-004", "PEPPOL-EN16931-R046")
	}
	base := line.value("cac:Price/cbc:BaseQuantity")
	if j.rule(base.Sign() > 0, "ibr-087", "PEPPOL-EN16931-R121"); base.Sign() <= 0 {
		return
	}
	exact := new(big.Rat).Mul(line.value(quantity), line.value("cac:Price/cbc:PriceAmount"))
	j.rule(within(line.value("cbc:LineExtensionAmount"), exact.Quo(exact, base), 1), "ibr-147-ae", "PEPPOL-EN16931-R120")
}

// union checks the rules of BIS Billing 3.0 and EN 16931 about parties, references and tax.
func (j *judgement) union() {
	r := j.root
	rule := func(holds bool, id string) { j.rule(holds, "", id) }
	seller, buyer := r.all("cac:AccountingSupplierParty/cac:Party")[0], r.all("cac:AccountingCustomerParty/cac:Party")[0]
	rule(r.get("cbc:BuyerReference") != "" || r.get("cac:OrderReference/cbc:ID") != "", "PEPPOL-EN16931-R003")
	rule(r.get("cbc:InvoiceTypeCode") == "380" || r.get("cbc:CreditNoteTypeCode") == "381", "PEPPOL-EN16931-P0100")
	rule(len(r.all("cac:TaxTotal")) == 1, "PEPPOL-EN16931-R053")
	means := r.get("cac:PaymentMeans/cbc:PaymentMeansCode")
	rule(means != "30" && means != "58" || r.get("cac:PaymentMeans/cac:PayeeFinancialAccount/cbc:ID") != "", "BR-61")
	rule(means != "49" && means != "59", "PEPPOL-EN16931-R061")
	sellerTax, buyerTax, registration := seller.get("cac:PartyTaxScheme/cbc:CompanyID"), buyer.get("cac:PartyTaxScheme/cbc:CompanyID"), seller.get("cac:PartyLegalEntity/cbc:CompanyID")
	rule(sellerTax != "" || registration != "", "BR-CO-26")
	for _, tax := range []string{sellerTax, buyerTax} {
		rule(tax == "" || regexp.MustCompile(`^[A-Z]{2}.`).MatchString(tax), "BR-CO-09")
	}
	for _, s := range r.all("cac:TaxTotal/cac:TaxSubtotal/cac:TaxCategory") {
		category := s.get("cbc:ID")
		reason := s.get("cbc:TaxExemptionReason") + s.get("cbc:TaxExemptionReasonCode")
		rule((reason == "") == (category == "S" || category == "Z"), "BR-"+category+"-10")
		if category == "O" {
			rule(sellerTax == "" && buyerTax == "", "BR-O-02")
			rule(len(r.all("cac:TaxTotal/cac:TaxSubtotal")) == 1, "BR-O-11")
			continue
		}
		rule(sellerTax != "", "BR-"+category+"-02")
		rule(category != "AE" || buyerTax != "" || buyer.get("cac:PartyLegalEntity/cbc:CompanyID") != "", "BR-AE-02")
		rule((category == "S") == (s.value("cbc:Percent").Sign() > 0), "BR-"+category+"-05")
	}
}

// emiratiDocument checks the rules of PINT-AE about the whole document.
func (j *judgement) emiratiDocument() {
	r := j.root
	rule := func(holds bool, id string) { j.rule(holds, id, "") }
	seller, buyer := r.all("cac:AccountingSupplierParty/cac:Party")[0], r.all("cac:AccountingCustomerParty/cac:Party")[0]
	kind := r.get("cbc:InvoiceTypeCode") + r.get("cbc:CreditNoteTypeCode")
	commercial := kind == "480" || kind == "81"
	rule(slices.Contains([]string{"380", "480", "381", "81"}, kind), "ibr-cl-01")
	rule(regexp.MustCompile(`^[01]{8}$`).MatchString(r.get("cbc:ProfileExecutionID")), "ibr-154-ae")
	rule(r.get("cbc:UUID") != "", "ibr-193-ae")
	for party, id := range map[*element]string{seller: "ibr-143-ae", buyer: "ibr-144-ae"} {
		address := party.all("cac:PostalAddress")[0]
		rule(address.get("cbc:StreetName") != "" && address.get("cbc:CityName") != "" && address.get("cbc:CountrySubentity") != "", id)
		if address.get("cac:Country/cbc:IdentificationCode") == "AE" {
			rule(codelist.Emirates().Has(address.get("cbc:CountrySubentity")), "ibr-128-ae")
			tax := party.get("cac:PartyTaxScheme/cbc:CompanyID")
			rule(tax == "" || regexp.MustCompile(`^1\d{12}03$`).MatchString(tax), "ibr-132-ae")
		}
		registration := party.all("cac:PartyLegalEntity/cbc:CompanyID")
		if len(registration) == 0 {
			continue
		}
		agency, issuer := registration[0].attributes["schemeAgencyID"], registration[0].attributes["schemeAgencyName"]
		rule(agency != "TL" || issuer != "", "ibr-172-ae")
		rule(agency != "PAS" || len(issuer) == 2, "ibr-012-ae")
		rule(agency != "" || party.attribute("cbc:EndpointID", "schemeID") != "0235", "ibr-181-ae")
	}
	rule(seller.attribute("cbc:EndpointID", "schemeID") != "0235" || seller.get("cac:PartyLegalEntity/cbc:CompanyID") != "", "ibr-150-ae")
	rule(commercial || seller.get("cac:PartyTaxScheme/cbc:CompanyID") != "", "ibr-134-ae")
	rule(!commercial || buyer.get("cac:PartyLegalEntity/cbc:CompanyID") != "", "ibr-136-ae")
	tin := buyer.attribute("cbc:EndpointID", "schemeID") != "0235" || regexp.MustCompile(`^1\d{9}$`).MatchString(buyer.get("cbc:EndpointID"))
	rule(tin || buyer.get("cac:PartyTaxScheme/cbc:CompanyID") != "", "ibr-135-ae")
	taxable := slices.ContainsFunc(r.all("Line/cac:Item/cac:ClassifiedTaxCategory/cbc:ID"), func(e *element) bool { return e.text != "E" && e.text != "O" })
	rule(taxable != commercial, "ibr-151-ae")
	if r.name == "Invoice" {
		rule(r.get("cbc:DueDate") != "" || r.value("cac:LegalMonetaryTotal/cbc:PayableAmount").Sign() <= 0, "ibr-127-ae")
		rule(r.get("cac:PaymentMeans/cbc:PaymentMeansCode") != "", "ibr-191-ae")
		rule(r.get("cac:PaymentMeans/cbc:PaymentMeansCode") != "30" || r.get("cac:PaymentMeans/cac:PayeeFinancialAccount/cbc:ID") != "", "ibr-192-ae")
	} else {
		reason := r.get("cac:DiscrepancyResponse/cbc:ResponseCode")
		rule(codelist.CreditReasons().Has(reason), "ibr-001-ae")
		rule((reason == "VD") != (r.get("cac:BillingReference/cac:InvoiceDocumentReference/cbc:ID") != ""), "ibr-055-ae")
	}
	if r.get("cbc:DocumentCurrencyCode") == "AED" {
		rule(r.get("cbc:TaxCurrencyCode") == "", "ibr-077")
		return
	}
	totals := r.all("cac:TaxTotal")
	rule(r.get("cac:TaxExchangeRate/cbc:CalculationRate") != "" && r.get("cac:TaxExchangeRate/cbc:TargetCurrencyCode") == "AED", "ibr-153-ae")
	rule(r.get("cbc:TaxCurrencyCode") == "AED" && len(totals) == 2 && totals[1].attribute("cbc:TaxAmount", "currencyID") == "AED" &&
		r.get("cac:AdditionalDocumentReference/cbc:DocumentTypeCode") == "aedtotal-incl-vat" && r.get("cac:AdditionalDocumentReference/cbc:DocumentDescription") != "", "ibr-175-ae")
	inDirhams := new(big.Rat).Mul(totals[0].value("cbc:TaxAmount"), r.value("cac:TaxExchangeRate/cbc:CalculationRate"))
	rule(within(totals[1].value("cbc:TaxAmount"), inDirhams, 1), "IBT-111")
}

// emiratiLines checks the rules of PINT-AE about lines, and the amounts in dirhams that the official rules do not compute.
func (j *judgement) emiratiLines() {
	rule := func(holds bool, id string) { j.rule(holds, id, "") }
	rate := big.NewRat(1, 1)
	if j.root.get("cac:TaxExchangeRate/cbc:CalculationRate") != "" {
		rate = j.root.value("cac:TaxExchangeRate/cbc:CalculationRate")
	}
	for _, line := range j.root.all("Line") {
		c := line.all("cac:Item/cac:ClassifiedTaxCategory")[0]
		category := c.get("cbc:ID")
		rule(slices.Contains([]string{"S", "Z", "E", "O", "AE", "N"}, category), "ibr-139-ae")
		rule(line.get("cac:Item/cbc:Description") != "", "ibr-125-ae")
		rule(line.get("cac:Price/cac:AllowanceCharge/cbc:BaseAmount") != "" && line.get("cac:Price/cbc:BaseQuantity") != "", "ibr-126-ae")
		rule(category != "S" || c.value("cbc:Percent").Cmp(big.NewRat(5, 1)) == 0, "ibr-190-ae")
		rule(category != "N" || c.value("cbc:Percent").Sign() > 0, "ibr-111-ae")
		rule(category != "E" || codelist.TaxExemptions().Has(c.get("cbc:TaxExemptionReasonCode")), "ibr-167-ae")
		if category == "AE" {
			rule(line.get("cac:Item/cac:CommodityClassification/cbc:NatureCode") != "", "ibr-166-ae")
			rule(line.attribute("cac:Item/cac:StandardItemIdentification/cbc:ID", "schemeID") == "0160", "ibr-174-ae")
			rule(j.root.get("cac:AccountingCustomerParty/cac:Party/cac:PartyTaxScheme/cbc:CompanyID") != "", "ibr-103-ae")
		}
		if scheme := line.all("cac:Item/cac:CommodityClassification/cbc:ItemClassificationCode"); len(scheme) > 0 {
			rule(scheme[0].attributes["listID"] == "HS", "ibr-188-ae")
		}
		extension := line.all("cac:ItemPriceExtension")
		if len(extension) != 1 || extension[0].get("cbc:Amount") == "" {
			rule(false, "ibr-194-ae")
			continue
		}
		shown := extension[0].get("cac:TaxTotal/cbc:TaxAmount") != ""
		rule(shown == (category != "E"), "ibr-163-ae")
		tax := new(big.Rat)
		if category == "S" {
			tax.Mul(line.value("cbc:LineExtensionAmount"), new(big.Rat).Mul(rate, big.NewRat(5, 100)))
		}
		rule(within(extension[0].value("cac:TaxTotal/cbc:TaxAmount"), tax, 1), "BTAE-08")
		rule(within(extension[0].value("cbc:Amount"), tax.Add(tax, new(big.Rat).Mul(line.value("cbc:LineExtensionAmount"), rate)), 2), "BTAE-10")
		rule(binaryLine(line), "ibr-147-ae")
	}
}

// binaryLine is ibr-147-ae as an engine for XPath computes it, in binary floating point.
func binaryLine(line *element) bool {
	number := func(path string) float64 {
		f, err := strconv.ParseFloat(line.get(path), 64)
		if err != nil {
			panic(err)
		}
		return f
	}
	quantity := "cbc:InvoicedQuantity"
	if line.name == "cac:CreditNoteLine" {
		quantity = "cbc:CreditedQuantity"
	}
	round := func(f float64) float64 {
		away := math.Round(f)
		if away-f == -0.5 { // math.Round goes away from zero, XPath up
			return away + 1
		}
		return away
	}
	ratio := number("cac:Price/cbc:PriceAmount") / number("cac:Price/cbc:BaseQuantity")
	product := number(quantity) * ratio
	raw := product * 100
	shown := number("cbc:LineExtensionAmount") * 100
	return round(shown)/100 == round(raw)/100
}
