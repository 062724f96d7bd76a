package ubl

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// maxLines is how many lines of a document are shown. All are counted and added up.
const maxLines = 1000

// Document is a document as it was read. Its Warnings are about values that cannot be used; [Document.Check] adds those
// about figures that disagree.
type Document struct {
	api.ParsedDocument
	files  [][]byte // the text of each attachment in the document; nil if it is not embedded
	lines  lineSums
	others others // of the lines
	root   string
}

// lineSums are the sums of all lines, also of those that are not shown.
type lineSums struct {
	net *big.Rat // nil if the amount of a line is absent
	// taxable are the sums by category and rate; nil if a line lacks its category.
	taxable map[taxGroup]*big.Rat
	count   map[taxGroup]int // of lines
}

// taxGroup names a row of the tax breakdown.
type taxGroup struct{ category, rate string }

// roots are the types of documents by their element.
var roots = map[string]string{ //nolint:gochecknoglobals // a constant table
	"Invoice": api.ReceivedInvoice, "CreditNote": api.ReceivedCreditNote,
	"SelfBilledInvoice": api.ReceivedSelfBilledInvoice, "SelfBilledCreditNote": api.ReceivedSelfBilledCreditNote,
}

// Read reads a document. The error is an [*Error]. The document must not change afterwards, because attachments refer
// to it.
func Read(document []byte) (*Document, error) {
	d, err := newDecoder(document)
	if err != nil {
		return nil, err
	}
	root, err := d.root()
	if err != nil {
		return nil, err
	}
	out := &Document{lines: lineSums{net: new(big.Rat), taxable: map[taxGroup]*big.Rat{},
		count: map[taxGroup]int{}}}
	out.Type, out.root = roots[root.Local], root.Local
	r := &reader{warnings: api.Faults{}, currencies: map[string]string{}}
	content, err := d.readContent(func(line *element) bool { return out.addLine(r, line) })
	if err != nil {
		return nil, err
	}
	out.fill(r, content)
	return out, nil
}

// root returns the name of the root element after its start tag.
func (d *decoder) root() (xml.Name, error) {
	for {
		token, err := d.next()
		switch token := token.(type) {
		case xml.StartElement:
			kind, ok := strings.CutSuffix(strings.TrimPrefix(token.Name.Space, namespaceUBL), "-2")
			if !ok || kind != token.Name.Local || roots[kind] == "" || token.Name.Space != namespaceUBL+kind+"-2" {
				return xml.Name{}, &Error{RuleUnsupported, "The document is not an invoice or a credit note in UBL 2."}
			}
			return token.Name, nil
		case xml.CharData:
			if strings.TrimSpace(string(token)) != "" {
				return xml.Name{}, d.fail(RuleMalformed, "The document is not well-formed XML.")
			}
		}
		if errors.Is(err, io.EOF) {
			return xml.Name{}, &Error{RuleUnsupported, "The document has no element."}
		}
		if err != nil {
			return xml.Name{}, err
		}
	}
}

