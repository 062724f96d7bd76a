package document

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/document/ubl"
)

// MaxReady is the largest document that another program may hand over, in bytes.
const MaxReady = 10 << 20

// Readiness says what keeps a document that another program has made from being submitted.
type Readiness struct {
	// Number is the number of the document, "" if it cannot be read.
	Number string
	// Profile is the document format that the document names, "" if it is none that this service knows.
	Profile Profile
	// Obstacles are the first [MaxObstacles], and More is the number of the others. Without any, the document is ready.
	Obstacles []Obstacle
	More      int
}

// MaxObstacles is how many obstacles of a document are listed.
const MaxObstacles = 100

// Ready tells whether nothing keeps the document from being submitted.
func (r Readiness) Ready() bool { return len(r.Obstacles) == 0 }

// Add adds an obstacle.
func (r *Readiness) Add(o Obstacle) {
	if len(r.Obstacles) == MaxObstacles {
		r.More++
		return
	}
	r.Obstacles = append(r.Obstacles, o)
}

// Obstacle is one thing that keeps a document from being submitted.
type Obstacle struct {
	api.Fault
	// Path is that of a field of the draft, of the company profile after [invoice.SellerPath], or of parsed; "" for the
	// document as a whole.
	Path string
	// Record is the master data in which a value like this is kept.
	Record Record
	// Name names the record: the party, or the item.
	Name string
}

// Field is the path without the positions of lines and entries.
func (o Obstacle) Field() string { return positions.ReplaceAllString(o.Path, "") }

// Record is a kind of master data.
type Record string

// The kinds of master data. What is of none is entered in each invoice.
const (
	NoRecord     Record = ""
	SellerRecord Record = "seller"
	BuyerRecord  Record = "buyer"
	ItemRecord   Record = "item"
)

// The rules of obstacles, beside those of findings and those that package ubl names.
const (
	ruleFormat     = "unsupported_format"
	ruleSelfBilled = "self_billed"
	ruleTooMany    = "max_items"
	ruleNoInvoice  = "no_invoice"
)

// Examine says whether a document in UBL is ready to be submitted as it is. It has to keep the rules that this service
// applies to its own documents, and its figures have to agree. Nothing is stored.
func Examine(document []byte) Readiness {
	if len(document) > MaxReady {
		return Readiness{Obstacles: []Obstacle{whole(ubl.RuleLimit, "The document is larger than 10 MiB.")}}
	}
	read, err := ubl.Read(document)
	if err != nil {
		rule, message := ubl.RuleMalformed, err.Error()
		if own, ok := errors.AsType[*ubl.Error](err); ok {
			rule, message = own.Rule, own.Message
		}
		return Readiness{Obstacles: []Obstacle{whole(rule, message)}}
	}
	said := &read.ParsedDocument
	out := Readiness{Number: text(said.Number)}
	out.Profile, _ = ParseProfile(text(said.Profile))
	switch {
	case said.Type == api.ReceivedSelfBilledInvoice || said.Type == api.ReceivedSelfBilledCreditNote:
		out.Obstacles = []Obstacle{whole(ruleSelfBilled, "The buyer has made the document: its seller cannot submit it.")}
		return out
	case out.Profile == "":
		out.Obstacles = []Obstacle{whole(ruleFormat, "The document is in no document format of this service.")}
		return out
	case said.LineCount > len(said.Lines):
		out.Add(whole(ruleTooMany, fmt.Sprintf("The document has more than %d lines.", len(said.Lines))))
	}
	of, refused := DocumentOf(out.Profile, said)
	if isCreditNote(said) && of.Draft.InvoiceNumber == nil && len(refused["invoice_number"]) == 0 {
		out.Add(whole(ruleNoInvoice, "The credit note does not name the invoice that it credits."))
		of.Draft.InvoiceNumber, of.Draft.IssueDate = said.Number, said.IssueDate
	}
	for _, faults := range [...]api.Faults{said.Warnings, read.Check()} {
		for _, path := range slices.Sorted(maps.Keys(faults)) {
			for _, fault := range faults[path] {
				out.Add(Obstacle{Fault: fault, Path: path})
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(refused)) {
		out.Add(obstacle(of, Finding{Path: path, Fault: refused[path][0]}))
	}
	for _, finding := range Check(out.Profile, of) {
		if path := strings.TrimPrefix(finding.Path, CreditedPath); len(refused[path]) == 0 { // it is not absent
			out.Add(obstacle(of, finding))
		}
	}
	return out
}

// whole is an obstacle of a document as a whole.
func whole(rule, message string) Obstacle {
	return Obstacle{Fault: api.Fault{Rule: rule, Message: message}}
}

// obstacle returns a finding with the master data that it is about.
func obstacle(of Document, f Finding) Obstacle {
	out := Obstacle{Fault: f.Fault, Path: strings.TrimPrefix(f.Path, CreditedPath)}
	field, isItem := strings.CutPrefix(out.Path, "items[")
	switch {
	case strings.HasPrefix(out.Path, invoice.SellerPath):
		out.Record, out.Name = SellerRecord, text(of.Seller.LegalName)
	case slices.ContainsFunc(draftFields, func(f invoice.Field[api.Draft]) bool {
		return f.Name == out.Path && f.Section == "buyer"
	}):
		out.Record, out.Name = BuyerRecord, text(of.Draft.RecipientName)
	case isItem:
		at, name, _ := strings.Cut(field, "].")
		n, err := strconv.Atoi(at)
		if err != nil || n >= len(of.Draft.Items) || isOfLine(name) {
			break
		}
		item := &of.Draft.Items[n]
		out.Record, out.Name = ItemRecord, cmp.Or(text(item.ItemCode), text(item.Name))
	}
	return out
}

// isOfLine tells whether a field of a line changes from invoice to invoice.
func isOfLine(name string) bool {
	field, _, _ := strings.Cut(name, "[")
	group, _, _ := strings.Cut(field, ".")
	return slices.Contains([]string{"quantity", "allowances", "charges", "period", "order_line_reference",
		"order_reference", "lot_number"}, group)
}
