// Package providertest is the conformance suite for provider adapters: the promises of every [provider.Adapter],
// whatever its provider. Start reading at [Run].
package providertest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"quittance/internal/document/invoice"
	"quittance/internal/provider"
)

// Control controls the provider behind an adapter. A function is nil if the provider cannot do that.
type Control struct {
	// Advance advances the provider's time by far more than its documents take to become final.
	Advance func()
	// Refusals are the statuses that the provider describes as sent to any request before it reads a document.
	Refusals []int
	// Refuse makes the provider refuse every later call with this HTTP status.
	Refuse func(status int)
	// Break makes the provider read every later call and drop it without a response.
	Break func()
	// Unreach makes the provider unreachable for every later call.
	Unreach func()
	// AddPurchase gives the provider a purchase document, or a new revision of one. An adapter without it carries no
	// purchases.
	AddPurchase func(id string, document []byte)
	// Document returns a complete document of a reference that the provider accepts, and another one for another
	// reference. It is [Document] if nil.
	Document func(reference string) provider.Document
	// ChecksReferences says that the adapter asks only about references that its provider could have.
	ChecksReferences bool
	// Silent says that the provider reports on a document only in its response to the submission: every other response
	// about it is inconclusive.
	Silent bool
}

// document returns the document of a reference.
func (c Control) document(reference string) provider.Document {
	if c.Document != nil {
		return c.Document(reference)
	}
	return Document(reference)
}

// Start returns an adapter to a provider without documents. It ends both with the test.
type Start func(t *testing.T) (provider.Adapter, Control)

// Document returns a complete document for a provider that takes documents without a document format.
func Document(reference string) provider.Document {
	return provider.Document{Reference: reference, Body: fmt.Appendf(nil, `{"reference":%q,"invoice":{`+
		`"invoice_number":"INV-1","recipient_name":"Palm Trading LLC","recipient_network_id":"1234567890",`+
		`"buyer_endpoint_scheme":"0235","buyer_street":"12 Harbour Road","buyer_city":"Dubai","buyer_country":"AE",`+
		`"total_amount":1050.00,"currency":"AED","issue_date":"2026-03-01","due_date":"2026-03-31","payment_means_code":"30",`+
		`"items":[{"item_code":"SKU-7","name":"Consulting","description":"Workshop","unit_code":"HUR","quantity":10,`+
		`"base_quantity":1,"net_unit_price":100.00,"gross_unit_price":110.00,"discount_amount":10.00,`+
		`"vat_category":"S","vat_rate":5}]},"seller":{"legal_name":"Seller LLC"}}`, reference)}
}

// submit makes the calls of one submission, and returns the last response. It takes the steps that responses ask for,
// as package submission does.
func submit(t *testing.T, adapter provider.Adapter, doc provider.Document) provider.Response {
	t.Helper()
	response := adapter.Submit(t.Context(), doc)
	for range adapter.Profile().Steps {
		switch response.Next {
		case provider.NextNone:
			return response
		case provider.NextSubmit:
			report := read(t, adapter, response)
			if report.Status != invoice.Unsent {
				return response
			}
			doc.ProviderReference = report.ProviderReference
			response = adapter.Submit(t.Context(), doc)
		case provider.NextStatus:
			if response.Kind != provider.Inconclusive {
				t.Fatalf("a status query follows %+v", response)
			}
			response = adapter.Status(t.Context(), query(adapter, doc))
		}
	}
	if response.Next != provider.NextNone {
		t.Fatalf("more than %d steps", adapter.Profile().Steps)
	}
	return response
}

// query returns the status query of a document, as package submission makes it.
func query(adapter provider.Adapter, doc provider.Document) provider.Query {
	query := provider.Query{Reference: doc.Reference, ProviderReference: doc.ProviderReference}
	if adapter.Profile().QueriesByContent && doc.ProviderReference == "" {
		query.Body = doc.Body
	}
	return query
}

// repeats reports whether the provider's reports repeat our reference.
func repeats(adapter provider.Adapter) bool { return adapter.Profile().Vocabulary.Reference != "" }

// Run checks that an adapter keeps the promises of [provider.Adapter].
func Run(t *testing.T, start Start) {
	t.Helper()
	for _, c := range []struct {
		name  string
		check func(*testing.T, provider.Adapter, Control)
	}{
		{"a submission is answered with a readable document of its reference", submission},
		{"a repeat of a reference is answered with the document it has", repeat},
		{"racing submissions of one reference make one document", race},
		{"a status says what the submission said, and goes on", status},
		{"a reference that was never submitted is unknown", unknown},
		{"a call that its caller gave up before is not sent", gaveUp},
		{"a refused call is refused", refused},
		{"an unreachable provider was sent nothing", unreachable},
		{"a broken answer is unclear, never more", broken},
		{"purchases are read once by cursor, revisions again", purchases},
		{"odd arguments end no process", odd},
	} {
		t.Run(c.name, func(t *testing.T) {
			adapter, control := start(t)
			c.check(t, adapter, control)
		})
	}
}

