package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/sandbox/fakeprovider"
)

// operation is an action of a company or its administrator.
type operation struct {
	name   string
	weight int
	do     func(c *company)
}

// operations returns the actions of clients, with their weights.
func operations() []operation {
	return []operation{
		{"create", 14, (*company).create},
		{"create with a key", 8, (*company).createKeyed},
		{"submit", 30, (*company).submit},
		{"read", 12, (*company).read},
		{"patch", 8, (*company).patch},
		{"subscribe", 5, (*company).subscribe},
		{"deactivate", 1, (*company).deactivate},
		{"redeliver", 3, (*company).redeliver},
		{"credit", 4, (*company).credit},
		{"void", 2, (*company).void},
		{"submit a credit note", 12, (*company).submitCredit},
		{"patch a credit note", 2, (*company).patchCredit},
		{"purchase", 5, (*company).purchase},
		{"pry", 6, (*company).tryForeignRows},
		{"log in", 1, (*company).logIn},
		{"replace the credential", 1, (*company).replaceCredential},
		{"mislead", 4, (*company).makeProviderLie},
	}
}

// operate makes a company perform an operation.
func (w *world) operate() {
	all := operations()
	total := 0
	for _, o := range all {
		total += o.weight
	}
	c := w.companies[w.rng.IntN(len(w.companies))]
	for roll, n := w.rng.IntN(total), 0; n < len(all); n++ {
		if roll -= all[n].weight; roll < 0 {
			w.count("operation: " + all[n].name)
			all[n].do(c)
			return
		}
	}
}

// recipient chooses how the provider treats a document. Most recipients are ordinary, so that faults happen by chance.
// The others are the fake provider's magic recipients.
func (c *company) recipient() string {
	if c.w.rng.IntN(3) > 0 {
		return "1234567890"
	}
	scenarios := fakeprovider.Scenarios()
	return scenarios[c.w.rng.IntN(len(scenarios))].ID
}

// draft returns a payload. Both companies use the same invoice numbers; only the recipient's name shows the company.
func (c *company) draft() (number, name string, payload []byte) {
	c.model.numbers++
	number = fmt.Sprintf("INV-%d", c.model.numbers)
	name = fmt.Sprintf("Customer 0 of %s", c.name)
	invoice := map[string]any{
		"invoice_number": number, "recipient_name": name, "recipient_network_id": c.recipient(),
		"buyer_endpoint_scheme": "0235", "buyer_street": "12 Harbour Road", "buyer_city": "Dubai", "buyer_country": "AE",
		"total_amount": json.Number("105.00"), "currency": "AED", "issue_date": "2026-03-01", "due_date": "2026-03-31",
		"payment_means_code": "30",
		"items": []any{map[string]any{"item_code": "SKU-7", "name": "Consulting", "description": "Workshop",
			"unit_code": "HUR", "quantity": 1, "base_quantity": 1, "net_unit_price": 100, "gross_unit_price": 100,
			"discount_amount": 0, "vat_category": "S", "vat_rate": 5}},
	}
	if c.w.rng.IntN(12) == 0 {
		delete(invoice, "buyer_city") // not complete
	}
	payload, err := json.Marshal(invoice)
	c.w.must(err)
	return number, name, payload
}

func (c *company) create() {
	number, name, payload := c.draft()
	r, arrived := c.call(http.MethodPost, "/api/v1/client/invoices", payload, nil)
	if arrived {
		c.recordCreated(r, number, name)
	}
}

// recordCreated records the response to a creation.
func (c *company) recordCreated(r response, number, name string) {
	var s invoiceView
	if r.status != http.StatusCreated || r.data(&s) != nil {
		c.w.violate("%s: a draft was answered %d %s", c.name, r.status, r.body)
		return
	}
	c.w.tracef("%s: %s is %s", c.name, number, s.ID)
	m := &invoiceModel{id: s.ID, number: number, names: []string{name}}
	c.model.invoices = append(c.model.invoices, m)
	c.model.foreign = append(c.model.foreign, "/api/v1/client/invoices/"+s.ID)
	c.checkInvoice(m, &s)
}

