package client_test

import (
	"context"
	"fmt"

	"quittance/client"
	"quittance/client/api"
)

// An incomplete draft is stored, and the response names the fields that submission requires.
func ExampleClient_CreateInvoice() {
	quittance, stop := connect(map[string]string{
		"POST /api/v1/client/invoices": `{"data":{"id":"inv-1","complete":false,"missing":["due_date"]}}`,
	})
	defer stop()
	// The key makes the call safe to repeat even if the program restarts.
	draft, err := quittance.CreateInvoice(context.Background(), api.Draft{InvoiceNumber: new("INV-2026-0001")},
		client.IdempotencyKey("order-4711"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(draft.ID, draft.Missing)
	// Output: inv-1 [due_date]
}

// A draft is checked and not stored.
func ExampleClient_Preflight() {
	quittance, stop := connect(map[string]string{
		"POST /api/v1/client/invoices/preflight": `{"data":{"complete":false,"missing":["due_date"]}}`,
	})
	defer stop()
	result, err := quittance.Preflight(context.Background(), api.Draft{InvoiceNumber: new("INV-2026-0001")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Complete, result.Missing)
	// Output: false [due_date]
}

// One page of the invoices that need a person.
func ExampleClient_Invoices() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/invoices": `{"data":[{"id":"inv-1"}],"pagination":{"total":1}}`,
	})
	defer stop()
	page, err := quittance.Invoices(context.Background(),
		client.InvoiceQuery{Attention: new(true), Paging: client.Paging{PerPage: 20}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Pagination.Total, page.Data[0].ID)
	// Output: 1 inv-1
}

// An invoice is read with its states.
func ExampleClient_Invoice() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/invoices/inv-1": `{"data":{"id":"inv-1","submitted":true,"receiver_state":"accepted"}}`,
	})
	defer stop()
	invoice, err := quittance.Invoice(context.Background(), "inv-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(invoice.Submitted, *invoice.ReceiverState)
	// Output: true accepted
}

// A field of a draft is changed, and another is removed.
func ExampleClient_PatchInvoice() {
	quittance, stop := connect(map[string]string{
		"PATCH /api/v1/client/invoices/inv-1": `{"data":{"id":"inv-1","due_date":"2026-04-30"}}`,
	})
	defer stop()
	invoice, err := quittance.PatchInvoice(context.Background(),
		"inv-1", map[string]any{"due_date": "2026-04-30", "note": nil})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*invoice.DueDate)
	// Output: 2026-04-30
}

// A draft is deleted.
func ExampleClient_DeleteInvoice() {
	quittance, stop := connect(map[string]string{
		"DELETE /api/v1/client/invoices/inv-1": `{"data":{"id":"inv-1","deleted":true}}`,
	})
	defer stop()
	deleted, err := quittance.DeleteInvoice(context.Background(), "inv-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(deleted.ID, deleted.Deleted)
	// Output: inv-1 true
}

// A complete draft is submitted. The outcome is what the service knows when the call returns.
func ExampleClient_Submit() {
	quittance, stop := connect(map[string]string{
		"POST /api/v1/client/invoices/inv-1/submit": `{"data":{"id":"inv-1","submitted":true,"submission":{"outcome":"unknown"}}}`,
	})
	defer stop()
	invoice, err := quittance.Submit(context.Background(), "inv-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(invoice.Submission.Outcome)
	// Output: unknown
}

// A draft is submitted, and the call waits until the tax authority has reported a state.
func ExampleClient_SubmitAndWait() {
	quittance, stop := connect(map[string]string{
		"POST /api/v1/client/invoices/inv-1/submit": `{"data":{"id":"inv-1","submitted":true,"submission":{"outcome":"acknowledged"},"tax_authority_state":"accepted"}}`,
	})
	defer stop()
	reported := func(i api.Invoice) bool { return i.TaxAuthorityState != nil }
	invoice, err := quittance.SubmitAndWait(context.Background(), "inv-1", reported)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*invoice.TaxAuthorityState)
	// Output: accepted
}

// All submissions of an invoice.
func ExampleClient_Submissions() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/invoices/inv-1/submissions": `{"data":[{"id":"sub-1","outcome":"rejected","current":true}],"pagination":{}}`,
	})
	defer stop()
	page, err := quittance.Submissions(context.Background(), "inv-1", client.Paging{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Data[0].ID, page.Data[0].Outcome)
	// Output: sub-1 rejected
}

// The responses of the provider that the service has retained about an invoice.
func ExampleClient_Evidence() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/invoices/inv-1/evidence": `{"data":[{"id":"ev-1","call":"submit","http_status":200}],"pagination":{}}`,
	})
	defer stop()
	page, err := quittance.Evidence(context.Background(), "inv-1", client.Paging{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Data[0].Call, page.Data[0].HTTPStatus)
	// Output: submit 200
}

// The bytes of one retained response.
func ExampleClient_EvidenceBody() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/evidence/ev-1": `{"data":{"media_type":"application/json","body_base64":"e30="}}`,
	})
	defer stop()
	body, err := quittance.EvidenceBody(context.Background(), "ev-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(body.MediaType, *body.BodyBase64)
	// Output: application/json e30=
}
