package provider

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// codeUnknownReference is the error code of the protocol for a document the provider does not have.
const codeUnknownReference = "unknown_reference"

var errNotPage = errors.New("provider: not the JSON of the protocol")

// readPage reads the answer of GET /v1/purchases. Only the frame has to be right; an entry that is not is marked and
// kept, so that one bad document does not stop the rest (contract, section 8).
func readPage(body []byte, cursor string) (PurchasePage, error) {
	frame, whole, err := members(body)
	if err != nil || !whole {
		return PurchasePage{}, errNotPage
	}
	entries, err := elements(frame["purchases"])
	if err != nil {
		return PurchasePage{}, err
	}
	page := PurchasePage{NextCursor: cursor, Purchases: make([]Purchase, 0, len(entries))}
	for _, entry := range entries {
		page.Purchases = append(page.Purchases, ReadPurchase(entry))
	}
	next, ok := text(frame["next_cursor"])
	if !ok {
		return PurchasePage{}, errNotPage
	}
	if next != "" {
		page.NextCursor = next
	}
	switch more := frame["has_more"]; more.Kind() {
	case 't':
		page.HasMore = page.NextCursor != cursor
	case 'f':
	default:
		return PurchasePage{}, errNotPage
	}
	return page, nil
}

// ReadPurchase reads one entry of a page as far as it can be read. The caller tells whether it echoes the credential.
func ReadPurchase(entry jsontext.Value) Purchase {
	p := Purchase{Raw: bytes.Clone(entry)}
	fields, whole, err := members(entry)
	if err != nil {
		p.Unreadable = true
		return p
	}
	p.Unreadable = !whole
	for name, target := range map[string]*string{
		"id": &p.ID, "document_type": &p.DocumentType, "invoice_number": &p.InvoiceNumber,
		"supplier_name": &p.SupplierName, "supplier_network_id": &p.SupplierNetworkID,
		"issue_date": &p.IssueDate, "due_date": &p.DueDate, "currency": &p.Currency,
		"sha256": &p.SHA256, "media_type": &p.MediaType, "received_at": &p.ReceivedAt,
	} {
		value, ok := text(fields[name])
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

// errorCode returns the code of the protocol's error envelope {"error":{"code"}}, "" when there is none.
func errorCode(body []byte) string {
	frame, whole, err := members(body)
	if err != nil || !whole {
		return ""
	}
	inner, whole, err := members(frame["error"])
	if err != nil || !whole {
		return ""
	}
	code, ok := text(inner["code"])
	if !ok {
		return ""
	}
	return code
}

// lenient lets an entry with a fault of its own pass as a raw value; the fault shows when the entry is read.
func lenient(value []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// members reads a JSON object. whole is false when a name is there twice: none of its values is then returned, because
// there is no telling which one was meant.
func members(value []byte) (fields map[string]jsontext.Value, whole bool, err error) {
	decoder := lenient(value)
	if opening, err := decoder.ReadToken(); err != nil || opening.Kind() != '{' {
		return nil, false, errors.Join(errNotPage, err)
	}
	fields, seen := map[string]jsontext.Value{}, map[string]bool{}
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, false, err
		}
		key := name.String()
		member, err := decoder.ReadValue()
		if err != nil {
			return nil, false, err
		}
		if seen[key] {
			delete(fields, key)
			continue
		}
		seen[key] = true
		fields[key] = member.Clone()
	}
	return fields, len(fields) == len(seen), ended(decoder)
}

// elements reads a JSON array.
func elements(value []byte) ([]jsontext.Value, error) {
	decoder := lenient(value)
	if opening, err := decoder.ReadToken(); err != nil || opening.Kind() != '[' {
		return nil, errors.Join(errNotPage, err)
	}
	var out []jsontext.Value
	for decoder.PeekKind() != ']' {
		element, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		out = append(out, element.Clone())
	}
	return out, ended(decoder)
}

// ended reads the closing token and makes sure that nothing stands behind it.
func ended(decoder *jsontext.Decoder) error {
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return errNotPage
	}
	return nil
}

// text reads a JSON string; an absent member and null are "". It is not ok for anything else, invalid UTF-8 included.
func text(value jsontext.Value) (string, bool) {
	switch value.Kind() {
	case jsontext.KindInvalid, 'n':
		return "", true
	case '"':
		unquoted, err := jsontext.AppendUnquote(nil, value)
		return string(unquoted), err == nil
	default:
		return "", false
	}
}