// read reads a response that must be a report.
func read(t *testing.T, adapter provider.Adapter, response provider.Response) invoice.Report {
	t.Helper()
	if response.Kind != provider.Complete || response.Truncated || response.Echoed ||
		response.ErrorClass != provider.ClassNone {
		t.Fatalf("want a complete response, got %+v", response)
	}
	if response.Size != int64(len(response.Body)) || len(response.SHA256) != 64 {
		t.Fatalf("size %d and digest %q of a body of %d bytes", response.Size, response.SHA256, len(response.Body))
	}
	report, err := invoice.ReadReport(response.Body, vocabulary(adapter, response))
	if err != nil {
		t.Fatalf("%v: %s", err, response.Body)
	}
	return report
}

// vocabulary returns the table that a response is read with.
func vocabulary(adapter provider.Adapter, response provider.Response) invoice.Vocabulary {
	if response.Vocabulary != nil {
		return *response.Vocabulary
	}
	return adapter.Profile().Vocabulary
}

func submission(t *testing.T, adapter provider.Adapter, control Control) {
	response := submit(t, adapter, control.document("ref-1"))
	report, named := read(t, adapter, response), vocabulary(adapter, response).ProviderReference != ""
	if repeats(adapter) && report.Reference != "ref-1" || named != (report.ProviderReference != "") ||
		report.Status == invoice.Rejected || report.Status == invoice.Unsent {
		t.Fatalf("unexpected report %+v", report)
	}
}

func repeat(t *testing.T, adapter provider.Adapter, control Control) {
	if !adapter.Profile().Idempotent {
		return
	}
	first := read(t, adapter, submit(t, adapter, control.document("ref-1")))
	second := read(t, adapter, submit(t, adapter, control.document("ref-1")))
	other := read(t, adapter, submit(t, adapter, control.document("ref-2")))
	if first.ProviderReference != second.ProviderReference || first.ProviderReference == other.ProviderReference {
		t.Fatalf("provider references %q, %q; of another document %q", first.ProviderReference, second.ProviderReference,
			other.ProviderReference)
	}
}

func race(t *testing.T, adapter provider.Adapter, control Control) {
	if !adapter.Profile().Idempotent {
		return
	}
	responses := make([]provider.Response, 20)
	var group sync.WaitGroup
	for i := range responses {
		group.Go(func() { responses[i] = adapter.Submit(t.Context(), control.document("ref-1")) })
	}
	group.Wait()
	first := read(t, adapter, responses[0])
	for _, response := range responses[1:] {
		if report := read(t, adapter, response); report.ProviderReference != first.ProviderReference {
			t.Fatalf("two documents: %q and %q", first.ProviderReference, report.ProviderReference)
		}
	}
}

func status(t *testing.T, adapter provider.Adapter, control Control) {
	doc := control.document("ref-1")
	submitted := read(t, adapter, submit(t, adapter, doc))
	queries := []provider.Query{query(adapter, doc)} // before and after the provider's reference is recorded
	doc.ProviderReference = submitted.ProviderReference
	queries = append(queries, query(adapter, doc))
	if control.Silent {
		silent(t, adapter, control, queries)
		return
	}
	for _, q := range queries {
		now := read(t, adapter, adapter.Status(t.Context(), q))
		if now.Reference != submitted.Reference || now.ProviderReference == "" || !sameDocument(now, submitted) ||
			now.Sequence < submitted.Sequence {
			t.Fatalf("submitted %+v, status %+v", submitted, now)
		}
	}
	if control.Advance == nil {
		return
	}
	control.Advance()
	final := read(t, adapter, adapter.Status(t.Context(), queries[1]))
	ordered := adapter.Profile().Vocabulary.Sequence != ""
	if !allTerminal(adapter, final) || ordered && final.Sequence <= submitted.Sequence ||
		final.Status != invoice.Accepted {
		t.Fatalf("submitted %+v, at the end %+v", submitted, final)
	}
	if !adapter.Profile().Idempotent {
		return
	}
	if repeated := read(t, adapter, submit(t, adapter, doc)); repeated != final {
		t.Fatalf("a repeat says %+v, the status %+v", repeated, final)
	}
}

