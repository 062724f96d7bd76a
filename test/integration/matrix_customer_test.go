package integration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

const (
	atInvoices      = "/api/v1/client/invoices"
	atCreditNotes   = "/api/v1/client/credit-notes"
	atIncoming      = "/api/v1/client/incoming-invoices"
	atSubscriptions = "/api/v1/webhooks/subscriptions"
	atDeliveries    = "/api/v1/webhooks/deliveries"
	atAccount       = "/api/v1/client/account"
	atAuth          = "/api/v1/client/auth/"
)

// customer is a company's program that repeats a call until it gets a response, and remembers what was acknowledged.
type customer struct {
	*site
	account, email, password string
	token, revoked           string
	hook, secret             string // path and signing secret of its subscription
	tries                    int

	created          map[string]string // invoice identifier to number
	keyed            []string          // numbers that were created under a key: there is one invoice of each
	recipients       map[string]string // changed value by invoice identifier
	submitted        []string
	submittedCredits []string          // the submitted credit notes
	removed          []string          // invoice identifiers
	creditNotes      map[string]bool   // identifier to whether it was voided
	reasons          map[string]string // credit note identifier to the coded reason it was given
	subscribed       map[string]bool   // identifier to whether it is active
	revisions        map[string]int    // provider document to how many revisions it has
}

func newCustomer(s *site) *customer {
	return &customer{site: s, account: s.original.account, email: s.original.email, password: s.original.password,
		created: map[string]string{}, recipients: map[string]string{},
		creditNotes: map[string]bool{}, reasons: map[string]string{}, subscribed: map[string]bool{},
		revisions: map[string]int{}}
}

// do makes a call that must get one of these statuses and returns its response.
func (c *customer) do(t *testing.T, method, path, key, body string, statuses ...int) response {
	t.Helper()
	got := c.call(t, method, path, c.token, key, body)
	if !slices.Contains(statuses, got.status) {
		t.Fatalf("%s %s: status %d, want %v: %s", method, path, got.status, statuses, got.body)
	}
	return got
}

