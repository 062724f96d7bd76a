package integration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/events"
	"quittance/internal/platform/secret"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// tale is what happens at a site while one of its processes is killed. Each tale ends with an audit.
type tale struct {
	flags []string // of the server
	tell  func(t *testing.T, c *customer)
}

// stories lists the stories, which run for every checkpoint; the tables of the matrix use their names.
func stories() map[string]tale {
	never := []string{"--purchase-interval", "1h"}
	return map[string]tale{
		"desk":      {append([]string{"--password-cost", "m=20480,t=2,p=1"}, never...), desk}, // a cost that has risen
		"people":    {never, people},
		"factor":    {never, factor},
		"passkeys":  {append([]string{"--public-url", "http://localhost"}, never...), passkeys},
		"mailed":    {never, mailed},
		"operators": {append([]string{"--operator-listen", "127.0.0.1:0"}, never...), operators},
		"counts":    {never, counts},
		"sale":      {never, sale},
		"doubt":     {never, doubt},
		"purchases": {[]string{"--purchase-interval", "200ms"}, purchases},
		"retention": {[]string{"--purchase-interval", "200ms"}, retention},
		"queue":     {[]string{"--purchase-interval", "200ms"}, queue},
		"office":    {never, office},
		"reset":     {never, reset},
		"restored":  {never, restored},
	}
}

const ordinary = "1234567890"

// desk covers everything that needs no provider: drafts, credit notes, subscriptions, the customer book and the
// customer's own access.
func desk(t *testing.T, c *customer) {
	c.login(t)
	other := c.token // a second session of the same user
	c.login(t)
	c.subscribe(t)
	invoice := c.create(t, "KEY-1", ordinary, "invoice-1")
	if again := c.create(t, "KEY-1", ordinary, "invoice-1"); again != invoice {
		t.Errorf("one idempotency key created %s and %s", invoice, again)
	}
	c.redirect(t, c.create(t, "INV-1", ordinary, ""), "1000000002", "")
	c.redirect(t, invoice, "1000000003", "patch-1")
	c.void(t, c.credit(t, c.create(t, "INV-2", ordinary, ""), "CN-1", ""))
	c.explain(t, c.credit(t, c.create(t, "INV-3", ordinary, ""), "CN-2", "credit-1"), "VD")
	c.remove(t, c.create(t, "INV-4", ordinary, ""))

	got := c.do(t, http.MethodPost, atSubscriptions, "hook-2", fmt.Sprintf(`{"url":%q}`, c.hooks+"/other"),
		http.StatusCreated)
	id := valueAt(t, got, "/data/id")
	c.do(t, http.MethodPost, atSubscriptions+"/"+id+"/deactivate", "", "", http.StatusOK)
	c.subscribed[id] = false

	c.keepBook(t)
	c.apiKey(t)
	c.changePassword(t, "three mild walruses sing")
	if got := c.call(t, http.MethodGet, atAccount, other, "", ""); got.status != http.StatusUnauthorized {
		t.Errorf("another token of the user gets status %d after the password change", got.status)
	}
	c.logout(t)
	c.login(t)
	c.sessions(t)
	c.audit(t)
}

// doubt covers invoices for which the provider's response is lost, and one that the provider does not accept at first.
func doubt(t *testing.T, c *customer) {
	c.login(t)
	c.subscribe(t)
	var ids []string
	for n, recipient := range []string{"sandbox-drop-before-accept", "sandbox-drop-after-accept", "sandbox-429-once"} {
		ids = append(ids, c.create(t, fmt.Sprintf("INV-%d", n+1), recipient, fmt.Sprintf("invoice-%d", n+1)))
		c.submit(t, ids[n])
	}
	for _, id := range ids {
		if outcome := c.ended(t, id); outcome != api.OutcomeAcknowledged {
			t.Errorf("%s ends as %s", c.created[id], outcome)
		}
	}
	c.audit(t)
}