// readContent reads the root element to the end of the document. It calls line with each line, and returns everything
// else.
func (d *decoder) readContent(line func(*element) (kept bool)) (*element, error) {
	content := &element{}
	for {
		token, err := d.next()
		if errors.Is(err, io.EOF) && d.depth == 0 {
			return content, nil
		}
		if err != nil {
			return nil, d.explainEnd(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if d.depth == 1 {
				return nil, d.fail(RuleMalformed, "The document has more than one root element.")
			}
			err = d.readChild(&token, content, line)
		case xml.CharData:
			if d.depth == 0 && strings.TrimSpace(string(token)) != "" {
				err = d.fail(RuleMalformed, "The document continues after its root element.")
			} else if content.text += strings.TrimSpace(string(token)); len(content.text) > maxText {
				err = d.fail(RuleLimit, "The texts of the document are too long.")
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// explainEnd returns the error for a document that ends inside an element, or err.
func (d *decoder) explainEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return d.fail(RuleMalformed, "The document is not complete.")
	}
	return err
}

// readChild reads a child of the root element.
func (d *decoder) readChild(tag *xml.StartElement, content *element, line func(*element) (kept bool)) error {
	tree, texts := d.tree, d.text
	if err := d.readInto(content, tag); err != nil {
		return d.explainEnd(err)
	}
	last := len(content.children) - 1
	child := content.children[last]
	if name := prefixed(tag.Name); name != "cac:InvoiceLine" && name != "cac:CreditNoteLine" {
		return nil
	}
	content.children = content.children[:last]
	d.tree = tree
	if !line(child) {
		d.text = texts
	}
	return nil
}

// fill reads everything but the lines.
func (doc *Document) fill(r *reader, e *element) {
	n := node{in: r, e: e, credit: isCredit(doc.Type)}
	n.document(&doc.ParsedDocument)
	if doc.DueDate == nil { // a credit note has it here
		n.group("cac:PaymentMeans", func(n node) { n.date("cbc:PaymentDueDate", "due_date", &doc.DueDate) })
	}
	doc.Profile, doc.Type = profile(doc.Specification), selfBilled(doc.Type, doc.TypeCode)
	if doc.Lines == nil {
		doc.Lines = []api.ParsedLine{}
	}
	doc.attachments(r, e)
	var others others
	if e.text = strings.TrimSpace(e.text); e.text != "" {
		others.append(&place{name: doc.root}, "", &e.text)
	}
	others.addContent(nil, e)
	doc.Other, doc.OtherCount = others.with(doc.others)
	for currency, at := range r.currencies {
		if doc.Currency != nil && currency != *doc.Currency {
			r.warn(at, "currency", "This amount is in another currency than that of the document.")
		}
	}
	doc.Warnings = r.warnings
}

// isCredit tells whether a type of document is a credit note.
func isCredit(kind string) bool {
	return kind == api.ReceivedCreditNote || kind == api.ReceivedSelfBilledCreditNote
}

// profile returns the name of a known document format.
func profile(specification *string) *string {
	if specification == nil {
		return nil
	}
	switch *specification {
	case "urn:peppol:pint:billing-1@ae-1", "urn:peppol:pint:selfbilling-1@ae-1":
		return new("pint-ae")
	case "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0",
		"urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:selfbilling:3.0":
		return new("bis3")
	}
	return nil
}

// selfBilled returns the type of a document with a type code: the codes 389 and 261 of UNTDID 1001 mean self-billed.
func selfBilled(of string, code *string) string {
	switch {
	case code == nil:
	case of == api.ReceivedInvoice && *code == "389":
		return api.ReceivedSelfBilledInvoice
	case of == api.ReceivedCreditNote && *code == "261":
		return api.ReceivedSelfBilledCreditNote
	}
	return of
}

// addLine counts a line, adds it up, and keeps it if it is among the first. Of the others, it reads only what is added
// up.
func (doc *Document) addLine(r *reader, e *element) (kept bool) {
	n := node{in: r, e: e, at: fmt.Sprintf("lines[%d].", doc.LineCount)}
	var line api.ParsedLine
	doc.LineCount++
	if kept = len(doc.Lines) < maxLines; kept {
		n.line(&line)
		doc.Lines = append(doc.Lines, line)
		doc.others.add(&place{name: e.name, at: doc.LineCount}, e)
	} else {
		n.lineAmounts(&line)
	}
	doc.lines.add(&line)
	return kept
}

// add adds up a line.
func (s *lineSums) add(line *api.ParsedLine) {
	net := rat(line.Net)
	if net == nil {
		*s = lineSums{}
	}
	if s.net != nil {
		s.net.Add(s.net, net)
	}
	if line.VATCategory == nil {
		s.taxable = nil
	}
	if s.taxable == nil {
		return
	}
	group := groupOf(line.VATCategory, line.VATRate)
	if s.taxable[group] == nil {
		if len(s.taxable) == maxEntries {
			s.taxable = nil
			return
		}
		s.taxable[group] = new(big.Rat)
	}
	s.taxable[group].Add(s.taxable[group], net)
	s.count[group]++
}

// groupOf returns the group of a category that is present. Categories without tax may state a rate as information, or
// none, so they are one group each.
func groupOf(category *string, rate *api.Amount) taxGroup {
	group := taxGroup{category: *category}
	if value := rat(orZero(rate)); invoice.Taxed(*category) {
		group.rate = value.RatString()
	}
	return group
}

// rat returns the exact value of a number, and nil for an absent one.
func rat(n *api.Amount) *big.Rat {
	if n == nil {
		return nil
	}
	value, _ := new(big.Rat).SetString(string(*n)) // its form was checked when it was read
	return value
}

// lineAmounts reads what is added up.
func (n node) lineAmounts(l *api.ParsedLine) {
	const category = "cac:Item/cac:ClassifiedTaxCategory/"
	n.amount("cbc:LineExtensionAmount", "net", &l.Net)
	n.text(category+"cbc:ID", "vat_category", &l.VATCategory)
	n.number(category+"cbc:Percent", "vat_rate", &l.VATRate)
}
