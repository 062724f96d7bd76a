// Package providertest is the conformance suite for provider adapters: the promises of every [provider.Adapter],
// whatever its provider. Start reading at [Run].
package providertest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"quittance/internal/invoice"
	"quittance/internal/provider"
)

// Control controls the provider behind an adapter. A function is nil if the provider cannot do that.
type Control struct {
	// Advance advances the provider's time by far more than its documents take to become final.
	Advance func()
	// Refuse makes the provider refuse every later call with this HTTP status.
	Refuse func(status int)
	// Break makes the provider read every later call and drop it without a response.
	Break func()
	// Unreach makes the provider unreachable for every later call.
	Unreach func()
	// AddPurchase gives the provider a purchase document, or a new revision of one.
	AddPurchase func(id string, document []byte)
}

// Start returns an adapter to a provider without documents. It ends both with the test.
type Start func(t *testing.T) (provider.Adapter, Control)

// Document returns a complete document that every provider accepts.
func Document(reference string) provider.Document {
	return provider.Document{Reference: reference, Body: fmt.Appendf(nil, `{"reference":%q,"invoice":{`+
		`"invoice_number":"INV-1","recipient_name":"Palm Trading LLC","recipient_network_id":"1234567890",`+
		`"buyer_endpoint_scheme":"0235","buyer_street":"12 Harbour Road","buyer_city":"Dubai","buyer_country":"AE",`+
		`"total_amount":1050.00,"currency":"AED","issue_date":"2026-03-01","due_date":"2026-03-31","payment_means_code":"30",`+
		`"items":[{"item_code":"SKU-7","name":"Consulting","description":"Workshop","unit_code":"HUR","quantity":10,`+
		`"base_quantity":1,"net_unit_price":100.00,"gross_unit_price":110.00,"discount_amount":10.00,`+
		`"vat_category":"S","vat_rate":5}]},"seller":{"legal_name":"Seller LLC"}}`, reference)}
}

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
	if response.Kind != provider.Complete || response.Truncated || response.Echoed || response.ErrorClass != provider.ClassNone {
		t.Fatalf("want a complete response, got %+v", response)
	}
	if response.Size != int64(len(response.Body)) || len(response.SHA256) != 64 {
		t.Fatalf("size %d and digest %q of a body of %d bytes", response.Size, response.SHA256, len(response.Body))
	}
	report, err := invoice.ReadReport(response.Body, adapter.Profile().Vocabulary)
	if err != nil {
		t.Fatalf("%v: %s", err, response.Body)
	}
	return report
}

func submission(t *testing.T, adapter provider.Adapter, _ Control) {
	report := read(t, adapter, adapter.Submit(t.Context(), Document("ref-1")))
	if report.Reference != "ref-1" || report.ProviderReference == "" || report.Status == invoice.Rejected {
		t.Fatalf("unexpected report %+v", report)
	}
}

func repeat(t *testing.T, adapter provider.Adapter, _ Control) {
	if !adapter.Profile().Idempotent {
		return
	}
	first := read(t, adapter, adapter.Submit(t.Context(), Document("ref-1")))
	second := read(t, adapter, adapter.Submit(t.Context(), Document("ref-1")))
	other := read(t, adapter, adapter.Submit(t.Context(), Document("ref-2")))
	if first.ProviderReference != second.ProviderReference || first.ProviderReference == other.ProviderReference {
		t.Fatalf("provider references %q, %q; of another document %q", first.ProviderReference, second.ProviderReference, other.ProviderReference)
	}
}