// createKeyed creates with an Idempotency-Key, or repeats an earlier such call. Both companies use the same keys.
func (c *company) createKeyed() {
	var k *keyedCall
	if len(c.model.keyed) > 0 && c.w.rng.IntN(2) == 0 {
		k = c.model.keyed[c.w.rng.IntN(len(c.model.keyed))]
	} else {
		number, _, payload := c.draft()
		k = &keyedCall{key: fmt.Sprintf("key-%d", len(c.model.keyed)), number: number, body: payload}
		c.model.keyed = append(c.model.keyed, k)
	}
	r, arrived := c.call(http.MethodPost, "/api/v1/client/invoices", k.body, map[string]string{"Idempotency-Key": k.key})
	switch {
	case !arrived:
	case k.acknowledged:
		if r.status != http.StatusCreated || r.header.Get("Idempotency-Replayed") != "true" ||
			!bytes.Equal(r.body, k.response) {
			c.w.violate("%s: a repeat of %s was answered %d %s, first %s", c.name, k.key, r.status, r.body, k.response)
		}
		c.w.count("idempotency: replayed")
	default:
		k.acknowledged, k.response = true, r.body
		c.recordCreated(r, k.number, fmt.Sprintf("Customer 0 of %s", c.name))
	}
}

// someInvoice returns an invoice that the company knows, usually a recent one.
func (c *company) someInvoice() *invoiceModel {
	all := c.model.invoices
	if len(all) == 0 {
		return nil
	}
	return all[max(c.w.rng.IntN(len(all)), c.w.rng.IntN(len(all)))]
}

func (c *company) submit() {
	m := c.someInvoice()
	if m == nil {
		return
	}
	before := m.lastOutcome
	r, arrived := c.call(http.MethodPost, "/api/v1/client/invoices/"+m.id+"/submit", nil, nil)
	if !arrived {
		return
	}
	var s invoiceView
	switch r.status {
	case http.StatusOK, http.StatusAccepted:
		if err := r.data(&s); err != nil {
			c.w.violate("%s: submit answered %s", c.name, r.body)
			return
		}
		c.checkInvoice(m, &s)
		if s.Submission == nil || (r.status == http.StatusAccepted) != (s.Submission.Outcome == "unknown") {
			c.w.violate("%s: submit answered %d with %s", c.name, r.status, r.body)
		}
	case http.StatusBadGateway:
		// The provider certainly does not have it: said by the one who knows.
		if before == "acknowledged" || c.hasDocument(m) {
			c.w.violate("%s: 502 for %s, which the provider has, or which was acknowledged", c.name, m.id)
		}
	case http.StatusConflict:
		if code := r.code(); code != "submission_in_progress" {
			c.w.violate("%s: submit was refused with %s", c.name, code)
		}
	case http.StatusUnprocessableEntity:
		if r.code() != "invoice_incomplete" {
			c.w.violate("%s: submit was refused with %s", c.name, r.body)
		}
	default:
		c.w.violate("%s: submit answered %d %s", c.name, r.status, r.body)
	}
}

// hasDocument tells whether the provider has a document of the invoice that it has not rejected.
func (c *company) hasDocument(m *invoiceModel) bool {
	return slices.ContainsFunc(c.provider.Ledger().Documents(), func(d fakeprovider.LedgerDocument) bool {
		report := d.Report(time.Now())
		return d.InvoiceNumber == m.number && d.CreditNoteNumber == "" && report.Status != "rejected"
	})
}

func (c *company) read() {
	m := c.someInvoice()
	if m == nil {
		return
	}
	r, arrived := c.call(http.MethodGet, "/api/v1/client/invoices/"+m.id, nil, nil)
	if !arrived {
		return
	}
	var s invoiceView
	if r.status != http.StatusOK || r.data(&s) != nil {
		c.w.violate("%s: invoice %s was answered %d %s", c.name, m.id, r.status, r.body)
		return
	}
	c.checkInvoice(m, &s)
	for _, more := range []string{"/evidence", "/submissions"} {
		if r, arrived := c.call(http.MethodGet, "/api/v1/client/invoices/"+m.id+more, nil, nil); arrived &&
			r.status != http.StatusOK {
			c.w.violate("%s: %s of %s answered %d", c.name, more, m.id, r.status)
		}
	}
}

