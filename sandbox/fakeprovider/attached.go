package fakeprovider

import (
	"math/big"
	"mime"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/ubl"
	"quittance/sandbox/rules"
)

// attached is the document of a submission over a connection with a profile: the regulated document itself, in UBL.
type attached struct {
	Profile   string `json:"profile"` // the name of the format
	MediaType string `json:"media_type"`
	Body      []byte `json:"body_base64"`
	SHA256    string `json:"sha256"` // of the decoded bytes, in lower-case hexadecimal
}

// LedgerAttachment describes the document that came with a submission. Its bytes are in the body of the submission.
type LedgerAttachment struct {
	// MediaType is application/xml.
	MediaType string `json:"media_type"`
	// SHA256 is the digest of the document in hexadecimal, and Size its length in bytes.
	SHA256 string `json:"sha256"`
	Size   int    `json:"size"`
	// Profile is the format that the document names, "" if the provider sandbox does not know it.
	Profile rules.Profile `json:"profile"`
}

// complete reports whether a document arrived as it was sent: it has bytes, a media type of XML, and their digest.
func (a *attached) complete() bool {
	media, _, err := mime.ParseMediaType(a.MediaType)
	return err == nil && media == "application/xml" && len(a.Body) > 0 && a.SHA256 == digest(a.Body)
}

// judge validates a document as a provider does: by the rules of the format that it names, and against the invoice that
// came with it. A document without messages is accepted.
func (a *attached) judge(invoice *api.Draft) (rules.Profile, []Message) {
	profile, findings := rules.Judge(a.Body)
	var messages []Message
	for _, f := range findings {
		messages = append(messages, Message{Code: f.Rule, Text: f.Location + ": " + f.Text})
	}
	document, err := ubl.Read(a.Body)
	if err != nil {
		if len(messages) == 0 {
			messages = append(messages, Message{Code: rules.RuleXML, Text: "/: The document cannot be read."})
		}
		return profile, messages
	}
	if profile != "" && a.Profile != string(profile) {
		messages = append(messages, Message{Code: "SANDBOX-MISMATCH",
			Text: "document.profile: is not the format that the document names"})
	}
	return profile, append(messages, disagreements(&document.ParsedDocument, invoice)...)
}

// disagreements compares a document with the invoice that came with it.
func disagreements(document *api.ParsedDocument, invoice *api.Draft) []Message {
	var messages []Message
	compare := func(field string, inDocument, inInvoice *string) {
		// The reader of documents replaces each run of white space by one space.
		if value(inDocument) != strings.Join(strings.Fields(value(inInvoice)), " ") {
			messages = append(messages, Message{Code: "SANDBOX-MISMATCH",
				Text: field + ": differs between the document and the invoice"})
		}
	}
	compare("invoice_number", document.Number, invoice.InvoiceNumber)
	compare("currency", document.Currency, invoice.Currency)
	compare("recipient_network_id", document.Buyer.NetworkID, invoice.RecipientNetworkID)
	compare("buyer_endpoint_scheme", document.Buyer.EndpointScheme, invoice.BuyerEndpointScheme)
	if !sameTotal(document, invoice) {
		messages = append(messages, Message{Code: "SANDBOX-MISMATCH",
			Text: "total_amount: differs from the amount due of the document"})
	}
	return messages
}

// sameTotal reports whether the amount due of a document is the total of the invoice.
func sameTotal(document *api.ParsedDocument, invoice *api.Draft) bool {
	if document.Totals.Payable == nil || invoice.TotalAmount == nil {
		return document.Totals.Payable == nil && invoice.TotalAmount == nil
	}
	payable, ok := new(big.Rat).SetString(string(*document.Totals.Payable))
	total, valid := new(big.Rat).SetString(invoice.TotalAmount.String())
	return ok && valid && payable.Cmp(total) == 0
}