func race(t *testing.T, adapter provider.Adapter, _ Control) {
	if !adapter.Profile().Idempotent {
		return
	}
	responses := make([]provider.Response, 20)
	var group sync.WaitGroup
	for i := range responses {
		group.Go(func() { responses[i] = adapter.Submit(t.Context(), Document("ref-1")) })
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
	submitted := read(t, adapter, adapter.Submit(t.Context(), Document("ref-1")))
	now := read(t, adapter, adapter.Status(t.Context(), "ref-1"))
	if now.Reference != "ref-1" || now.ProviderReference != submitted.ProviderReference || now.Sequence < submitted.Sequence {
		t.Fatalf("submitted %+v, status %+v", submitted, now)
	}
	if control.Advance == nil {
		return
	}
	control.Advance()
	final := read(t, adapter, adapter.Status(t.Context(), "ref-1"))
	if !final.States.AllTerminal() || final.Sequence <= submitted.Sequence || final.Status != invoice.Accepted {
		t.Fatalf("submitted %+v, at the end %+v", submitted, final)
	}
	if repeated := read(t, adapter, adapter.Submit(t.Context(), Document("ref-1"))); repeated != final {
		t.Fatalf("a repeat says %+v, the status %+v", repeated, final)
	}
}

func unknown(t *testing.T, adapter provider.Adapter, _ Control) {
	read(t, adapter, adapter.Submit(t.Context(), Document("ref-1")))
	for _, reference := range []string{"ref-2", "ref-1/", "REF-1", "ref-1 ", "%2e"} {
		if response := adapter.Status(t.Context(), reference); response.Kind != provider.UnknownReference {
			t.Fatalf("%q: want unknown_reference, got %+v", reference, response)
		}
	}
}

func gaveUp(t *testing.T, adapter provider.Adapter, _ Control) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for want, ctx := range map[provider.ErrorClass]context.Context{provider.ClassCanceled: canceled, provider.ClassTimeout: late} {
		for name, response := range calls(ctx, adapter) {
			if response.Kind != provider.NotSent || response.ErrorClass != want || response.HTTPStatus != 0 {
				t.Errorf("%s: want not_sent and %s, got %+v", name, want, response)
			}
		}
	}
	if response := adapter.Status(t.Context(), "ref-1"); response.Kind != provider.UnknownReference {
		t.Errorf("a submission that was not sent has arrived: %+v", response)
	}
}

// calls makes one call of each kind.
func calls(ctx context.Context, adapter provider.Adapter) map[string]provider.Response {
	_, page := adapter.Purchases(ctx, "", 10)
	return map[string]provider.Response{
		"submit":    adapter.Submit(ctx, Document("ref-1")),
		"status":    adapter.Status(ctx, "ref-1"),
		"purchases": page,
		"document":  adapter.PurchaseDocument(ctx, "purchase-1"),
	}
}

func refused(t *testing.T, adapter provider.Adapter, control Control) {
	if control.Refuse == nil {
		return
	}
	for _, code := range []int{401, 403, 429} {
		control.Refuse(code)
		for name, response := range calls(t.Context(), adapter) {
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
	for name, response := range calls(t.Context(), adapter) {
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
	for name, response := range calls(t.Context(), adapter) {
		if response.Kind != provider.Ambiguous || response.ErrorClass == provider.ClassNone {
			t.Errorf("%s: want unclear, got %+v", name, response)
		}
	}
}

func purchases(t *testing.T, adapter provider.Adapter, control Control) {
	if page, response := adapter.Purchases(t.Context(), "", 10); response.Kind != provider.Complete || len(page.Purchases) != 0 || page.HasMore {
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

func odd(t *testing.T, adapter provider.Adapter, _ Control) {
	for _, doc := range []provider.Document{
		{}, {Reference: "ref-1"}, {Reference: "ref-1", Body: []byte("{")}, {Reference: "ref-1", Body: []byte(`{"reference":"ref-2","invoice":{}}`)},
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
		for name, response := range map[string]provider.Response{"status": adapter.Status(t.Context(), id), "document": adapter.PurchaseDocument(t.Context(), id)} {
			if response.Kind == provider.Complete {
				t.Errorf("%s of %q: %+v", name, id, response)
			}
		}
	}
}
