package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/incoming"
	"quittance/tools/load/rig"
)

// syntheticProfile returns a fictitious seller.
func syntheticProfile() api.Profile {
	return api.Profile{LegalName: new("Bench Trading LLC"), Street: new("1 Example Street"), City: new("Dubai"),
		Subdivision: new("DXB"), Country: new("AE"), EndpointScheme: new("0235"), EndpointID: new("1000000000"),
		TaxRegistrationNumber: new("100000000000003"), LegalRegistration: new("EX-000002"), LegalRegistrationType: new("TL"),
		LegalRegistrationAuthority: new("Example Registry"), PayeeAccount: new("AE000000000000000000001"),
		BuyerReference: new("BENCH")}
}

// draftPrefix returns a prefix of invoice numbers that no earlier run has used.
func draftPrefix(now time.Time) string {
	return "BENCH-" + strconv.FormatInt(now.UnixNano(), 36) + "-"
}

// numberDigits is how many digits of a template's number vary.
const numberDigits = 12

// template is a request that contains a number which can be changed in place.
type template struct {
	bytes []byte
	at    int // offset of the digits
}

// errTemplate reports that a request does not contain its number.
var errTemplate = errors.New("the request does not contain its number")

// newTemplate finds prefix and numberDigits zeroes in a request. Each client needs its own template.
func newTemplate(request []byte, prefix string) (template, error) {
	number := append([]byte(prefix), bytes.Repeat([]byte{'0'}, numberDigits)...)
	at := bytes.Index(request, number)
	if at < 0 {
		return template{}, errTemplate
	}
	return template{bytes: bytes.Clone(request), at: at + len(prefix)}, nil
}

// with returns the request with a number, from 0.
func (t template) with(number int64) []byte {
	for n := numberDigits - 1; n >= 0; n-- {
		t.bytes[t.at+n] = byte('0' + number%10)
		number /= 10
	}
	return t.bytes
}

// draftItems is the number of items of a draft of a load.
const draftItems = 10

// draftBody returns the body that creates a draft whose number is prefix and numberDigits zeroes.
func draftBody(prefix string, items int, now time.Time) ([]byte, error) {
	return json.Marshal(rig.Draft(prefix+fmt.Sprintf("%0*d", numberDigits, 0), rig.Ordinary, items, now))
}

// draftTemplate returns the request that creates a draft whose number begins with prefix.
func draftTemplate(t *target, user, items int, prefix string, now time.Time) (template, error) {
	body, err := draftBody(prefix, items, now)
	if err != nil {
		return template{}, err
	}
	return newTemplate(t.request(user, http.MethodPost, invoicesPath, body), prefix)
}

// syntheticIncoming returns the n-th purchase document of a company, which makes an event without a call.
func syntheticIncoming(n int, now time.Time) (incoming.NewIncoming, error) {
	id, number, received := fmt.Sprintf("BENCH-IN-%08d-%d", n, now.UnixNano()), fmt.Sprintf("SUP-%08d", n),
		now.UTC().Truncate(time.Microsecond)
	issued, total := now.Format(time.DateOnly), api.MustDecimal("525.00")
	metadata, err := json.Marshal(map[string]any{"id": id, "document_type": "380", "invoice_number": number,
		"supplier_name": "Synthetic Supplies LLC", "supplier_network_id": "1000000900", "issue_date": issued,
		"currency": "AED", "total_amount": total, "media_type": "application/xml",
		"received_at": received.Format(time.RFC3339Nano)})
	if err != nil {
		return incoming.NewIncoming{}, fmt.Errorf("synthetic document: %w", err)
	}
	return incoming.NewIncoming{ProviderDocumentID: id, DocumentType: new("380"), InvoiceNumber: &number,
			SupplierName: new("Synthetic Supplies LLC"), SupplierNetworkID: new("1000000900"), IssueDate: &issued,
			Currency: new("AED"), TotalAmount: &total, ReceivedAt: &received, MediaType: "application/xml", Metadata: metadata,
			Body: []byte("<Invoice/>"), Retained: true},
		nil
}

// syntheticCallback returns a callback like those of the service.
func syntheticCallback(now time.Time) (sample, error) {
	s := sample{kind: string(api.EventStatusChanged), id: base.ID{1}.String(),
		timestamp: now.UTC().Format(events.TimestampLayout)}
	var err error
	s.body, err = json.Marshal(api.Event[api.SubmissionPayload]{SchemaVersion: api.SchemaVersion, ID: s.id,
		Event: api.EventStatusChanged, ResourceType: api.ResourceSubmission, ResourceID: base.ID{2}.String(),
		OccurredAt: s.timestamp, Payload: api.SubmissionPayload{InvoiceID: base.ID{3}.String(), InvoiceNumber: "BENCH-1"}})
	return s, err
}
