package purchase

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quittance/api"
	"quittance/internal/provider"
	"quittance/internal/store"
)

// The longest values that are shown, in characters; those of an invoice's creation payload (contract, section 4).
const (
	maxCode      = 64
	maxName      = 256
	maxMediaType = 255
)

func digest(text []byte) [32]byte { return sha256.Sum256(text) }

// read makes of an entry what is shown of it. What has not the form of its field is null; the entry as it came is
// retained with it.
func read(entry *provider.Purchase) store.NewIncoming {
	doc := store.NewIncoming{
		ProviderDocumentID: identifier(entry),
		DocumentType:       text(entry.DocumentType, maxCode),
		InvoiceNumber:      text(entry.InvoiceNumber, maxCode),
		SupplierName:       text(entry.SupplierName, maxName),
		SupplierNetworkID:  text(entry.SupplierNetworkID, maxCode),
		IssueDate:          date(entry.IssueDate),
		DueDate:            date(entry.DueDate),
		Currency:           currency(entry.Currency),
		TotalAmount:        amount(entry.TotalAmount),
		ReceivedAt:         instant(entry.ReceivedAt),
		ClaimedSHA256:      claim(entry.SHA256),
		Metadata:           entry.Raw,
		Withheld:           entry.Echoed,
	}
	if claimed := text(entry.MediaType, maxMediaType); claimed != nil {
		doc.MediaType = *claimed
	}
	if entry.Unreadable || entry.DocumentType != "" && doc.DocumentType == nil {
		return unreadable(doc)
	}
	return doc
}

// unreadable marks a document that could not be read or fetched.
func unreadable(doc store.NewIncoming) store.NewIncoming {
	doc.DocumentType = new(api.DocumentUnreadable)
	return doc
}

// withDocument adds the bytes that were fetched, or of what is too large their digest.
func withDocument(doc store.NewIncoming, answer provider.Response) store.NewIncoming {
	if answer.MediaType != "" {
		doc.MediaType = answer.MediaType
	}
	if answer.Echoed {
		doc.Withheld, doc.MediaType = true, "" // the header may be what holds our credential
	}
	if !answer.Truncated {
		doc.Body, doc.Retained = answer.Body, true
		return doc
	}
	if sum, err := hex.DecodeString(answer.SHA256); err == nil && len(sum) == sha256.Size {
		doc.SHA256, doc.Size = new([32]byte(sum)), new(answer.Size)
	}
	return doc
}

// identifier is what a document goes by: the provider's identifier, or a digest of it when it is no usable text. An
// entry without one goes by its own digest.
func identifier(entry *provider.Purchase) string {
	if usable := text(entry.ID, maxName); usable != nil {
		return *usable
	}
	source := []byte(entry.ID)
	if entry.ID == "" {
		source = entry.Raw
	}
	sum := digest(source)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// text returns a text of 1 to limit characters without control characters; nil for any other.
func text(value string, limit int) *string {
	if value == "" || !utf8.ValidString(value) || utf8.RuneCountInString(value) > limit || strings.ContainsFunc(value, unicode.IsControl) {
		return nil
	}
	return &value
}

// date returns a real date in the form YYYY-MM-DD.
func date(value string) *string {
	if _, err := time.Parse(time.DateOnly, value); err != nil {
		return nil
	}
	return &value
}

// currency returns three capital letters.
func currency(value string) *string {
	if len(value) != 3 || strings.Trim(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return nil
	}
	return &value
}

func amount(value string) *api.Decimal {
	parsed, err := api.ParseDecimal(value)
	if err != nil {
		return nil
	}
	return &parsed
}

// instant returns an RFC 3339 time at the resolution of the database.
func instant(value string) *time.Time {
	parsed, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return nil
	}
	return new(parsed.UTC().Truncate(time.Microsecond))
}

// claim returns the digest that an entry claims, in lower case.
func claim(value string) *string {
	if raw, err := hex.DecodeString(value); err != nil || len(raw) != sha256.Size {
		return nil
	}
	return new(strings.ToLower(value))
}
