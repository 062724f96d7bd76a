package provider

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// codeUnknownReference is the protocol's error code for a document that the provider does not have.
const codeUnknownReference = "unknown_reference"

var errNotPage = errors.New("provider: not the JSON of the protocol")

// readPage reads the response to GET /v1/purchases. Only the outer object must be valid. An invalid entry is marked and
// kept, so that one bad document does not stop the rest.
func readPage(body []byte, cursor string) (PurchasePage, error) {
	object, unique, err := readObject(body)
	if err != nil || !unique {
		return PurchasePage{}, errNotPage
	}
	entries, err := readArray(object["purchases"])
	if err != nil {
		return PurchasePage{}, err
	}
	page := PurchasePage{NextCursor: cursor, Purchases: make([]Purchase, 0, len(entries))}
	for _, entry := range entries {
		page.Purchases = append(page.Purchases, ReadPurchase(entry))
	}
	next, ok := readString(object["next_cursor"])
	if !ok {
		return PurchasePage{}, errNotPage
	}
	if next != "" {
		page.NextCursor = next
	}
	switch more := object["has_more"]; more.Kind() {
	case 't':
		page.HasMore = page.NextCursor != cursor
	case 'f':
	default:
		return PurchasePage{}, errNotPage
	}
	return page, nil
}

// ReadPurchase reads one entry of a page as far as possible, or an event that announces a received document. The caller
// determines whether the entry echoes the credential.
func ReadPurchase(entry jsontext.Value) Purchase {
	if event, _ := readStorecoveEvent(entry); event.Document != nil {
		return *event.Document
	}
	p := Purchase{Raw: bytes.Clone(entry)}
	fields, unique, err := readObject(entry)
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
		value, ok := readString(fields[name])
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
	object, unique, err := readObject(body)
	if err != nil || !unique {
		return ""
	}
	inner, unique, err := readObject(object["error"])
	if err != nil || !unique {
		return ""
	}
	code, ok := readString(inner["code"])
	if !ok {
		return ""
	}
	return code
}

// lenientDecoder returns a decoder that passes an invalid entry as a raw value. The error appears when the entry is
// read.
func lenientDecoder(value []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// readObject reads the members of a JSON object. unique is false if a name occurs twice. None of its values is then
// returned, because it is unclear which one was meant.
func readObject(value []byte) (fields map[string]jsontext.Value, unique bool, err error) {
	decoder := lenientDecoder(value)
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
	return fields, len(fields) == len(seen), readEnd(decoder)
}

// readArray reads the elements of a JSON array.
func readArray(value []byte) ([]jsontext.Value, error) {
	decoder := lenientDecoder(value)
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
	return out, readEnd(decoder)
}

// readEnd reads the closing token and checks that nothing follows it.
func readEnd(decoder *jsontext.Decoder) error {
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return errNotPage
	}
	return nil
}

// readString reads a JSON string. An absent member and null are "". ok is false for any other value, and for invalid
// UTF-8.
func readString(value jsontext.Value) (text string, ok bool) {
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
