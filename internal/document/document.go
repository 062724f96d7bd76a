package document

import (
	"errors"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/document/ubl"
	"quittance/internal/platform/problem"
)

// Document is an invoice or a credit note.
type Document struct {
	// ID is the permanent identifier of the invoice or credit note in this service, a UUID. It becomes the UUID of the
	// document (BTAE-07), so that the same invoice always has the same one.
	ID string
	// Draft is the invoice; for a credit note, the credited invoice.
	Draft *api.Draft
	// Seller is the company profile; nil is an empty one.
	Seller *api.Profile
	// Credit is the credit note, or nil for an invoice.
	Credit *api.CreditNote
}

// Finding is something that a profile needs and the document does not have. Its path is that of a field of the draft,
// for a credit note of the credit note. Paths of the company profile begin with [invoice.SellerPath], those of a
// credited invoice with [CreditedPath].
type Finding = invoice.Finding

// CreditedPath is the prefix of paths of the invoice that a credit note credits.
const CreditedPath = "invoice."

// Findings are findings in the order of the document.
type Findings []Finding

// Faults returns the findings by path. The result is never nil.
func (f Findings) Faults() api.Faults {
	faults := api.Faults{}
	for _, finding := range f {
		faults[finding.Path] = append(faults[finding.Path], finding.Fault)
	}
	return faults
}

// Paths returns each path once, in the order of the document. The result is never nil.
func (f Findings) Paths() []string {
	paths, seen := []string{}, map[string]bool{}
	for _, finding := range f {
		if !seen[finding.Path] {
			seen[finding.Path] = true
			paths = append(paths, finding.Path)
		}
	}
	return paths
}

// IncompleteError says that a document lacks something that its profile needs.
type IncompleteError struct {
	Findings Findings
}

// Error names the paths.
func (e *IncompleteError) Error() string {
	return "document: not complete: " + strings.Join(e.Findings.Paths(), ", ")
}

// ErrIncomplete is the kind of an [IncompleteError].
var ErrIncomplete = problem.Named("incomplete_document", api.CodeInvoiceIncomplete, "the document is not complete")

// Describe returns the problem with what is missing.
func (e *IncompleteError) Describe() *problem.Problem {
	return ErrIncomplete.WithFaults(e.Findings.Faults())
}

// Check returns what a document lacks for a profile; it is empty for a complete one. The draft must have the form that
// the API requires at creation ([invoice.Faults] and the tags of [api.Draft]), and a credit note must be one that
// [invoice.NewCredit] has made of it. Fields that the document does not carry are not checked.
func Check(p Profile, d Document) Findings {
	c := newChecker(p, d)
	c.required()
	c.texts()
	c.parties()
	c.references()
	c.documentType()
	c.taxCurrency()
	c.groups()
	c.entries()
	c.checkLines()
	c.checkAllowances()
	c.contradictions()
	switch p {
	case PINTAE:
		c.pintAE()
	case BIS3:
		c.bis3()
	}
	c.totals()
	return c.findings
}

// Needs returns what a document lacks for submission in a profile. "" is no profile: submission then needs what
// [invoice.Needs] names, which every profile needs too. A credit note then needs only the fields of its invoice, so
// that an invoice that the provider has accepted with a contradiction can be credited.
func Needs(p Profile, d Document) Findings {
	if p != "" {
		return Check(p, d)
	}
	if d.Credit == nil {
		return invoice.Needs(d.Draft)
	}
	var findings Findings
	for _, path := range invoice.Missing(d.Draft) {
		findings = append(findings, Finding{Path: CreditedPath + path,
			Fault: api.Fault{Rule: ruleRequired, Message: "is needed for submission"}})
	}
	return findings
}

// Totals returns the totals of the document, the total without the rounding that its author states. Each is nil if it
// cannot be computed.
func Totals(p Profile, d Document) api.Computed {
	if d.Credit == nil {
		return p.Arithmetic().Compute(d.Draft).Wire()
	}
	m, ok := compute(p, d)
	if !ok {
		return api.Computed{}
	}
	return m.sums.Totals().Wire()
}

var errNoID = errors.New("document: no identifier")

// Write returns the document as XML in UTF-8. It returns an [IncompleteError] if the document is not complete.
func Write(p Profile, d Document) ([]byte, error) {
	if d.ID == "" {
		return nil, errNoID
	}
	if findings := Check(p, d); len(findings) > 0 {
		return nil, &IncompleteError{Findings: findings}
	}
	m, _ := compute(p, d) // a complete document can be computed
	return ubl.Write(m.statement()), nil
}

// seller is the company profile, never nil.
func (d Document) seller() *api.Profile {
	if d.Seller == nil {
		return &api.Profile{}
	}
	return d.Seller
}

// stated returns the total with tax that the author of the document states, "" if there is none, and how many roundings
// beside those of its lines explain a difference to the computed one.
func (d Document) stated() (total string, roundings int) {
	switch {
	case d.Credit == nil:
		return number(d.Draft.TotalAmount), 0
	case d.Credit.Kind == api.CreditFull:
		return string(d.Credit.TotalAmount), 0
	}
	return string(d.Credit.TotalAmount), invoice.CreditRoundings(d.Draft)
}

// text returns an optional text without surrounding white space, "" if it is absent. No document has empty elements, so
// that a text of white space is an absent one.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return strings.TrimSpace(*s)
}

// number returns the text of an optional number, "" if it is absent.
func number(d *api.Decimal) string {
	if d == nil {
		return ""
	}
	return d.String()
}
