package client_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"quittance/client"
	"quittance/client/api"
)

const (
	one  = `{"data":{"id":"x","secret":"whsec_1","key":"qk_sandbox_1","url":"https://x.example"}}`
	many = `{"data":[{"id":"x"}],"pagination":{"current_page":1,"next_cursor":"7","has_more":true}}`
)

// TestOperations checks the request of every operation, and that its response is read.
func TestOperations(t *testing.T) {
	const random = "01ab01ab01ab01ab01ab01ab01ab01ab"
	const v1, hooks = "/prefix/api/v1/client", "/prefix/api/v1/webhooks"
	page := client.Paging{Page: 3, PerPage: 10}
	key := client.IdempotencyKey("order-4711")
	for name, test := range map[string]struct {
		call     func(context.Context, *client.Client) (any, error)
		response string
		want     exchange
	}{
		"account": {func(ctx context.Context, c *client.Client) (any, error) { return c.Account(ctx) }, one,
			exchange{method: "GET", path: v1 + "/account"}},
		"create an API key": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateAPIKey(ctx, api.APIKeyRequest{Name: new("ERP"), Scopes: []string{"read"}})
		}, one, exchange{method: "POST", path: v1 + "/api-keys", key: random, body: `"scopes":["read"]`}},
		"second factor": {func(ctx context.Context, c *client.Client) (any, error) {
			state, err := c.SecondFactor(ctx)
			return state.RecoveryCodesLeft, err
		}, `{"data":{"recovery_codes_left":1}}`, exchange{method: "GET", path: v1 + "/auth/second-factor"}},
		"begin TOTP": {func(ctx context.Context, c *client.Client) (any, error) {
			begun, err := c.BeginTOTP(ctx)
			return len(begun.Secret), err
		}, `{"data":{"secret":"A"}}`, exchange{method: "POST", path: v1 + "/auth/totp"}},
		"confirm TOTP": {func(ctx context.Context, c *client.Client) (any, error) {
			codes, err := c.ConfirmTOTP(ctx, "287082", "ab2d")
			return len(codes.RecoveryCodes), err
		}, `{"data":{"recovery_codes":["a"]}}`, exchange{method: "POST", path: v1 + "/auth/totp/confirm",
			body: `{"code":"287082","otp":"ab2d"}`}},
		"replace recovery codes": {func(ctx context.Context, c *client.Client) (any, error) {
			codes, err := c.ReplaceRecoveryCodes(ctx, "287082")
			return len(codes.RecoveryCodes), err
		}, `{"data":{"recovery_codes":["a"]}}`, exchange{method: "POST", path: v1 + "/auth/totp/recovery-codes",
			body: `"otp":"287082"`}},
		"disable TOTP": {func(ctx context.Context, c *client.Client) (any, error) {
			done, err := c.DisableTOTP(ctx, "287082")
			return map[bool]int{true: 1}[done.Disabled], err
		}, `{"data":{"disabled":true}}`, exchange{method: "POST", path: v1 + "/auth/totp/disable", body: `"otp":"287082"`}},
		"reset a second factor": {func(ctx context.Context, c *client.Client) (any,
			error) {
			return c.ResetSecondFactor(ctx, "x", key)
		}, one,
			exchange{method: "POST", path: v1 + "/users/x/second-factor/reset", key: "order-4711"}},
		"list sessions": {func(ctx context.Context, c *client.Client) (any, error) { return c.Sessions(ctx, "u/1", page) },
			many,
			exchange{method: "GET", path: v1 + "/sessions", query: "page=3&per_page=10&user_id=u%2F1"}},
		"end session": {func(ctx context.Context, c *client.Client) (any, error) { return c.EndSession(ctx, "x", key) }, one,
			exchange{method: "POST", path: v1 + "/sessions/x/end", key: "order-4711"}},
		"end other sessions": {func(ctx context.Context, c *client.Client) (any,
			error) {
			return c.EndOtherSessions(ctx, key)
		}, `{"data":{"ended":1}}`,
			exchange{method: "POST", path: v1 + "/sessions/end-others", key: "order-4711"}},
		"list API keys": {func(ctx context.Context, c *client.Client) (any, error) { return c.APIKeys(ctx, page) }, many,
			exchange{method: "GET", path: v1 + "/api-keys", query: "page=3&per_page=10"}},
		"revoke an API key": {func(ctx context.Context, c *client.Client) (any,
			error) {
			return c.RevokeAPIKey(ctx, "x", key)
		}, one,
			exchange{method: "POST", path: v1 + "/api-keys/x/revoke", key: "order-4711"}},
		"create": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateInvoice(ctx, api.Draft{InvoiceNumber: new("INV-1"), TotalAmount: new(api.MustDecimal("10.00"))})
		}, one, exchange{method: "POST", path: v1 + "/invoices", key: random, body: `"total_amount":10.00,`}},
		"create under a key": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateInvoice(ctx, api.Draft{}, key)
		}, one,
			exchange{method: "POST", path: v1 + "/invoices", key: "order-4711", body: `"items":null`}},
		"import": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.ImportInvoices(ctx, []byte("invoice_number\n"), key)
		}, `{"data":{"valid":true,"drafts":1}}`, exchange{method: "POST", path: v1 + "/invoices/import", key: "order-4711",
			contentType: "text/csv", body: "invoice_number\n"}},
		"check an import": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.CheckImport(ctx, []byte("PK\x03\x04"))
		}, `{"data":{"valid":true,"drafts":1}}`, exchange{method: "POST", path: v1 + "/invoices/import",
			query: "dry_run=true", contentType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
			body: "PK\x03\x04"}},
		"import a worksheet": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.ImportInvoices(ctx, []byte("PK\x03\x04"), client.Sheet("March & April"))
		}, `{"data":{"valid":true,"drafts":1}}`, exchange{method: "POST", path: v1 + "/invoices/import", key: random,
			query: "sheet=March+%26+April", contentType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
			body: "PK\x03\x04"}},
		"check a worksheet": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.CheckImport(ctx, []byte("PK\x03\x04"), client.Sheet("March"))
		}, `{"data":{"valid":true,"drafts":1}}`, exchange{method: "POST", path: v1 + "/invoices/import",
			query: "dry_run=true&sheet=March", contentType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
			body: "PK\x03\x04"}},
		"preflight": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.Preflight(ctx, api.Draft{InvoiceNumber: new("INV-1")})
		}, one, exchange{method: "POST", path: v1 + "/invoices/preflight", body: `"invoice_number":"INV-1"`}},
		"list": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.Invoices(ctx, client.InvoiceQuery{})
		}, many,
			exchange{method: "GET", path: v1 + "/invoices"}},
		"list, filtered": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.Invoices(ctx, client.InvoiceQuery{Paging: page, InvoiceNumber: "A&B", Submitted: new(false),
				SubmissionState: "a", ProviderInvoiceState: "b", TaxAuthorityState: "c", ReceiverState: "d", ExternalID: "k",
				RecipientName: "Ö", IssueDateFrom: "2026-01-01", IssueDateTo: "2026-01-31",
				UpdatedSince: time.Unix(0, 1000).In(time.FixedZone("", 3600)), Attention: new(true),
				Sort: "-total_amount"})
		}, many, exchange{method: "GET", path: v1 + "/invoices",
			query: "attention=true&external_id=k&invoice_number=A%26B&issue_date_from=2026-01-01" +
				"&issue_date_to=2026-01-31&page=3&per_page=10&provider_invoice_state=b&receiver_state=d&recipient_name=%C3%96&sort=-total_amount" +
				"&submission_state=a&submitted=false&tax_authority_state=c&updated_since=1970-01-01T00%3A00%3A00.000001Z"}},
		"read": {func(ctx context.Context, c *client.Client) (any, error) { return c.Invoice(ctx, "a/b?c") }, one,
			exchange{method: "GET", path: v1 + "/invoices/a%2Fb%3Fc"}},
		"patch": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.PatchInvoice(ctx, "x", map[string]any{"due_date": nil, "total_amount": api.MustDecimal("10.50")})
		}, one, exchange{method: "PATCH", path: v1 + "/invoices/x", key: random,
			body: `{"due_date":null,"total_amount":10.50}`}},
		"delete": {func(ctx context.Context, c *client.Client) (any, error) { return c.DeleteInvoice(ctx, "x") }, one,
			exchange{method: "DELETE", path: v1 + "/invoices/x"}},
		"submit": {func(ctx context.Context, c *client.Client) (any, error) { return c.Submit(ctx, "x") }, one,
			exchange{method: "POST", path: v1 + "/invoices/x/submit"}},
		"preflight for a format": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.PreflightFor(ctx, api.Draft{InvoiceNumber: new("INV-1")}, "pint-ae")
		}, one, exchange{method: "POST", path: v1 + "/invoices/preflight", query: "profile=pint-ae",
			body: `"invoice_number":"INV-1"`}},
		"recipient": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.LookUpRecipient(ctx, "0235", "1234567890")
		}, `{"data":{"found":true,"profiles":["pint-ae"]}}`,
			exchange{method: "POST", path: v1 + "/recipients/lookup", body: `{"scheme":"0235","id":"1234567890"}`}},
		"document of an invoice": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.InvoiceDocument(ctx, "x", "pint-ae")
		}, one, exchange{method: "GET", path: v1 + "/invoices/x/document", query: "profile=pint-ae"}},
		"document of a credit note": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreditNoteDocument(ctx, "x", "bis3")
		}, one, exchange{method: "GET", path: v1 + "/credit-notes/x/document", query: "profile=bis3"}},
		"PDF of an invoice": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.InvoicePDF(ctx, "x", "pint-ae")
		}, one, exchange{method: "GET", path: v1 + "/invoices/x/document.pdf", query: "profile=pint-ae"}},
		"PDF of a credit note": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreditNotePDF(ctx, "x", "")
		}, one, exchange{method: "GET", path: v1 + "/credit-notes/x/document.pdf"}},
		"PDF of an incoming e-invoice": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.IncomingPDF(ctx, "x")
		}, one, exchange{method: "GET", path: v1 + "/incoming-invoices/x/document.pdf"}},
		"PDF of a revision": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.IncomingRevisionPDF(ctx, "x", 2)
		}, one, exchange{method: "GET", path: v1 + "/incoming-invoices/x/revisions/2/document.pdf"}},
		"submissions": {func(ctx context.Context, c *client.Client) (any, error) { return c.Submissions(ctx, "x", page) },
			many,
			exchange{method: "GET", path: v1 + "/invoices/x/submissions", query: "page=3&per_page=10"}},
		"evidence": {func(ctx context.Context, c *client.Client) (any, error) { return c.Evidence(ctx, "x", page) }, many,
			exchange{method: "GET", path: v1 + "/invoices/x/evidence", query: "page=3&per_page=10"}},
		"evidence body": {func(ctx context.Context, c *client.Client) (any, error) { return c.EvidenceBody(ctx, "x") }, one,
			exchange{method: "GET", path: v1 + "/evidence/x"}},
		"create a credit note": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateCreditNote(ctx, api.CreditNoteRequest{InvoiceID: new("x"), Kind: new(api.CreditFull)})
		}, one, exchange{method: "POST", path: v1 + "/credit-notes", key: random, body: `"kind":"full"`}},
		"list credit notes": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreditNotes(ctx, client.CreditNoteQuery{Paging: page, InvoiceID: "x", IssueDateFrom: "2026-03-01",
				IssueDateTo: "2026-03-31"})
		}, many, exchange{method: "GET", path: v1 + "/credit-notes",
			query: "invoice_id=x&issue_date_from=2026-03-01&issue_date_to=2026-03-31&page=3&per_page=10"}},
		"read a credit note": {func(ctx context.Context, c *client.Client) (any, error) { return c.CreditNote(ctx, "x") },
			one,
			exchange{method: "GET", path: v1 + "/credit-notes/x"}},
		"change a credit note": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.PatchCreditNote(ctx, "x", map[string]any{"reason_code": nil})
		}, one, exchange{method: "PATCH", path: v1 + "/credit-notes/x", key: random, body: `{"reason_code":null}`}},
		"void a credit note": {func(ctx context.Context, c *client.Client) (any,
			error) {
			return c.VoidCreditNote(ctx, "x", key)
		}, one,
			exchange{method: "POST", path: v1 + "/credit-notes/x/void", key: "order-4711"}},
		"list incoming": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.IncomingInvoices(ctx, client.IncomingInvoiceQuery{Paging: page, IssueDateFrom: "2026-03-01",
				IssueDateTo: "2026-03-31", UpdatedSince: time.Unix(1, 0)})
		}, many, exchange{method: "GET", path: v1 + "/incoming-invoices",
			query: "issue_date_from=2026-03-01&issue_date_to=2026-03-31&page=3&per_page=10&updated_since=1970-01-01T00%3A00%3A01Z"}},
		"read incoming": {func(ctx context.Context, c *client.Client) (any, error) { return c.IncomingInvoice(ctx, "x") },
			one,
			exchange{method: "GET", path: v1 + "/incoming-invoices/x"}},
		"revisions": {func(ctx context.Context, c *client.Client) (any, error) { return c.IncomingRevisions(ctx, "x", page) },
			many,
			exchange{method: "GET", path: v1 + "/incoming-invoices/x/revisions", query: "page=3&per_page=10"}},
		"attachment": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.IncomingAttachment(ctx, "x", 2, "1")
		}, one,
			exchange{method: "GET", path: v1 + "/incoming-invoices/x/revisions/2/attachments/1"}},
		"document": {func(ctx context.Context, c *client.Client) (any, error) { return c.IncomingDocument(ctx, "x", 2) }, one,
			exchange{method: "GET", path: v1 + "/incoming-invoices/x/revisions/2/document"}},
		"export invoices": {func(ctx context.Context, c *client.Client) (any, error) {
			return whole(c.ExportInvoices(ctx, client.InvoiceQuery{Paging: page, Sort: "-total_amount"}, api.ExportXLSX))
		}, one, exchange{method: "GET", path: v1 + "/invoices/export", query: "format=xlsx&sort=-total_amount"}},
		"export items": {func(ctx context.Context, c *client.Client) (any, error) {
			return whole(c.ExportInvoiceItems(ctx, client.InvoiceQuery{Submitted: new(true)}, api.ExportCSV))
		}, one, exchange{method: "GET", path: v1 + "/invoices/export", query: "format=csv&rows=items&submitted=true"}},
		"export credit notes": {func(ctx context.Context, c *client.Client) (any, error) {
			return whole(c.ExportCreditNotes(ctx, client.CreditNoteQuery{InvoiceID: "x"}, api.ExportCSV))
		}, one, exchange{method: "GET", path: v1 + "/credit-notes/export", query: "format=csv&invoice_id=x"}},
		"export incoming e-invoices": {func(ctx context.Context, c *client.Client) (any, error) {
			return whole(c.ExportIncomingInvoices(ctx, client.IncomingInvoiceQuery{Paging: page, IssueDateTo: "2026-03-31"},
				api.ExportXLSX))
		}, one, exchange{method: "GET", path: v1 + "/incoming-invoices/export",
			query: "format=xlsx&issue_date_to=2026-03-31"}},
		"list users": {func(ctx context.Context, c *client.Client) (any, error) { return c.Users(ctx, page) }, many,
			exchange{method: "GET", path: v1 + "/users", query: "page=3&per_page=10"}},
		"change a user": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.ChangeUser(ctx, "x", api.UserChange{Active: new(false)})
		}, one, exchange{method: "PATCH", path: v1 + "/users/x", key: random, body: `{"active":false}`}},
		"invite a user": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.InviteUser(ctx, "books@example.com", api.RoleViewer)
		}, one, exchange{method: "POST", path: v1 + "/users/invitations", key: random,
			body: `{"email":"books@example.com","role":"viewer"}`}},
		"list invitations": {func(ctx context.Context, c *client.Client) (any, error) { return c.Invitations(ctx, page) },
			many,
			exchange{method: "GET", path: v1 + "/users/invitations", query: "page=3&per_page=10"}},
		"revoke an invitation": {func(ctx context.Context, c *client.Client) (any,
			error) {
			return c.RevokeInvitation(ctx, "x")
		}, one,
			exchange{method: "POST", path: v1 + "/users/invitations/x/revoke", key: random}},
		"subscribe": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateSubscription(ctx, api.SubscriptionRequest{URL: new("https://hooks.example.com")})
		}, one, exchange{method: "POST", path: hooks + "/subscriptions", key: random,
			body: `"url":"https://hooks.example.com"`}},
		"list subscriptions": {func(ctx context.Context, c *client.Client) (any, error) { return c.Subscriptions(ctx, page) },
			many,
			exchange{method: "GET", path: hooks + "/subscriptions", query: "page=3&per_page=10"}},
		"read a subscription": {func(ctx context.Context, c *client.Client) (any, error) { return c.Subscription(ctx, "x") },
			one,
			exchange{method: "GET", path: hooks + "/subscriptions/x"}},
		"deactivate": {func(ctx context.Context, c *client.Client) (any, error) { return c.DeactivateSubscription(ctx, "x") },
			one,
			exchange{method: "POST", path: hooks + "/subscriptions/x/deactivate", key: random}},
		"list deliveries": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.Deliveries(ctx, client.DeliveryQuery{Paging: page, SubscriptionID: "s", EventID: "e",
				Event: api.EventTerminal, State: api.DeliveryFailed})
		}, many, exchange{method: "GET", path: hooks + "/deliveries",
			query: "event=einvoice.terminal&event_id=e&page=3&per_page=10&state=failed&subscription_id=s"}},
		"read a delivery": {func(ctx context.Context, c *client.Client) (any, error) { return c.Delivery(ctx, "x") }, one,
			exchange{method: "GET", path: hooks + "/deliveries/x"}},
		"redeliver": {func(ctx context.Context, c *client.Client) (any, error) { return c.Redeliver(ctx, "x") }, one,
			exchange{method: "POST", path: hooks + "/deliveries/x/redeliver", key: random}},
		"create a customer": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateCustomer(ctx, api.CustomerFields{RecipientName: new("Palm"), PaymentTermsDays: new(30)})
		}, one, exchange{method: "POST", path: v1 + "/customers", key: random, body: `"payment_terms_days":30`}},
		"list customers": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.Customers(ctx, client.BookQuery{Paging: page, Name: "Ö"})
		}, many, exchange{method: "GET", path: v1 + "/customers", query: "name=%C3%96&page=3&per_page=10"}},
		"read a customer": {func(ctx context.Context, c *client.Client) (any, error) { return c.Customer(ctx, "x") }, one,
			exchange{method: "GET", path: v1 + "/customers/x"}},
		"change a customer": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.PatchCustomer(ctx, "x", map[string]any{"note": nil}, key)
		}, one, exchange{method: "PATCH", path: v1 + "/customers/x", key: "order-4711", body: `{"note":null}`}},
		"delete a customer": {func(ctx context.Context, c *client.Client) (any, error) { return c.DeleteCustomer(ctx, "x") },
			one,
			exchange{method: "DELETE", path: v1 + "/customers/x"}},
		"create an item": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.CreateItem(ctx, api.CatalogueItemFields{Name: new("Consulting"),
				NetUnitPrice: new(api.MustDecimal("100.00"))})
		}, one, exchange{method: "POST", path: v1 + "/items", key: random, body: `"net_unit_price":100.00`}},
		"list items": {func(ctx context.Context, c *client.Client) (any, error) { return c.Items(ctx, client.BookQuery{}) },
			many,
			exchange{method: "GET", path: v1 + "/items"}},
		"read an item": {func(ctx context.Context, c *client.Client) (any, error) { return c.Item(ctx, "x") }, one,
			exchange{method: "GET", path: v1 + "/items/x"}},
		"change an item": {func(ctx context.Context, c *client.Client) (any, error) {
			return c.PatchItem(ctx, "x", map[string]any{"net_unit_price": api.MustDecimal("10.50")})
		}, one, exchange{method: "PATCH", path: v1 + "/items/x", key: random, body: `{"net_unit_price":10.50}`}},
		"delete an item": {func(ctx context.Context, c *client.Client) (any, error) { return c.DeleteItem(ctx, "x") }, one,
			exchange{method: "DELETE", path: v1 + "/items/x"}},
		"audit log": {func(ctx context.Context, c *client.Client) (any, error) {
			at := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
			return c.AuditLog(ctx, client.AuditQuery{Paging: page, Actor: "ann@palm.example", Act: "draft", SubjectID: "x",
				From: at, To: at.Add(time.Hour)})
		}, many, exchange{method: "GET", path: v1 + "/audit",
			query: "act=draft&actor=ann%40palm.example&from=2026-03-01T09%3A30%3A00Z&page=3&per_page=10&subject_id=x&to=2026-03-01T10%3A30%3A00Z"}},
		"events": {func(ctx context.Context, c *client.Client) (any, error) { return c.Events(ctx, "", 0) }, many,
			exchange{method: "GET", path: hooks + "/events"}},
		"events, on from a cursor": {func(ctx context.Context, c *client.Client) (any,
			error) {
			return c.Events(ctx, "7", 50)
		}, many,
			exchange{method: "GET", path: hooks + "/events", query: "after=7&limit=50"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			// The login is at another path, and the script has its response, too.
			s.script = []http.HandlerFunc{write(200, `{"data":{"token":"t"}}`), write(200, test.response)}
			config := s.configure(&sleeps{})
			config.BaseURL += "/prefix/"
			config.UserAgent = "shop/1.0"
			config.Random = strings.NewReader(strings.Repeat("\x01\xab", 8))
			got, err := test.call(t.Context(), newClient(t, config))
			if err != nil {
				t.Fatal(err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.arrived) != 2 {
				t.Fatalf("%d requests", len(s.arrived))
			}
			login, sent := s.arrived[0], s.arrived[1]
			if login.method != "POST" || login.path != v1+"/auth/login" || login.authorization != "" ||
				login.body != `{"email":"`+email+`","password":"`+password+`"}` {
				t.Errorf("login %+v", login)
			}
			if sent.method != test.want.method || sent.path != test.want.path || sent.query != test.want.query ||
				sent.key != test.want.key {
				t.Errorf("sent %+v", sent)
			}
			if sent.authorization != "Bearer t" || sent.contentType != cmp.Or(test.want.contentType, "application/json") ||
				sent.userAgent != "shop/1.0" {
				t.Errorf("headers of %+v", sent)
			}
			if !strings.Contains(sent.body, test.want.body) || test.want.body == "" && sent.body != "" {
				t.Errorf("body %s", sent.body)
			}
			read(t, got)
		})
	}
}

