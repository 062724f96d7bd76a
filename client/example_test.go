package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"

	"quittance/client"
	"quittance/client/api"
)

// replay starts a server that responds to each path with a text, in place of Quittance.
func replay(responses map[string]string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, found := responses[r.Method+" "+r.URL.Path]
		if !found {
			w.WriteHeader(http.StatusUnprocessableEntity)
			text = `{"error":{"code":"invoice_incomplete","message":"The draft is not complete; see details.","details":{"due_date":[{"rule":"required","message":"is needed for submission"}]}}}`
		}
		if _, err := io.WriteString(w, text); err != nil {
			panic(http.ErrAbortHandler)
		}
	}))
}

// connect returns a client of a server that responds with the given texts, and a function that stops the server.
func connect(responses map[string]string) (quittance *client.Client, stop func()) {
	all := map[string]string{"POST /api/v1/client/auth/login": `{"data":{"token":"token-1","user":{"name":"Olivia"}}}`}
	maps.Copy(all, responses)
	server := replay(all)
	quittance, err := client.New(client.Config{BaseURL: server.URL, Email: "owner@example.com",
		Password: "from your secret store"})
	if err != nil {
		panic(err)
	}
	return quittance, server.Close
}

// A draft becomes a regulated submission, and the program waits for the states that the provider reports.
func Example() {
	server := replay(map[string]string{
		"POST /api/v1/client/auth/login": `{"data":{"token":"token-1"}}`,
		"POST /api/v1/client/invoices":   `{"data":{"id":"inv-1","submitted":false,"complete":true}}`,
		"POST /api/v1/client/invoices/inv-1/submit": `{"data":{"id":"inv-1","submitted":true,"submission":{"outcome":"acknowledged"},
			"submission_state":"accepted_by_provider","provider_invoice_state":"accepted","tax_authority_state":"accepted","receiver_state":"accepted"}}`,
	})
	defer server.Close()
	ctx := context.Background() // with a deadline in your program

	quittance, err := client.New(client.Config{BaseURL: server.URL, Email: "owner@example.com",
		Password: "from your secret store"})
	if err != nil {
		fmt.Println(err)
		return
	}
	number := func(text string) *api.Decimal { return new(api.MustDecimal(text)) }
	draft, err := quittance.CreateInvoice(ctx, api.Draft{
		InvoiceNumber: new("INV-2026-0001"), RecipientName: new("Palm Trading LLC"), RecipientNetworkID: new("1234567890"),
		BuyerEndpointScheme: new("0235"), BuyerStreet: new("12 Harbour Road"), BuyerCity: new("Dubai"),
		BuyerCountry: new("AE"), Currency: new("AED"), IssueDate: new("2026-03-01"), DueDate: new("2026-03-31"),
		PaymentMeansCode: new("30"),
		TotalAmount:      number("1050.00"),
		Items: []api.Item{{ItemCode: new("SKU-7"), Name: new("Consulting"), Description: new("Workshop"),
			UnitCode: new("HUR"), Quantity: number("10"), BaseQuantity: number("1"), GrossUnitPrice: number("110.00"),
			DiscountAmount: number("10.00"), NetUnitPrice: number("100.00"), VATCategory: new("S"), VATRate: number("5")}},
	}, client.IdempotencyKey("order-4711"))
	if err != nil {
		fmt.Println(err)
		return
	}
	invoice, err := quittance.SubmitAndWait(ctx, draft.ID, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if s := invoice.ReceiverState; s != nil {
		fmt.Println("the receiver says", *s)
	}
	// Output: the receiver says accepted
}

// An error of the service, and the response it came in.
func ExampleResponseError() {
	server := replay(map[string]string{"POST /api/v1/client/auth/login": `{"data":{"token":"token-1"}}`})
	defer server.Close()
	quittance, err := client.New(client.Config{BaseURL: server.URL, Email: "owner@example.com",
		Password: "from your secret store"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = quittance.Submit(context.Background(), "inv-1")
	if apiErr, ok := errors.AsType[*api.Error](err); ok && apiErr.Code == api.CodeInvoiceIncomplete {
		for path := range apiErr.Details {
			fmt.Println("missing:", path)
		}
	}
	if response, ok := errors.AsType[*client.ResponseError](err); ok {
		fmt.Println("HTTP", response.Status)
	}
	// Output:
	// missing: due_date
	// HTTP 422
}

// All invoices, page after page.
func ExampleClient_AllInvoices() {
	server := replay(map[string]string{
		"POST /api/v1/client/auth/login": `{"data":{"token":"token-1"}}`,
		"GET /api/v1/client/invoices":    `{"data":[{"id":"inv-2"},{"id":"inv-1"}],"pagination":{"has_more":false}}`,
	})
	defer server.Close()
	quittance, err := client.New(client.Config{BaseURL: server.URL, Email: "owner@example.com",
		Password: "from your secret store"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for invoice, err := range quittance.AllInvoices(context.Background(), client.InvoiceQuery{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(invoice.ID)
	}
	// Output:
	// inv-2
	// inv-1
}
