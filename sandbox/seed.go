package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
	"quittance/internal/exchange/webhook"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/sandbox/fakeprovider"
)

// The content of a sandbox after a reset.
const (
	seededDrafts        = 25
	seededCreditNotes   = 10
	seededIncoming      = 5
	seededSubscriptions = 2
)

// Seed fills a fresh tenant with synthetic data, complete for PINT-AE: drafts, credit-note drafts linked to them,
// webhook subscriptions to the receiver, and incoming e-invoices, whose events are really delivered. It submits
// nothing. It calls trust with the signing secrets of the subscriptions, which are not shown anywhere else.
func Seed(ctx context.Context, tenant *base.Tenant, receiver string, now time.Time, trust func(secret string)) error {
	for n := range seededSubscriptions {
		key, err := webhook.NewSecret(rand.Reader)
		if err != nil {
			return err
		}
		trust(key)
		if _, err := events.CreateSubscription(ctx, tenant, events.NewSubscription{URL: receiver, Events: api.EventKinds[:],
			Description: new([...]string{"Synthetic: bookkeeping", "Synthetic: archive"}[n]),
			Secret:      secret.New(key)}); err != nil {
			return fmt.Errorf("seed a subscription: %w", err)
		}
	}
	var drafts []invoices.Invoice
	for n := range seededDrafts {
		created, err := invoices.Create(ctx, tenant, syntheticDraft(n, now))
		if err != nil {
			return fmt.Errorf("seed a draft: %w", err)
		}
		drafts = append(drafts, created)
	}
	for n := range seededCreditNotes {
		if err := seedCreditNote(ctx, tenant, drafts[2*n], n, now); err != nil {
			return err
		}
	}
	documents, err := syntheticIncoming(now)
	if err != nil {
		return err
	}
	if err := incoming.Seed(ctx, tenant, documents); err != nil {
		return fmt.Errorf("seed the incoming e-invoices: %w", err)
	}
	return nil
}

// seedCreditNote credits a draft, every other one in full.
func seedCreditNote(ctx context.Context, tenant *base.Tenant, credited invoices.Invoice, n int, now time.Time) error {
	request := api.CreditNoteRequest{InvoiceID: new(credited.ID.String()),
		CreditNoteNumber: new(fmt.Sprintf("SYN-CN-%03d", n+1)),
		IssueDate:        new(now.Format(time.DateOnly)), Reason: new("Synthetic credit note of the sandbox."),
		Kind: new(api.CreditFull), ReasonCode: new("DL8.61.1.A")}
	if n%2 == 1 {
		request.ReasonCode = new("DL8.61.1.C")
		request.Kind, request.Items = new(api.CreditPartial),
			[]api.CreditItemRequest{{Position: new(0), Quantity: new(api.MustDecimal("1"))}}
	}
	_, err := invoices.CreateCreditNote(ctx, tenant, credited.ID,
		func(draft *api.Draft, live []invoice.Credit) (invoices.NewCreditNote, error) {
			credit, faults := invoice.NewCredit(draft, live, &request, document.PINTAE.Arithmetic())
			if len(faults) > 0 {
				return invoices.NewCreditNote{}, fmt.Errorf("seed a credit note: %v", faults)
			}
			return invoices.NewCreditNote{Number: *request.CreditNoteNumber, IssueDate: *request.IssueDate,
				Reason: *request.Reason, ReasonCode: request.ReasonCode, Credit: credit}, nil
		})
	return err
}

