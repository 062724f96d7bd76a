package client_test

import (
	"context"
	"fmt"

	"quittance/client"
	"quittance/client/api"
)

// A credit note for a whole invoice.
func ExampleClient_CreateCreditNote() {
	quittance, stop := connect(map[string]string{
		"POST /api/v1/client/credit-notes": `{"data":{"id":"cn-1","total_amount":1050.00}}`,
	})
	defer stop()
	note, err := quittance.CreateCreditNote(context.Background(),
		api.CreditNoteRequest{InvoiceID: new("inv-1"), CreditNoteNumber: new("CN-2026-0001"),
			IssueDate: new("2026-03-15"), Reason: new("The goods were returned."), Kind: new(api.CreditFull)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(note.ID, note.TotalAmount)
	// Output: cn-1 1050.00
}

// The credit notes of an invoice.
func ExampleClient_CreditNotes() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/credit-notes": `{"data":[{"id":"cn-1"}],"pagination":{"total":1}}`,
	})
	defer stop()
	page, err := quittance.CreditNotes(context.Background(), client.CreditNoteQuery{InvoiceID: "inv-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Pagination.Total, page.Data[0].ID)
	// Output: 1 cn-1
}

// A credit note is read.
func ExampleClient_CreditNote() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/credit-notes/cn-1": `{"data":{"id":"cn-1","reason":"The goods were returned."}}`,
	})
	defer stop()
	note, err := quittance.CreditNote(context.Background(), "cn-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(note.Reason)
	// Output: The goods were returned.
}

// The reason of a credit note is changed.
func ExampleClient_PatchCreditNote() {
	quittance, stop := connect(map[string]string{
		"PATCH /api/v1/client/credit-notes/cn-1": `{"data":{"id":"cn-1","reason":"Two hours were not worked."}}`,
	})
	defer stop()
	note, err := quittance.PatchCreditNote(context.Background(),
		"cn-1", map[string]any{"reason": "Two hours were not worked."})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(note.Reason)
	// Output: Two hours were not worked.
}

// A credit note is voided.
func ExampleClient_VoidCreditNote() {
	quittance, stop := connect(map[string]string{
		"POST /api/v1/client/credit-notes/cn-1/void": `{"data":{"id":"cn-1","voided_at":"2026-03-16T08:00:00Z"}}`,
	})
	defer stop()
	note, err := quittance.VoidCreditNote(context.Background(), "cn-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(note.VoidedAt != nil)
	// Output: true
}

// A credit note is submitted, and its history is read.
func ExampleClient_SubmitCreditNote() {
	quittance, stop := connect(map[string]string{
		"POST /api/v1/client/credit-notes/cn-1/submit":     `{"data":{"id":"cn-1","submitted":true,"submission":{"outcome":"acknowledged"}}}`,
		"GET /api/v1/client/credit-notes/cn-1/submissions": `{"data":[{"id":"s-1","credit_note_number":"CN-2026-0001"}],"pagination":{"total":1}}`,
		"GET /api/v1/client/credit-notes/cn-1/evidence":    `{"data":[{"id":"e-1","call":"submit"}],"pagination":{"total":1}}`,
	})
	defer stop()
	ctx := context.Background()
	note, err := quittance.SubmitCreditNote(ctx, "cn-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	submissions, err := quittance.CreditNoteSubmissions(ctx, "cn-1", client.Paging{})
	if err != nil {
		fmt.Println(err)
		return
	}
	evidence, err := quittance.CreditNoteEvidence(ctx, "cn-1", client.Paging{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(note.Submission.Outcome, submissions.Data[0].CreditNoteNumber, evidence.Data[0].Call)
	// Output: acknowledged CN-2026-0001 submit
}

// The latest incoming e-invoices.
func ExampleClient_IncomingInvoices() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/incoming-invoices": `{"data":[{"id":"in-1","revision":2}],"pagination":{}}`,
	})
	defer stop()
	page, err := quittance.IncomingInvoices(context.Background(),
		client.IncomingInvoiceQuery{Paging: client.Paging{PerPage: 20}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Data[0].ID, page.Data[0].Revision)
	// Output: in-1 2
}

// An incoming e-invoice in its latest revision.
func ExampleClient_IncomingInvoice() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/incoming-invoices/in-1": `{"data":{"id":"in-1","revision":2,"supplier_name":"Palm Trading LLC"}}`,
	})
	defer stop()
	invoice, err := quittance.IncomingInvoice(context.Background(), "in-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*invoice.SupplierName, invoice.Revision)
	// Output: Palm Trading LLC 2
}

// The revisions of an incoming e-invoice, oldest first.
func ExampleClient_IncomingRevisions() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/incoming-invoices/in-1/revisions": `{"data":[{"revision":1},{"revision":2}],"pagination":{}}`,
	})
	defer stop()
	page, err := quittance.IncomingRevisions(context.Background(), "in-1", client.Paging{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(page.Data), page.Data[0].Revision)
	// Output: 2 1
}

// The document of the first revision.
func ExampleClient_IncomingDocument() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/incoming-invoices/in-1/revisions/1/document": `{"data":{"media_type":"application/xml","body_base64":"PGEvPg=="}}`,
	})
	defer stop()
	document, err := quittance.IncomingDocument(context.Background(), "in-1", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(document.MediaType, *document.BodyBase64)
	// Output: application/xml PGEvPg==
}

// What the document of an incoming e-invoice says, and its first attachment.
func ExampleClient_IncomingAttachment() {
	quittance, stop := connect(map[string]string{
		"GET /api/v1/client/incoming-invoices/in-1":                           `{"data":{"id":"in-1","revision":2,"parsed":{"totals":{"payable":1050.00},"attachments":[{"id":"1"}]}}}`,
		"GET /api/v1/client/incoming-invoices/in-1/revisions/2/attachments/1": `the bytes of the file`,
	})
	defer stop()
	ctx := context.Background()
	invoice, err := quittance.IncomingInvoice(ctx, "in-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	file, err := quittance.IncomingAttachment(ctx, invoice.ID, invoice.Revision, invoice.Parsed.Attachments[0].ID)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*invoice.Parsed.Totals.Payable, string(file))
	// Output: 1050.00 the bytes of the file
}