// patch changes the recipient's name, or corrects a rejected invoice.
func (c *company) patch() {
	m := c.someInvoice()
	if m == nil {
		return
	}
	name := fmt.Sprintf("Customer %d of %s", 1+c.w.rng.IntN(1000), c.name)
	body, err := json.Marshal(map[string]any{"recipient_name": name, "recipient_network_id": "1234567890",
		"buyer_city": "Dubai"})
	c.w.must(err)
	r, arrived := c.call(http.MethodPatch, "/api/v1/client/invoices/"+m.id, body, nil)
	if !arrived {
		m.names, m.changed = append(m.names, name), true
		return
	}
	var s invoiceView
	switch {
	case r.status == http.StatusOK && r.data(&s) == nil:
		if c.hasDocument(m) {
			c.w.violate("%s: an invoice was changed that the provider has and has not rejected", c.name)
		}
		m.names, m.lastOutcome, m.changed = []string{name}, "", false
		c.checkInvoice(m, &s)
	case r.status == http.StatusConflict && r.code() == "invoice_not_editable":
	default:
		c.w.violate("%s: a change was answered %d %s", c.name, r.status, r.body)
	}
}

// receiverBehaviours are the behaviours to choose from. Most receivers are honest.
var receiverBehaviours = []string{honest, honest, honest, flaky, flaky, redirects, refuses}

func (c *company) subscribe() {
	if len(c.model.subscriptions) >= 8 {
		return
	}
	s := &subscriptionModel{again: map[string]bool{}, delivered: map[string]bool{}, path: fmt.Sprintf("/%s/%s/%d", c.name,
		receiverBehaviours[c.w.rng.IntN(len(receiverBehaviours))], len(c.model.subscriptions))}
	c.model.subscriptions = append(c.model.subscriptions, s)
	body, err := json.Marshal(map[string]any{"url": "https://" + hookHost + s.path})
	c.w.must(err)
	r, arrived := c.call(http.MethodPost, "/api/v1/webhooks/subscriptions", body, nil)
	if !arrived {
		return
	}
	var made struct {
		ID     string `json:"id"`
		Secret string `json:"secret"`
	}
	if r.status != http.StatusCreated || r.data(&made) != nil {
		c.w.violate("%s: a subscription was answered %d %s", c.name, r.status, r.body)
		return
	}
	s.id, s.secret, s.since = made.ID, made.Secret, time.Now()
	c.model.foreign = append(c.model.foreign, "/api/v1/webhooks/subscriptions/"+s.id,
		"/api/v1/webhooks/deliveries?subscription_id="+s.id)
}

func (c *company) deactivate() {
	for _, s := range c.model.subscriptions {
		if s.id != "" && s.until.IsZero() {
			s.until = time.Now()
			if r, arrived := c.call(http.MethodPost, "/api/v1/webhooks/subscriptions/"+s.id+"/deactivate", nil, nil); arrived &&
				r.status != http.StatusOK {
				c.w.violate("%s: a deactivation was answered %d %s", c.name, r.status, r.body)
			}
			return
		}
	}
}

// checkDelivered checks that a delivered event stays delivered unless its redelivery is requested.
func (c *company) checkDelivered(subscription, event, state string) {
	for _, s := range c.model.subscriptions {
		if s.id != subscription || s.again[event] {
			continue
		}
		if s.delivered[event] && state != "delivered" {
			c.w.violate("%s: %s was delivered to %s, and is now %s", c.name, event, s.path, state)
		}
		s.delivered[event] = s.delivered[event] || state == "delivered"
	}
}

// deliveryModel is a delivery in the list.
type deliveryModel struct {
	ID           string `json:"id"`
	EventID      string `json:"event_id"`
	Subscription string `json:"subscription_id"`
	State        string `json:"state"`
}

// deliveries reads the latest deliveries.
func (c *company) deliveries() (all []deliveryModel) {
	r, arrived := c.call(http.MethodGet, "/api/v1/webhooks/deliveries?per_page=100", nil, nil)
	if !arrived || r.data(&all) != nil {
		return nil
	}
	for _, d := range all {
		c.checkDelivered(d.Subscription, d.EventID, d.State)
	}
	return all
}

// redeliver reads the deliveries and requests the redelivery of one.
func (c *company) redeliver() {
	all := c.deliveries()
	if len(all) == 0 {
		return
	}
	chosen := all[c.w.rng.IntN(len(all))]
	for _, s := range c.model.subscriptions {
		if s.id == chosen.Subscription {
			s.again[chosen.EventID] = true
		}
	}
	id := chosen.ID
	again, arrived := c.call(http.MethodPost, "/api/v1/webhooks/deliveries/"+id+"/redeliver", nil, nil)
	if arrived && again.status != http.StatusOK && again.code() != "subscription_inactive" {
		c.w.violate("%s: a redelivery was answered %d %s", c.name, again.status, again.body)
	}
}

