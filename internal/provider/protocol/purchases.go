package protocol

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"quittance/internal/provider"
	"quittance/internal/provider/httpcall"
)

// codeUnknownReference is the protocol's error code for a document that the provider does not have.
const codeUnknownReference = "unknown_reference"

// readPage reads the response to GET /v1/purchases. Only the outer object must be valid. An invalid entry is marked and
// kept, so that one bad document does not stop the rest.
func readPage(body []byte, cursor string) (provider.PurchasePage, error) {
	object, unique, err := httpcall.ReadObject(body)
	if err != nil || !unique {
		return provider.PurchasePage{}, httpcall.ErrForm
	}
	entries, err := httpcall.ReadArray(object["purchases"])
	if err != nil {
		return provider.PurchasePage{}, err
	}
	page := provider.PurchasePage{NextCursor: cursor, Purchases: make([]provider.Purchase, 0, len(entries))}
	for _, entry := range entries {
		page.Purchases = append(page.Purchases, ReadPurchase(entry))
	}
	next, ok := httpcall.ReadString(object["next_cursor"])
	if !ok {
		return provider.PurchasePage{}, httpcall.ErrForm
	}
	if next != "" {
		page.NextCursor = next
	}
	switch more := object["has_more"]; more.Kind() {
	case 't':
		page.HasMore = page.NextCursor != cursor
	case 'f':
	default:
		return provider.PurchasePage{}, httpcall.ErrForm
	}
	return page, nil
}

// ReadPurchase reads one entry of a page as far as possible. The caller determines whether the entry echoes the
// credential.
func ReadPurchase(entry jsontext.Value) provider.Purchase {
	p := provider.Purchase{Raw: bytes.Clone(entry)}
	fields, unique, err := httpcall.ReadObject(entry)
	if err != nil {
		p.Unreadable = true
		return p
	}
	p.Unreadable = !unique
	for name, target := range map[string]*string{
		"id": &p.ID, "document_type": &p.DocumentType, "invoice_number": &p.InvoiceNumber,
		"supplier_name": &p.SupplierName, "supplier_network_id": &p.SupplierNetworkID,
		"issue_date": &p.IssueDate, "due_date": &p.DueDate, "currency": &p.Currency,
		"sha256": &p.SHA256, "media_type": &p.MediaType, "received_at": &p.ReceivedAt,
	} {
		value, ok := httpcall.ReadString(fields[name])
		if !ok {
			p.Unreadable = true
			continue
		}
		*target = value
	}
	switch amount := fields["total_amount"]; amount.Kind() {
	case '0':
		p.TotalAmount = string(amount)
	case 'n', jsontext.KindInvalid:
	default:
		p.Unreadable = true
	}
	if p.ID == "" {
		p.Unreadable = true
	}
	return p
}

// errorCode returns the code of the protocol's error envelope {"error":{"code"}}, or "" if there is none.
func errorCode(body []byte) string {
	object, unique, err := httpcall.ReadObject(body)
	if err != nil || !unique {
		return ""
	}
	inner, unique, err := httpcall.ReadObject(object["error"])
	if err != nil || !unique {
		return ""
	}
	code, ok := httpcall.ReadString(inner["code"])
	if !ok {
		return ""
	}
	return code
}
