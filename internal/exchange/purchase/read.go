package purchase

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quittance/client/api"
	"quittance/internal/ledger/incoming"
	"quittance/internal/provider"
)

// The longest values that are shown, in characters. They are the same as in the payload that creates an invoice.
const (
	maxCode      = 64
	maxName      = 256
	maxMediaType = 255
)

func digest(text []byte) [32]byte { return sha256.Sum256(text) }

// newIncoming returns what is shown of an entry. A value that does not have the form of its field is null. The entry is
// retained as received.
func newIncoming(entry *provider.Purchase) incoming.NewIncoming {
	doc := incoming.NewIncoming{
		ProviderDocumentID: documentID(entry),
		DocumentType:       validText(entry.DocumentType, maxCode),
		InvoiceNumber:      validText(entry.InvoiceNumber, maxCode),
		SupplierName:       validText(entry.SupplierName, maxName),
		SupplierNetworkID:  validText(entry.SupplierNetworkID, maxCode),
		IssueDate:          validDate(entry.IssueDate),
		DueDate:            validDate(entry.DueDate),
		Currency:           validCurrency(entry.Currency),
		TotalAmount:        validAmount(entry.TotalAmount),
		ReceivedAt:         validTime(entry.ReceivedAt),
		ClaimedSHA256:      validDigest(entry.SHA256),
		Metadata:           entry.Raw,
		Withheld:           entry.Echoed,
	}
	if claimed := validText(entry.MediaType, maxMediaType); claimed != nil {
		doc.MediaType = *claimed
	}
	if entry.Unreadable || entry.DocumentType != "" && doc.DocumentType == nil {
		return markUnreadable(doc)
	}
	return doc
}

// markUnreadable marks a document that could not be read or fetched.
func markUnreadable(doc incoming.NewIncoming) incoming.NewIncoming {
	doc.DocumentType = new(api.DocumentUnreadable)
	return doc
}

// withDocument adds the fetched bytes, or the digest of a document that is too large.
func withDocument(doc incoming.NewIncoming, response provider.Response) incoming.NewIncoming {
	if response.MediaType != "" {
		doc.MediaType = response.MediaType
	}
	if response.Echoed {
		doc.Withheld, doc.MediaType = true, "" // the header may contain our credential
	}
	if !response.Truncated {
		doc.Body, doc.Retained = response.Body, true
		return doc
	}
	if sum, err := hex.DecodeString(response.SHA256); err == nil && len(sum) == sha256.Size {
		doc.SHA256, doc.Size = new([32]byte(sum)), new(response.Size)
	}
	return doc
}

// documentID returns the provider's identifier of a document, or a digest of it if it is not a usable text. For an
// entry without an identifier it returns a digest of the entry.
func documentID(entry *provider.Purchase) string {
	if usable := validText(entry.ID, maxName); usable != nil {
		return *usable
	}
	source := []byte(entry.ID)
	if entry.ID == "" {
		source = entry.Raw
	}
	sum := digest(source)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// validText returns a text of 1 to limit characters without control characters, and nil for any other text.
func validText(value string, limit int) *string {
	if value == "" || !utf8.ValidString(value) || utf8.RuneCountInString(value) > limit ||
		strings.ContainsFunc(value, unicode.IsControl) {
		return nil
	}
	return &value
}

// validDate returns an existing date in the form YYYY-MM-DD, and nil for any other text.
func validDate(value string) *string {
	if _, err := time.Parse(time.DateOnly, value); err != nil {
		return nil
	}
	return &value
}

// validCurrency returns three capital letters, and nil for any other text.
func validCurrency(value string) *string {
	if len(value) != 3 || strings.Trim(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return nil
	}
	return &value
}

// validAmount returns a decimal, and nil for any other text.
func validAmount(value string) *api.Decimal {
	parsed, err := api.ParseDecimal(value)
	if err != nil {
		return nil
	}
	return &parsed
}

// validTime returns an RFC 3339 time at the resolution of the database, and nil for any other text.
func validTime(value string) *time.Time {
	parsed, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return nil
	}
	return new(parsed.UTC().Truncate(time.Microsecond))
}

// validDigest returns a SHA-256 digest in lower case, and nil for any other text.
func validDigest(value string) *string {
	if raw, err := hex.DecodeString(value); err != nil || len(raw) != sha256.Size {
		return nil
	}
	return new(strings.ToLower(value))
}