// sale covers the submission of valid and invalid invoices and of a credit note, and the callbacks about them.
func sale(t *testing.T, c *customer) {
	c.login(t)
	c.subscribe(t)
	accepted := c.create(t, "INV-1", ordinary, "invoice-1")
	c.submit(t, accepted)
	if outcome := c.ended(t, accepted); outcome != api.OutcomeAcknowledged {
		t.Errorf("an accepted invoice ends as %s", outcome)
	}
	refused := c.create(t, "INV-2", "sandbox-rejected-validation", "invoice-2")
	c.submit(t, refused)
	if outcome := c.ended(t, refused); outcome != api.OutcomeRejected {
		t.Errorf("a rejected invoice ends as %s", outcome)
	}
	c.redirect(t, refused, ordinary, "")
	c.submit(t, refused)
	if outcome := c.ended(t, refused); outcome != api.OutcomeAcknowledged {
		t.Errorf("a corrected invoice ends as %s", outcome)
	}
	c.submitCredit(t, c.credit(t, accepted, "CN-1", "credit-1"))
	c.settle(t)
	delivery := valueAt(t, c.do(t, http.MethodGet, atDeliveries, "", "", http.StatusOK), "/data/0/id")
	c.do(t, http.MethodPost, atDeliveries+"/"+delivery+"/redeliver", "", "", http.StatusOK)
	c.delivered(t)
	c.audit(t)
}

// delivered waits until no delivery to the customer's own destination is pending.
func (c *customer) delivered(t *testing.T) {
	t.Helper()
	kit.Eventually(t, func() error {
		got := c.do(t, http.MethodGet, atDeliveries+"?state=pending", "", "", http.StatusOK)
		if pending := valueAt(t, got, "/pagination/total"); pending != "0" {
			return fmt.Errorf("%s deliveries are pending", pending)
		}
		return nil
	})
}

// purchases covers incoming documents, one of them revised.
func purchases(t *testing.T, c *customer) {
	c.login(t)
	c.subscribe(t)
	for n := range 3 {
		c.receive(t, fmt.Sprintf("IN-%d", n+1), 1)
	}
	c.receive(t, "IN-1", 2)
	c.settle(t)
	c.delivered(t)
	c.audit(t)
}

// retention covers history that is removed by age.
func retention(t *testing.T, c *customer) {
	c.login(t)
	c.subscribe(t)
	c.receive(t, "IN-1", 1)
	c.receive(t, "IN-1", 2)
	c.settle(t)
	c.delivered(t)

	c.stop(t)
	tenant := openTenant(t, c.address, c.keyFile, c.account)
	before, err := ledgertest.Events(t.Context(), tenant, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	unlimited := c.flags
	c.flags = append(slices.Clone(unlimited), "--retain-events", retained.String(), "--retain-attempts", retained.String())
	kit.Eventually(t, func() error {
		c.running(t)
		left, err := ledgertest.Events(t.Context(), tenant, 0, 1000)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%d events are left", len(left))
		}
		return err
	})
	c.stop(t)

	c.flags = unlimited // so that what comes now is kept, however long a killed server takes to start again
	c.receive(t, "IN-2", 1)
	if left, err := ledgertest.Events(t.Context(), tenant, 0, 1000); err != nil || len(left) != 1 ||
		left[0].Position <= before[len(before)-1].Position {
		t.Errorf("%+v, %v", left, err)
	}
	c.auditRetained(t, before)
}

// retained is how long the story of retention keeps history: less than a server takes to start, so that it removes all
// that was there before.
const retained = 10 * time.Millisecond

// auditRetained audits a site after history was removed by age; of the callbacks it checks those about the kept
// history.
func (c *customer) auditRetained(t *testing.T, removed []events.Event) {
	t.Helper()
	gone := map[string]bool{}
	for _, event := range removed {
		gone[event.ID.String()] = true
	}
	c.receiver.forget(func(callback fakeprovider.Callback) bool { return gone[callback.Delivery] })
	c.audit(t)
}