// syntheticDraft returns the n-th draft, from 0: a fictitious company buys something ordinary.
func syntheticDraft(n int, now time.Time) *api.Draft {
	buyers := [...]string{"Palm Trading LLC", "Dune Logistics FZE", "Creek Hardware LLC", "Oasis Catering LLC",
		"Falcon Printing LLC"}
	goods := [...]struct{ code, name, unit string }{{"SYN-CONS", "Consulting", "HUR"}, {"SYN-PAPER", "Paper, A4", "H87"},
		{"SYN-FRT", "Freight", "E48"}}
	item, quantity, price := goods[n%len(goods)], n%7+2, 50*(n%9+1)
	net := quantity * price
	issued := now.AddDate(0, 0, -n)
	return &api.Draft{
		InvoiceNumber: new(fmt.Sprintf("SYN-%03d", n+1)), RecipientName: new(buyers[n%len(buyers)]),
		RecipientNetworkID: new(strconv.Itoa(1000000100 + n)), BuyerEndpointScheme: new("0235"),
		BuyerStreet: new(strconv.Itoa(n+1) + " Synthetic Road"), BuyerCity: new("Dubai"),
		BuyerSubdivision: new("DXB"), BuyerCountry: new("AE"), TotalAmount: new(api.MustDecimal(cents(105 * net))),
		Currency: new("AED"), IssueDate: new(issued.Format(time.DateOnly)), IssueTime: new("09:30"),
		DueDate: new(issued.AddDate(0, 0, 30).Format(time.DateOnly)), PaymentMeansCode: new("30"),
		Items: []api.Item{{ItemCode: &item.code, Name: &item.name, Description: new("Synthetic line of the sandbox."),
			UnitCode: &item.unit, Quantity: new(api.MustDecimal(strconv.Itoa(quantity))),
			BaseQuantity: new(api.MustDecimal("1")), NetUnitPrice: new(api.MustDecimal(cents(100 * price))),
			GrossUnitPrice: new(api.MustDecimal(cents(100 * price))), DiscountAmount: new(api.MustDecimal("0.00")),
			VATCategory: new("S"), VATRate: new(api.MustDecimal("5"))}},
	}
}

// cents formats a number of hundredths as a decimal.
func cents(n int) string { return fmt.Sprintf("%d.%02d", n/100, n%100) }

// syntheticIncoming returns the purchase documents: five, the first of which has a second revision.
func syntheticIncoming(now time.Time) ([]incoming.NewIncoming, error) {
	var out []incoming.NewIncoming
	for n := range seededIncoming {
		document, err := incomingDocument(n, 1, now)
		if err != nil {
			return nil, err
		}
		out = append(out, document)
	}
	revised, err := incomingDocument(0, 2, now)
	return append(out, revised), err
}

// incomingDocument returns a revision of the n-th purchase document, with metadata as in the provider protocol.
func incomingDocument(n, revision int, now time.Time) (incoming.NewIncoming, error) {
	purchase, document, err := fakeprovider.SyntheticPurchase{ID: fmt.Sprintf("SYN-IN-%03d", n+1),
		Number: fmt.Sprintf("SUP-%03d", n+1), Revision: revision, Hours: 5 * (n + revision),
		Issued: now.AddDate(0, 0, -n-3)}.Render()
	if err != nil {
		return incoming.NewIncoming{}, err
	}
	purchase.ReceivedAt = now.UTC().Truncate(time.Microsecond)
	metadata, err := json.Marshal(purchase)
	if err != nil {
		return incoming.NewIncoming{}, fmt.Errorf("synthetic document: %w", err)
	}
	return incoming.NewIncoming{ProviderDocumentID: purchase.ID, DocumentType: &purchase.DocumentType,
			InvoiceNumber: &purchase.InvoiceNumber, SupplierName: &purchase.SupplierName,
			SupplierNetworkID: &purchase.SupplierNetworkID, IssueDate: &purchase.IssueDate, DueDate: &purchase.DueDate,
			Currency: &purchase.Currency, TotalAmount: purchase.TotalAmount, ReceivedAt: &purchase.ReceivedAt,
			ClaimedSHA256: &purchase.SHA256, MediaType: purchase.MediaType, Metadata: metadata, Body: document, Retained: true},
		nil
}

// awaitDeliveries waits until the tenant's deliveries have ended, or for the time-out; pending deliveries then
// continue.
func awaitDeliveries(ctx context.Context, tenant *base.Tenant, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		pending, err := invoices.PendingDeliveries(ctx, tenant)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil && pending == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(20 * time.Millisecond):
		}
	}
}