// silent checks that a provider that cannot say what it has of a submission is not made to say it, and that polling
// ends only after a response about a document that it has.
func silent(t *testing.T, adapter provider.Adapter, control Control, queries []provider.Query) {
	for _, q := range queries {
		if response := adapter.Status(t.Context(), q); response.Kind != provider.Inconclusive || response.Settled ||
			response.HTTPStatus == 0 {
			t.Fatalf("want inconclusive, got %+v", response)
		}
	}
	control.Advance()
	for n, q := range queries {
		if response := adapter.Status(t.Context(), q); response.Kind != provider.Inconclusive ||
			response.Settled != (n == 1) {
			t.Fatalf("want inconclusive, got %+v", response)
		}
	}
}

// sameDocument reports whether two reports name the same document of the provider, as far as both name one.
func sameDocument(a, b invoice.Report) bool {
	return a.ProviderReference == "" || b.ProviderReference == "" || a.ProviderReference == b.ProviderReference
}

// allTerminal reports whether each dimension that the adapter has a source for is reported, and is terminal if the
// source ever says so.
func allTerminal(adapter provider.Adapter, report invoice.Report) bool {
	v := adapter.Profile().Vocabulary
	for dimension, source := range map[invoice.Dimension]invoice.StatePointers{invoice.DimensionSubmission: v.Submission,
		invoice.DimensionProviderInvoice: v.ProviderInvoice, invoice.DimensionTaxAuthority: v.TaxAuthority,
		invoice.DimensionReceiver: v.Receiver} {
		ends := source.Terminal != "" || len(source.TerminalValues) > 0
		if _, terminal, reported := report.States.Get(dimension); reported != (source.Value != "") || terminal != ends {
			return false
		}
	}
	return true
}

func unknown(t *testing.T, adapter provider.Adapter, control Control) {
	submitted := read(t, adapter, submit(t, adapter, control.document("ref-1")))
	for reference, possible := range map[string]bool{"ref-2": true, "REF-1": true, "ref-1/": false, "ref-1 ": false,
		"%2e": false} {
		want := absent(control)
		if control.ChecksReferences && !possible {
			want = provider.NotSent
		}
		if response := adapter.Status(t.Context(), query(adapter, control.document(reference))); response.Kind != want {
			t.Fatalf("%q: want %s, got %+v", reference, want, response)
		}
		if repeats(adapter) {
			continue
		}
		other := provider.Query{Reference: "ref-1", ProviderReference: submitted.ProviderReference + reference}
		if control.Silent {
			other.Reference = control.document("ref-1").Reference
		}
		if response := adapter.Status(t.Context(), other); response.Kind != absent(control) {
			t.Fatalf("provider reference %q: want %s, got %+v", other.ProviderReference, absent(control), response)
		}
	}
}

// absent returns the kind of a response to a status query about a document that the provider does not have.
func absent(control Control) provider.Kind {
	if control.Silent {
		return provider.Inconclusive
	}
	return provider.UnknownReference
}

func gaveUp(t *testing.T, adapter provider.Adapter, control Control) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for want, ctx := range map[provider.ErrorClass]context.Context{provider.ClassCanceled: canceled,
		provider.ClassTimeout: late} {
		for name, response := range calls(ctx, adapter, control) {
			if response.Kind != provider.NotSent || response.ErrorClass != want || response.HTTPStatus != 0 {
				t.Errorf("%s: want not_sent and %s, got %+v", name, want, response)
			}
		}
	}
	if response := adapter.Status(t.Context(),
		query(adapter, control.document("ref-1"))); response.Kind != absent(control) {
		t.Errorf("a submission that was not sent has arrived: %+v", response)
	}
}

// calls makes one call of each kind that the provider has.
func calls(ctx context.Context, adapter provider.Adapter, control Control) map[string]provider.Response {
	doc := control.document("ref-1")
	prepared := doc
	prepared.ProviderReference = "prepared-1"
	_, recipient := adapter.Recipient(ctx, provider.Participant{Scheme: "0235", ID: "1234567890"})
	responses := map[string]provider.Response{
		"submit":       adapter.Submit(ctx, doc),
		"next submit":  adapter.Submit(ctx, prepared),
		"status":       adapter.Status(ctx, query(adapter, doc)),
		"later status": adapter.Status(ctx, query(adapter, prepared)),
		"recipient":    recipient,
		"check":        adapter.Check(ctx),
	}
	if control.AddPurchase != nil {
		_, responses["purchases"] = adapter.Purchases(ctx, "", 10)
		responses["document"] = adapter.PurchaseDocument(ctx, "purchase-1")
	}
	return responses
}

func refused(t *testing.T, adapter provider.Adapter, control Control) {
	if control.Refuse == nil {
		return
	}
	for _, code := range control.Refusals {
		control.Refuse(code)
		for name, response := range calls(t.Context(), adapter, control) {
			if response.Kind != provider.Refused || response.HTTPStatus != code || response.ErrorClass != provider.ClassNone {
				t.Errorf("%s: want refused by %d, got %+v", name, code, response)
			}
		}
	}
}