// receive adds a revision of a purchase document at the provider and waits until the service has it.
func (c *customer) receive(t *testing.T, id string, revision int) {
	t.Helper()
	total := api.MustDecimal("525.00")
	if _, err := c.provider.AddPurchase(fakeprovider.Purchase{ID: id, DocumentType: "380", InvoiceNumber: id,
		SupplierName: "Synthetic Supplies LLC", SupplierNetworkID: "1000000900", IssueDate: "2026-03-01",
		DueDate: "2026-03-31", Currency: "AED", TotalAmount: &total},
		fmt.Appendf(nil, "<Invoice><ID>%s</ID><Note>revision %d</Note></Invoice>", id, revision)); err != nil {
		t.Fatal(err)
	}
	c.revisions[id] = revision
	get := func(path string) ([]byte, error) {
		return c.do(t, http.MethodGet, path, "", "", http.StatusOK).body, nil
	}
	kit.Eventually(t, func() error {
		list, err := readAll[api.IncomingInvoice](get, atIncoming)
		if err != nil {
			return err
		}
		for _, incoming := range list {
			if incoming.ProviderDocumentID == id && incoming.Revision == revision {
				return nil
			}
		}
		return fmt.Errorf("%s in revision %d is not retained", id, revision)
	})
}

// retireKeys retires the keys that seal nothing any more, once the server has loaded the new one.
func (c *customer) retireKeys(t *testing.T) {
	t.Helper()
	keys, err := secret.ReadKeyFile(c.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys.List() {
		if key.Primary {
			continue
		}
		kit.Eventually(t, func() error {
			_, _, err := c.attempt(t, "", "key", "retire", fmt.Sprint(key.ID))
			return err
		})
	}
}

// office covers an administrator who works beside the server. A command that is killed is run again.
func office(t *testing.T, c *customer) {
	c.gap = "1h" // the administrator comes first, however busy the machine
	c.login(t)
	c.subscribe(t)
	unknown := c.create(t, "INV-1", "sandbox-drop-before-accept", "invoice-1")
	c.submit(t, unknown)
	c.resolve(t, unknown)

	second := newCustomer(c.site)
	c.hire(t, second)
	c.command(t, `{"legal_name":"Dune Logistics FZE"}`, "account", "profile", second.account, "--file", "-")
	c.command(t, "", "migrate")
	c.command(t, "", "account", "rename", second.account, "--company", "Dune Logistics LLC")
	c.command(t, "", "account", "user", "disable", second.account, "--email", "clerk@dune.example")
	c.command(t, "", "account", "user", "enable", second.account, "--email", "clerk@dune.example")
	c.command(t, "", "account", "login-policy", second.account, "--require", "any")
	c.command(t, "", "account", "user", "unlink", second.account, "--email", "clerk@dune.example")
	c.command(t, "", "account", "suspend", second.account)
	if got := c.call(t, http.MethodPost, atAuth+"login", "", "", fmt.Sprintf(`{"email":%q,"password":%q}`, second.email,
		second.password)); got.status != http.StatusForbidden {
		t.Errorf("a suspended account logs in: %d", got.status)
	}
	c.command(t, "", "account", "reactivate", second.account)
	c.connect(t, second.account)
	c.command(t, siteCredential, "connection", "replace-credential", c.connected, "--credential-file", "-")
	c.command(t, "", "connection", "confirm-credit-notes", c.connected, "--contract", "contract", "--mapping", "mapping")
	c.command(t, "", "backup", "--to", filepath.Join(t.TempDir(), "backups"))
	c.command(t, "", "key", "rotate")
	c.retireKeys(t)

	second.login(t)
	if got := valueAt(t, second.do(t, http.MethodGet, atAccount, "", "", http.StatusOK),
		"/data/profile/legal_name"); got != "Dune Logistics FZE" {
		t.Errorf("the profile is %s", got)
	}
	sold := second.create(t, "INV-1", ordinary, "invoice-1")
	second.submit(t, sold)
	if outcome := second.ended(t, sold); outcome != api.OutcomeAcknowledged {
		t.Errorf("the invoice of the new account ends as %s", outcome)
	}
	// The credential and the signing secret must open under the new key.
	after := c.create(t, "INV-2", ordinary, "invoice-2")
	c.submit(t, after)
	c.ended(t, after)
	c.auditApart(t, second)
}

// auditApart audits the first company without the provider's documents of the second.
func (c *customer) auditApart(t *testing.T, second *customer) {
	t.Helper()
	b := c.settle(t)
	for _, err := range []error{b.checkCallbacks(c.secret), b.checkEvents()} {
		if err != nil {
			t.Error(err)
		}
	}
	c.auditInvoices(t, b.invoices)
	other := second.books(t, openTenant(t, c.address, c.keyFile, second.account))
	second.auditInvoices(t, other.invoices)
	known := map[string]int{}
	for _, document := range b.ledger {
		known[document.Reference] += document.Accepted
	}
	for _, invoice := range append(b.invoices, other.invoices...) {
		if invoice.Submission != nil && known[invoice.Submission.ID] != 1 {
			t.Errorf("the provider has %s %d times", *invoice.InvoiceNumber, known[invoice.Submission.ID])
		}
	}
	if submissions := len(c.submitted) + len(second.submitted); len(b.ledger) != submissions {
		t.Errorf("the provider has %d documents of %d submissions", len(b.ledger), submissions)
	}
	c.command(t, "", "evidence", "verify")
}

// resolve covers an administrator who orders that a submission of unknown outcome is sent again. If the first call
// succeeded before the kill, the second finds nothing to resolve.
func (c *customer) resolve(t *testing.T, id string) {
	t.Helper()
	got := c.do(t, http.MethodGet, atInvoices+"/"+id, "", "", http.StatusOK)
	_, again, err := c.attempt(t, "", "submission", "resolve", valueAt(t, got, "/data/submission/id"), "--resend",
		"--reason", "the provider has no such document")
	if err != nil && !again {
		t.Fatal(err)
	}
	if outcome := c.ended(t, id); outcome != api.OutcomeAcknowledged {
		t.Errorf("the resent invoice ends as %s", outcome)
	}
}

// hire covers the creation of an account with two users. A command that was killed after its commit makes another
// account when it is run again, because an address that nobody has proved reserves nothing: the last one is used.
// Nobody has seen a password created by a killed command, so a new one is set.
func (c *customer) hire(t *testing.T, second *customer) {
	t.Helper()
	type made struct {
		AccountID string `json:"account_id"`
		Company   string
		Password  string
	}
	company, clerk := "Dune Logistics FZE", "clerk@dune.example"
	second.email = "owner@dune.example"
	read := func(out []byte, into any) {
		t.Helper()
		if err := json.Unmarshal(out, into); err != nil {
			t.Fatal(err)
		}
	}
	var account made
	out, again, err := c.attempt(t, "", "account", "create", "--company", company, "--email", second.email, "--json")
	switch {
	case err == nil:
		read(out, &account)
	case !again:
		t.Fatal(err)
	}
	var all []made
	c.record(t, &all, "", "account", "list")
	found := 0
	for _, one := range all {
		if one.Company == company {
			found++
			account.AccountID = one.AccountID
		}
	}
	if found != 1 && (!again || found != 2) {
		t.Fatalf("there are %d accounts of %s", found, company)
	}
	second.account = account.AccountID
	if _, again, err := c.attempt(t, "", "account", "user", "add", second.account, "--email", clerk); err != nil &&
		!again {
		t.Fatal(err)
	}
	c.record(t, &account, "", "account", "user", "reset-password", second.account, "--email", second.email)
	second.password = account.Password
	var shown struct{ Users []string }
	c.record(t, &shown, "", "account", "show", second.account)
	if len(shown.Users) != 2 {
		t.Errorf("the users are %v", shown.Users)
	}
}

// connect gives an account its active connection. A killed command may have added one already, which stays pending.
func (c *customer) connect(t *testing.T, account string) {
	t.Helper()
	var connection struct {
		ID string `json:"connection_id"`
	}
	c.record(t, &connection, siteCredential, "connection", "add", "--account", account, "--environment", "sandbox",
		"--base-url", c.providerURL, "--credential-file", "-")
	c.command(t, "", "connection", "activate", connection.ID)
	var all []struct{ State string }
	c.record(t, &all, "", "connection", "list", "--account", account)
	active := 0
	for _, one := range all {
		if one.State == "active" {
			active++
		}
	}
	if active != 1 {
		t.Errorf("%d connections are active", active)
	}
}

// reset covers the reset of a sandbox beside the server. A killed reset is run again, and the account must have exactly
// the expected data.
func reset(t *testing.T, c *customer) {
	c.login(t)
	c.create(t, "INV-1", ordinary, "")
	c.revoked = c.token
	c.command(t, "", "sandbox", "reset", "--account", c.account, "--receiver", c.hooks+"/hooks/reset")
	c.login(t)
	c.delivered(t)
	for path, want := range map[string]string{atInvoices: "25", atCreditNotes: "10", atIncoming: "5",
		atSubscriptions: "2"} {
		if got := valueAt(t, c.do(t, http.MethodGet, path, "", "", http.StatusOK), "/pagination/total"); got != want {
			t.Errorf("after the reset %s has %s, want %s", path, got, want)
		}
	}
	events, err := ledgertest.Events(t.Context(), openTenant(t, c.address, c.keyFile, c.account), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	taken := books{callbacks: onPath(c.receiver.callbacks(), "/hooks/reset")}.taken()
	var missing error
	for _, event := range events {
		if _, ok := taken[event.ID.String()]; !ok {
			missing = errors.Join(missing, fmt.Errorf("event %d has not arrived", event.Position))
		}
	}
	if missing != nil || len(events) != 6 {
		t.Errorf("%d events: %v", len(events), missing)
	}
	if got := c.call(t, http.MethodGet, atAccount, c.revoked, "", ""); got.status != http.StatusUnauthorized {
		t.Errorf("a token from before the reset gets status %d", got.status)
	}
	c.command(t, "", "evidence", "verify")
}

// restored covers a database that was restored from a backup and has forgotten a submission: the provider knows the
// second of the references that the invoice may have had, and none of those of a draft.
func restored(t *testing.T, c *customer) {
	c.login(t)
	c.subscribe(t)
	id := c.create(t, "INV-1", "sandbox-429-once", "invoice-1")
	other := c.create(t, "INV-2", ordinary, "invoice-2")
	copied := c.backup(t)
	c.do(t, http.MethodPost, atInvoices+"/"+id+"/submit", "", "", http.StatusBadGateway)
	c.redirect(t, id, ordinary, "")
	c.submit(t, id)
	c.ended(t, id)
	c.delivered(t)

	c.restore(t, copied)
	delete(c.recipients, id)
	c.receiver.forget(func(fakeprovider.Callback) bool { return true })
	if got := c.call(t, http.MethodGet, atAccount, c.token, "", ""); got.status != http.StatusUnauthorized {
		t.Errorf("a token from before the restore gets status %d", got.status)
	}
	c.login(t)
	c.submit(t, id)
	if outcome := c.ended(t, id); outcome != api.OutcomeAcknowledged {
		t.Errorf("the submission missing from the backup ends as %s", outcome)
	}
	c.submit(t, other)
	if outcome := c.ended(t, other); outcome != api.OutcomeAcknowledged {
		t.Errorf("the draft ends as %s", outcome)
	}
	c.audit(t)
}
