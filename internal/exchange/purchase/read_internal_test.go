package purchase

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"quittance/internal/provider"
)

// FuzzRead checks that the result has the form that the store and the API promise, for any entry.
func FuzzRead(f *testing.F) {
	f.Add("id", "invoice", "N-1", "Söhne", "1", "2026-03-01", "2026-03-31", "AED", "10.00", strings.Repeat("ab", 32),
		"application/xml", "2026-03-01T00:00:00Z", []byte("{}"), false)
	f.Add("\x00", "\xff", strings.Repeat("x", 300), "\u0085", "\n", "2026-02-30", "0000-00-00", "aed", "1e99", "zz",
		"\x7f", "now", []byte{}, true)
	f.Fuzz(func(t *testing.T, id, kind, number, supplier, network, issued, due, money, total, sum, media, received string,
		raw []byte, broken bool) {
		doc := newIncoming(&provider.Purchase{ID: id, DocumentType: kind, InvoiceNumber: number, SupplierName: supplier,
			SupplierNetworkID: network, IssueDate: issued, DueDate: due, Currency: money, TotalAmount: total, SHA256: sum,
			MediaType: media, ReceivedAt: received, Raw: raw, Unreadable: broken})
		for limit, values := range map[int][]*string{
			maxCode:      {doc.DocumentType, doc.InvoiceNumber, doc.SupplierNetworkID, doc.ClaimedSHA256},
			maxName:      {doc.SupplierName, &doc.ProviderDocumentID},
			maxMediaType: {&doc.MediaType},
			10:           {doc.IssueDate, doc.DueDate},
			3:            {doc.Currency},
		} {
			for _, value := range values {
				if value == nil {
					continue
				}
				if !utf8.ValidString(*value) || utf8.RuneCountInString(*value) > limit ||
					strings.ContainsFunc(*value, unicode.IsControl) {
					t.Errorf("a value of at most %d characters is %q", limit, *value)
				}
			}
		}
		if doc.ProviderDocumentID == "" {
			t.Error("no identifier")
		}
		if broken && (doc.DocumentType == nil || *doc.DocumentType != "unreadable") {
			t.Error("an entry that cannot be read does not have the type unreadable")
		}
		for _, day := range []*string{doc.IssueDate, doc.DueDate} {
			if day != nil {
				if _, err := time.Parse(time.DateOnly, *day); err != nil {
					t.Errorf("%q is no date", *day)
				}
			}
		}
		if doc.ClaimedSHA256 != nil {
			if _, err := hex.DecodeString(*doc.ClaimedSHA256); err != nil ||
				*doc.ClaimedSHA256 != strings.ToLower(*doc.ClaimedSHA256) {
				t.Errorf("%q is no digest", *doc.ClaimedSHA256)
			}
		}
		if doc.TotalAmount != nil && doc.TotalAmount.IsZero() || doc.Retained || doc.SHA256 != nil ||
			string(doc.Metadata) != string(raw) {
			t.Errorf("read as %+v", doc)
		}
	})
}