func valueAt(t *testing.T, got response, pointer string) string {
	t.Helper()
	value, err := pointed(got.body, pointer)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func (c *customer) login(t *testing.T) {
	t.Helper()
	body := fmt.Sprintf(`{"email":%q,"password":%q}`, c.email, c.password)
	c.token = valueAt(t, c.do(t, http.MethodPost, atAuth+"login", "", body, http.StatusOK), "/data/token")
}

// subscribe subscribes to all events. A call whose response is lost may also have created a subscription, whose secret
// nobody knows, so each call uses its own path.
func (c *customer) subscribe(t *testing.T) {
	t.Helper()
	kit.Eventually(t, func() error {
		c.running(t)
		c.tries++
		c.hook = fmt.Sprintf("/hooks/%d", c.tries)
		got, err := c.caller.call(http.MethodPost, c.base+atSubscriptions, c.token, fmt.Sprintf(`{"url":%q}`, c.hooks+c.hook))
		if err != nil {
			return err
		}
		if got.status != http.StatusCreated {
			return fmt.Errorf("status %d: %s", got.status, got.body)
		}
		c.secret = valueAt(t, got, "/data/secret")
		c.subscribed[valueAt(t, got, "/data/id")] = true
		return nil
	})
}

// apiKey creates an API key, uses it until the list shows that, and revokes it. A creation whose response is lost may
// leave a key that nobody knows.
func (c *customer) apiKey(t *testing.T) {
	t.Helper()
	const atKeys = "/api/v1/client/api-keys"
	created := c.do(t, http.MethodPost, atKeys, "", `{"name":"ERP","scopes":["read"]}`, http.StatusCreated)
	key, id := valueAt(t, created, "/data/key"), valueAt(t, created, "/data/id")
	kit.Eventually(t, func() error {
		if got := c.call(t, http.MethodGet, atInvoices, key, "", ""); got.status != http.StatusOK {
			return fmt.Errorf("a call with the API key: status %d: %s", got.status, got.body)
		}
		list := c.do(t, http.MethodGet, atKeys, "", "", http.StatusOK)
		if valueAt(t, list, "/data/0/id") != id || valueAt(t, list, "/data/0/last_used_at") == "null" {
			return fmt.Errorf("the use is not shown: %s", list.body)
		}
		return nil
	})
	c.do(t, http.MethodPost, atKeys+"/"+id+"/revoke", "", "", http.StatusOK)
	if got := c.call(t, http.MethodGet, atInvoices, key, "", ""); got.status != http.StatusUnauthorized {
		t.Errorf("a call with the revoked API key: status %d", got.status)
	}
}

// sessions begins three sessions, ends one of them, and then all but the first.
func (c *customer) sessions(t *testing.T) {
	t.Helper()
	const atSessions = "/api/v1/client/sessions"
	var tokens []string
	for range 3 {
		c.login(t)
		tokens = append(tokens, c.token)
	}
	list := c.do(t, http.MethodGet, atSessions, "", "", http.StatusOK)
	if valueAt(t, list, "/data/0/current") != "true" {
		t.Errorf("the last session is not the first of the list: %s", list.body)
	}
	c.token = tokens[0]
	c.do(t, http.MethodPost, atSessions+"/"+valueAt(t, list, "/data/0/id")+"/end", "", "", http.StatusOK)
	if got := c.call(t, http.MethodGet, atAccount, tokens[2], "", ""); got.status != http.StatusUnauthorized {
		t.Errorf("the token of an ended session gets status %d", got.status)
	}
	c.do(t, http.MethodPost, atSessions+"/end-others", "", "", http.StatusOK)
	if got := c.call(t, http.MethodGet, atAccount, tokens[1], "", ""); got.status != http.StatusUnauthorized {
		t.Errorf("the token of another session gets status %d", got.status)
	}
	c.do(t, http.MethodGet, atAccount, "", "", http.StatusOK)
}

// keepBook creates a customer of the company, changes it and deletes it. If the response to the creation was lost,
// there may be another one.
func (c *customer) keepBook(t *testing.T) {
	t.Helper()
	const atBook = "/api/v1/client/customers"
	made := c.do(t, http.MethodPost, atBook, "", `{"recipient_name":"Dune Logistics FZE","payment_terms_days":30}`,
		http.StatusCreated)
	at := atBook + "/" + valueAt(t, made, "/data/id")
	c.do(t, http.MethodPatch, at, "", `{"payment_terms_days":14}`, http.StatusOK)
	if days := valueAt(t, c.do(t, http.MethodGet, at, "", "", http.StatusOK), "/data/payment_terms_days"); days != "14" {
		t.Errorf("the changed customer has %s days to pay", days)
	}
	if got := c.do(t, http.MethodDelete, at, "", "", http.StatusOK, http.StatusNotFound); got.status != http.StatusOK &&
		!c.fired {
		t.Fatalf("deletion of a customer: %s", got.body)
	}
	left := valueAt(t, c.do(t, http.MethodGet, atBook, "", "", http.StatusOK), "/pagination/total")
	if left != "0" && !(left == "1" && c.fired) {
		t.Errorf("%s customers are left", left)
	}
}

// create creates a draft, with an idempotency key if there is one.
func (c *customer) create(t *testing.T, number, recipient, key string) (id string) {
	t.Helper()
	id = valueAt(t, c.do(t, http.MethodPost, atInvoices, key, draftBody(number, recipient), http.StatusCreated),
		"/data/id")
	c.created[id] = number
	if key != "" {
		c.keyed = append(c.keyed, number)
	}
	return id
}

// redirect changes the recipient of a draft.
func (c *customer) redirect(t *testing.T, id, recipient, key string) {
	t.Helper()
	c.do(t, http.MethodPatch, atInvoices+"/"+id, key, fmt.Sprintf(`{"recipient_network_id":%q}`, recipient), http.StatusOK)
	c.recipients[id] = recipient
}

// submit repeats the submission until the response is not an error: it tries again if the provider did not accept the
// document or a killed process had begun the call.
func (c *customer) submit(t *testing.T, id string) {
	t.Helper()
	c.submitDocument(t, atInvoices+"/"+id)
	c.submitted = append(c.submitted, id)
}

// submitCredit submits a credit note in the same way.
func (c *customer) submitCredit(t *testing.T, id string) {
	t.Helper()
	c.submitDocument(t, atCreditNotes+"/"+id)
	c.submittedCredits = append(c.submittedCredits, id)
}

func (c *customer) submitDocument(t *testing.T, path string) {
	t.Helper()
	kit.Eventually(t, func() error {
		got := c.do(t, http.MethodPost, path+"/submit", "", "", http.StatusOK, http.StatusAccepted, http.StatusBadGateway,
			http.StatusConflict)
		switch got.status {
		case http.StatusOK, http.StatusAccepted:
			return nil
		case http.StatusConflict:
			if code := valueAt(t, got, "/error/code"); code != string(api.CodeSubmissionInProgress) {
				t.Fatalf("submit of %s: %s", path, got.body)
			}
		}
		return fmt.Errorf("status %d: %s", got.status, got.body)
	})
}

// ended waits until the submission of an invoice is complete and returns its outcome.
func (c *customer) ended(t *testing.T, id string) api.Outcome {
	t.Helper()
	var read api.Data[api.Invoice]
	kit.Eventually(t, func() error {
		got := c.do(t, http.MethodGet, atInvoices+"/"+id, "", "", http.StatusOK)
		read = api.Data[api.Invoice]{}
		if err := json.Unmarshal(got.body, &read); err != nil {
			return err
		}
		if read.Data.Submission == nil {
			return fmt.Errorf("%s has no submission", c.created[id])
		}
		return books{invoices: []api.Invoice{read.Data}}.allComplete(func(api.Invoice) bool { return false })
	})
	return read.Data.Submission.Outcome
}

// credit creates a credit note for one hour of an invoice.
func (c *customer) credit(t *testing.T, invoice, number, key string) (id string) {
	t.Helper()
	body := fmt.Sprintf(
		`{"invoice_id":%q,"credit_note_number":%q,"issue_date":%q,"reason":"One hour was not worked.","kind":"partial","items":[{"position":0,"quantity":1}]}`,
		invoice, number, time.Now().Format(time.DateOnly))
	id = valueAt(t, c.do(t, http.MethodPost, atCreditNotes, key, body, http.StatusCreated), "/data/id")
	c.creditNotes[id] = false
	return id
}

// void voids a credit note.
func (c *customer) void(t *testing.T, id string) {
	t.Helper()
	c.do(t, http.MethodPost, atCreditNotes+"/"+id+"/void", "", "", http.StatusOK)
	c.creditNotes[id] = true
}

// explain sets a coded reason on a credit note.
func (c *customer) explain(t *testing.T, id, code string) {
	t.Helper()
	c.do(t, http.MethodPatch, atCreditNotes+"/"+id, "", fmt.Sprintf(`{"reason_code":%q}`, code), http.StatusOK)
	c.reasons[id] = code
}

// remove deletes a draft. If the response was lost, the draft may be gone already.
func (c *customer) remove(t *testing.T, id string) {
	t.Helper()
	if got := c.do(t, http.MethodDelete, atInvoices+"/"+id, "", "", http.StatusOK,
		http.StatusNotFound); got.status != http.StatusOK && !c.fired {
		t.Fatalf("deletion of a draft: %s", got.body)
	}
	delete(c.created, id)
	c.removed = append(c.removed, id)
}

// changePassword changes the password. If the response was lost, the old one may be wrong already; then the new one
// must be right.
func (c *customer) changePassword(t *testing.T, to string) {
	t.Helper()
	body := fmt.Sprintf(`{"current_password":%q,"new_password":%q}`, c.password, to)
	got := c.do(t, http.MethodPost, atAuth+"password", "", body, http.StatusOK, http.StatusUnprocessableEntity)
	if got.status != http.StatusOK && !c.fired {
		t.Fatalf("change of the password: %s", got.body)
	}
	c.password = to
}

// logout revokes the token; 401 means that it is revoked already.
func (c *customer) logout(t *testing.T) {
	t.Helper()
	c.do(t, http.MethodPost, atAuth+"logout", "", "", http.StatusOK, http.StatusUnauthorized)
	c.revoked = c.token
}

// books collects what all parties know.
func (c *customer) books(t *testing.T, tenant *base.Tenant) (b books) {
	t.Helper()
	get := func(path string) ([]byte, error) {
		return c.do(t, http.MethodGet, path, "", "", http.StatusOK).body, nil
	}
	var err error
	if b.invoices, err = readAll[api.Invoice](get, atInvoices); err != nil {
		t.Fatal(err)
	}
	if b.credits, err = readAll[api.CreditNoteSummary](get, atCreditNotes); err != nil {
		t.Fatal(err)
	}
	if b.events, err = ledgertest.Events(t.Context(), tenant, 0, 100_000); err != nil {
		t.Fatal(err)
	}
	if b.ledger, err = readLedger(c.caller, c.providerURL, siteCredential); err != nil {
		t.Fatal(err)
	}
	b.callbacks = onPath(c.receiver.callbacks(), c.hook)
	return b
}

// settle waits until every submission is complete and every event has arrived.
func (c *customer) settle(t *testing.T) (b books) {
	t.Helper()
	tenant := openTenant(t, c.address, c.keyFile, c.account)
	kit.Eventually(t, func() error {
		b = c.books(t, tenant)
		if err := b.allComplete(func(api.Invoice) bool { return false }); err != nil {
			return err
		}
		return b.allDelivered(func(events.Event) bool { return c.hook != "" })
	})
	return b
}

// audit compares what was acknowledged with the final state.
func (c *customer) audit(t *testing.T) {
	t.Helper()
	b := c.settle(t)
	for _, err := range []error{b.checkLedger(), b.checkCallbacks(c.secret), b.checkEvents()} {
		if err != nil {
			t.Error(err)
		}
	}
	c.auditInvoices(t, b.invoices)
	c.auditCreditNotes(t)
	c.auditSubscriptions(t)
	c.auditIncoming(t, b.events)
	if c.revoked != "" {
		if got := c.call(t, http.MethodGet, atAccount, c.revoked, "", ""); got.status != http.StatusUnauthorized {
			t.Errorf("a revoked token gets status %d", got.status)
		}
	}
	c.command(t, "", "evidence", "verify")
}

func (c *customer) auditInvoices(t *testing.T, invoices []api.Invoice) {
	t.Helper()
	found, numbers := map[string]api.Invoice{}, map[string]int{}
	for _, invoice := range invoices {
		found[invoice.ID] = invoice
		numbers[*invoice.InvoiceNumber]++
	}
	for id, number := range c.created {
		if invoice, ok := found[id]; !ok || *invoice.InvoiceNumber != number {
			t.Errorf("the draft %s (%s) was acknowledged but is lost", number, id)
		}
	}
	for _, id := range c.removed {
		if invoice, ok := found[id]; ok {
			t.Errorf("the draft %s was deleted but exists", *invoice.InvoiceNumber)
		}
	}
	for _, number := range c.keyed {
		if numbers[number] != 1 {
			t.Errorf("one idempotency key created %d invoices %s", numbers[number], number)
		}
	}
	for id, recipient := range c.recipients {
		if got := *found[id].RecipientNetworkID; got != recipient {
			t.Errorf("the recipient of %s is %s but was changed to %s", c.created[id], got, recipient)
		}
	}
	for _, id := range c.submitted {
		if s := found[id].Submission; s == nil || s.Outcome != api.OutcomeAcknowledged {
			t.Errorf("the submission of %s was acknowledged but is %+v", c.created[id], s)
		}
	}
}

func (c *customer) auditCreditNotes(t *testing.T) {
	t.Helper()
	for _, id := range c.submittedCredits {
		got := c.do(t, http.MethodGet, atCreditNotes+"/"+id, "", "", http.StatusOK)
		if outcome := valueAt(t, got, "/data/submission/outcome"); outcome != string(api.OutcomeAcknowledged) {
			t.Errorf("the submission of a credit note was acknowledged but is %s", got.body)
		}
	}
	for id, voided := range c.creditNotes {
		got := c.do(t, http.MethodGet, atCreditNotes+"/"+id, "", "", http.StatusOK)
		if at := valueAt(t, got, "/data/voided_at"); (at != "null") != voided {
			t.Errorf("voided %v was acknowledged for a credit note: %s", voided, got.body)
		}
		if code, given := c.reasons[id]; given && valueAt(t, got, "/data/reason_code") != code {
			t.Errorf("the reason %s was acknowledged for a credit note: %s", code, got.body)
		}
	}
}

func (c *customer) auditSubscriptions(t *testing.T) {
	t.Helper()
	for id, active := range c.subscribed {
		got := c.do(t, http.MethodGet, atSubscriptions+"/"+id, "", "", http.StatusOK)
		if is := valueAt(t, got, "/data/active"); is != fmt.Sprint(active) {
			t.Errorf("active %v was acknowledged for a subscription: %s", active, got.body)
		}
	}
}

// auditIncoming checks that every purchase document is retained once, with each of its revisions, and reported once.
func (c *customer) auditIncoming(t *testing.T, events []events.Event) {
	t.Helper()
	get := func(path string) ([]byte, error) {
		return c.do(t, http.MethodGet, path, "", "", http.StatusOK).body, nil
	}
	list, err := readAll[api.IncomingInvoice](get, atIncoming)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, incoming := range list {
		if _, twice := got[incoming.ProviderDocumentID]; twice {
			t.Errorf("the purchase document %s is retained twice", incoming.ProviderDocumentID)
		}
		got[incoming.ProviderDocumentID] = incoming.Revision
	}
	for id, revisions := range c.revisions {
		if got[id] != revisions {
			t.Errorf("the purchase document %s has %d revisions, want %d", id, got[id], revisions)
		}
		delete(got, id)
	}
	if len(got) > 0 {
		t.Errorf("purchase documents that nobody has sent: %v", got)
	}
	seen := map[string]bool{}
	for _, event := range events {
		if !strings.HasPrefix(string(event.Kind), "einvoice.incoming.") {
			continue
		}
		var e struct{ Payload api.IncomingPayload }
		if err := json.Unmarshal(event.Body, &e); err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("%s, revision %d", e.Payload.ProviderDocumentID, e.Payload.Revision)
		if seen[what] {
			t.Errorf("there are two events of %s", what)
		}
		seen[what] = true
	}
}