// whole reads a file to its end.
func whole(file io.ReadCloser, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// read checks that the response was decoded.
func read(t *testing.T, got any) {
	t.Helper()
	switch got := got.(type) {
	case api.Feed[api.Event[json.RawMessage]]:
		if len(got.Data) != 1 || got.Data[0].ID != "x" || got.Pagination.NextCursor != "7" || !got.Pagination.HasMore {
			t.Errorf("read %+v", got)
		}
	case api.List[api.Invoice]:
		if len(got.Data) != 1 || got.Data[0].ID != "x" || got.Pagination.CurrentPage != 1 || !got.Pagination.HasMore {
			t.Errorf("read %+v", got)
		}
	case []byte:
		if string(got) != one {
			t.Errorf("read %s", got)
		}
	case int:
		if got != 1 {
			t.Errorf("read %d", got)
		}
	case api.RecipientLookup:
		if got.Found == nil || !*got.Found || len(got.Profiles) != 1 || got.Profiles[0] != "pint-ae" {
			t.Errorf("read %+v", got)
		}
	case api.Import:
		if !got.Valid || got.Drafts != 1 {
			t.Errorf("read %+v", got)
		}
	case api.Preflight, api.RetainedBody, api.List[api.IncomingRevision]: // have no id
	default:
		if text := fmt.Sprintf("%+v", got); !strings.Contains(text, "ID:x") {
			t.Errorf("read %s", text)
		}
	}
}