// purchase gives the provider a purchase document, or a new revision of one. The documents of both companies have the
// same names.
func (c *company) purchase() {
	revise := c.model.purchases > 0 && c.w.rng.IntN(3) == 0
	number := c.model.purchases
	if revise {
		number = c.w.rng.IntN(c.model.purchases)
	} else {
		c.model.purchases++
	}
	text := fmt.Sprintf("<Invoice>%s %d %d</Invoice>", c.name, number, c.w.rng.IntN(1_000_000))
	_, err := c.provider.Ledger().AddPurchase(fakeprovider.Purchase{ID: fmt.Sprintf("PUR-%d", number),
		DocumentType: "invoice", InvoiceNumber: fmt.Sprintf("S-%d", number), SupplierName: "Supplier of " + c.name,
		IssueDate: "2026-02-01", Currency: "AED", MediaType: "application/xml", ReceivedAt: time.Now().UTC()}, []byte(text))
	c.w.must(err)
}

// tryForeignRows requests the other company's rows, which must not be found.
func (c *company) tryForeignRows() {
	for _, other := range c.w.companies {
		if other == c || len(other.model.foreign) == 0 {
			continue
		}
		path := other.model.foreign[c.w.rng.IntN(len(other.model.foreign))]
		methods := []string{http.MethodGet, http.MethodPatch, http.MethodPost}
		method, body := methods[c.w.rng.IntN(len(methods))], []byte(nil)
		switch {
		case method == http.MethodPatch:
			body = []byte(`{"recipient_name":"taken over"}`)
		case method == http.MethodPost:
			path += []string{"/submit", "/void", "/deactivate"}[c.w.rng.IntN(3)]
		}
		r, arrived := c.call(method, path, body, nil)
		empty := r.status == http.StatusOK && bytes.HasPrefix(r.body, []byte(`{"data":[]`))
		if arrived && r.status/100 == 2 && !empty {
			c.w.violate("%s reached a row of %s by %s %s: %d %s", c.name, other.name, method, path, r.status, r.body)
		}
	}
}

// logIn logs in with the right password, or with a wrong one.
func (c *company) logIn() {
	password, want := c.password, http.StatusOK
	if c.w.rng.IntN(2) == 0 {
		password, want = "canary-wrong-password-1", http.StatusUnauthorized
	}
	body, err := json.Marshal(map[string]any{"email": c.name + "@example.com", "password": password})
	c.w.must(err)
	if r, arrived := c.call(http.MethodPost, "/api/v1/client/auth/login", body, nil); arrived && r.status != want {
		c.w.violate("%s: a login was answered %d %s", c.name, r.status, r.body)
	}
}

// makeProviderLie makes the provider report something untrue at the next status query of a document.
func (c *company) makeProviderLie() {
	documents := c.provider.Ledger().Documents()
	if len(documents) == 0 {
		return
	}
	untruths := []fakeprovider.Misbehaviour{fakeprovider.Stale, fakeprovider.Stale, fakeprovider.Contradicting,
		fakeprovider.Foreign, fakeprovider.Repeated, fakeprovider.Reformatted, fakeprovider.WrongTypes}
	latest := documents[max(0, len(documents)-1-c.w.rng.IntN(3))]
	c.w.must(c.provider.AddRule(fakeprovider.Rule{Reference: latest.Reference, Method: http.MethodGet,
		Misbehaviour: untruths[c.w.rng.IntN(len(untruths))], Times: 1 + c.w.rng.IntN(2)}))
}

// replaceCredential sets the same credential again, as an administrator does while the service runs.
func (c *company) replaceCredential() {
	p := c.w.liveProcess()
	if p == nil {
		return
	}
	p.runStep(func() {
		connections, err := invoices.Connections(c.w.t.Context(), p.db, &c.account)
		c.w.must(err)
		for _, connection := range connections {
			_, err := invoices.ReplaceCredential(c.w.t.Context(), p.db, connection.ID, secret.New(c.credential))
			c.w.must(err)
		}
	})
}
