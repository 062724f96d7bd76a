package quittancetest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"quittance/client"
	"quittance/client/api"
	"quittance/client/receiver"
	"quittance/quittancetest"
)

// The functions in this file that docs/testing.md shows are those of the page, to the byte: TestTheTestsOfThePage in
// internal/front/docs.

// billOrder creates the invoice of an order and submits it.
func billOrder(ctx context.Context, quittance *client.Client, order string) (api.Invoice, error) {
	number := func(text string) *api.Decimal { return new(api.MustDecimal(text)) }
	draft, err := quittance.CreateInvoice(ctx, api.Draft{
		InvoiceNumber: &order, ExternalID: &order, Currency: new("AED"), IssueDate: new("2026-03-01"),
		DueDate: new("2026-03-31"), PaymentMeansCode: new("30"), RecipientName: new("Palm Trading LLC"),
		RecipientNetworkID: new("1234567890"), BuyerEndpointScheme: new("0235"), BuyerStreet: new("12 Harbour Road"),
		BuyerCity: new("Dubai"), BuyerCountry: new("AE"), TotalAmount: number("1050.00"),
		Items: []api.Item{{Name: new("Consulting"), UnitCode: new("HUR"), Quantity: number("10"),
			NetUnitPrice: number("100.00"), VATCategory: new("S"), VATRate: number("5")}},
	}, client.IdempotencyKey(order))
	if err != nil {
		return api.Invoice{}, err
	}
	return quittance.Submit(ctx, draft.ID)
}

func TestInvoiceIsSentOnce(t *testing.T) {
	server := quittancetest.Start(t)
	server.Provider().Fail(quittancetest.SubmitCall, quittancetest.DropAfter, 1) // the response is lost
	invoice, err := billOrder(t.Context(), server.Client(), "order-1")
	if err != nil {
		t.Fatal(err)
	}
	server.WaitForInvoice(invoice.ID, client.Final)
	if sent := server.Provider().Documents(); len(sent) != 1 {
		t.Errorf("the provider has %d documents", len(sent))
	}
}

// rejections returns a handler of webhooks that notes the invoices whose receivers reject them.
func rejections(secret string, now func() time.Time, rejected map[string]bool) http.Handler {
	note := func(_ context.Context, event receiver.Event) error {
		var payload api.SubmissionPayload
		if err := json.Unmarshal(event.Payload, &payload); err != nil {
			return err
		}
		rejected[payload.InvoiceNumber] = payload.ReceiverState != nil && *payload.ReceiverState == "rejected"
		return nil
	}
	return receiver.Handler(receiver.Verifier{Secrets: []string{secret}, Now: now}, note)
}

func TestRejectionArrivesAfterAnOutage(t *testing.T) {
	server := quittancetest.Start(t, quittancetest.WithStoppedClock())
	rejected, up := map[string]bool{}, false
	server.Subscribe(func(secret string) http.Handler {
		accept := rejections(secret, server.Now, rejected)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !up {
				panic(http.ErrAbortHandler) // the connection breaks
			}
			accept.ServeHTTP(w, r)
		})
	}, api.EventTerminal)

	server.Provider().Play(quittancetest.RecipientRejectedByReceiver, 1)
	if _, err := billOrder(t.Context(), server.Client(), "order-1"); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		server.Advance(5 * time.Second) // until all states are final
	}
	up = true
	server.Advance(time.Hour) // the next attempt
	if !rejected["order-1"] {
		t.Errorf("the rejection did not arrive: %+v", server.Callbacks())
	}
}