func unreachable(t *testing.T, adapter provider.Adapter, control Control) {
	if control.Unreach == nil {
		return
	}
	control.Unreach()
	for name, response := range calls(t.Context(), adapter, control) {
		if response.Kind != provider.NotSent || response.ErrorClass == provider.ClassNone {
			t.Errorf("%s: want not_sent, got %+v", name, response)
		}
	}
}

func broken(t *testing.T, adapter provider.Adapter, control Control) {
	if control.Break == nil {
		return
	}
	control.Break()
	for name, response := range calls(t.Context(), adapter, control) {
		if response.Kind != provider.Ambiguous || response.ErrorClass == provider.ClassNone {
			t.Errorf("%s: want unclear, got %+v", name, response)
		}
	}
}

func purchases(t *testing.T, adapter provider.Adapter, control Control) {
	if page, response := adapter.Purchases(t.Context(), "", 10); response.Kind != provider.Complete ||
		len(page.Purchases) != 0 || page.HasMore {
		t.Fatalf("want an empty page, got %+v %+v", page, response)
	}
	if response := adapter.PurchaseDocument(t.Context(), "nothing"); response.Kind != provider.UnknownReference {
		t.Fatalf("an unknown document: %+v", response)
	}
	if control.AddPurchase == nil {
		return
	}
	want := []string{"one", "zwei/2 ü", "three"}
	for _, id := range want {
		control.AddPurchase(id, []byte("<"+id+"/>"))
	}
	cursor, got := collect(t, adapter, "")
	if !slices.Equal(got, want) {
		t.Fatalf("purchases %q, want %q", got, want)
	}
	if _, again := collect(t, adapter, cursor); len(again) != 0 {
		t.Fatalf("read again after the cursor: %q", again)
	}
	control.AddPurchase(want[1], []byte("revised"))
	if _, revised := collect(t, adapter, cursor); !slices.Equal(revised, want[1:2]) {
		t.Fatalf("after a revision %q", revised)
	}
	for id, document := range map[string]string{"one": "<one/>", "zwei/2 ü": "revised"} {
		response := adapter.PurchaseDocument(t.Context(), id)
		if response.Kind != provider.Complete || !bytes.Equal(response.Body, []byte(document)) {
			t.Fatalf("%s: %+v", id, response)
		}
	}
}

// collect reads purchases one by one from a cursor to the end.
func collect(t *testing.T, adapter provider.Adapter, cursor string) (end string, ids []string) {
	t.Helper()
	for more := true; more; {
		page, response := adapter.Purchases(t.Context(), cursor, 1)
		if response.Kind != provider.Complete || len(page.Purchases) > 1 {
			t.Fatalf("page at %q: %+v %+v", cursor, page, response)
		}
		for _, p := range page.Purchases {
			if p.Unreadable || len(p.Raw) == 0 {
				t.Fatalf("unreadable: %+v", p)
			}
			ids = append(ids, p.ID)
		}
		cursor, more = page.NextCursor, page.HasMore
	}
	return cursor, ids
}

func odd(t *testing.T, adapter provider.Adapter, control Control) {
	if control.Document != nil {
		stranger := control.document("ref-1")
		stranger.Reference = "ref-2"
		if response := adapter.Submit(t.Context(), stranger); response.Kind == provider.Complete {
			t.Errorf("a document of another reference is answered with %+v", response)
		}
	}
	for _, doc := range []provider.Document{
		{}, {Reference: "ref-1"}, {Reference: "ref-1", Body: []byte("{")},
		{Reference: "ref-1", Body: []byte(`{"reference":"ref-2","invoice":{}}`)},
		{Reference: "ref\r\nHost: x", Body: []byte("{}")}, {Body: []byte(`{"reference":"","invoice":{}}`)},
	} {
		if response := adapter.Submit(t.Context(), doc); response.Kind == provider.Complete {
			t.Errorf("%+v is answered with %+v", doc, response)
		}
	}
	for _, limit := range []int{-1, 0, 1 << 40} {
		if _, response := adapter.Purchases(t.Context(), "", limit); response.Kind != provider.Complete {
			t.Errorf("limit %d: %+v", limit, response)
		}
	}
	for _, id := range []string{"", ".", "..", "a/../b", "\x00", "\xff", "?x=1", "#"} {
		for name, response := range map[string]provider.Response{"status": adapter.Status(t.Context(),
			provider.Query{Reference: id}), "document": adapter.PurchaseDocument(t.Context(), id)} {
			if response.Kind == provider.Complete {
				t.Errorf("%s of %q: %+v", name, id, response)
			}
		}
	}
}

// Credential is a credential of every character that a header has to carry, for the tests of adapters.
const Credential = "psk_live/7Zq+Kf-91_Ab.QQ=x"

// Serve serves with a handler until the test ends.
func Serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}
