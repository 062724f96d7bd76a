package sandbox

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strconv"
	"time"

	"quittance/client/api"
	"quittance/internal/exchange/webhook"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/sandbox/fakeprovider"
)

// Example says how to log in to the example company, whose invoices stand in every state: accepted, in progress,
// rejected by each party, of unknown outcome, and drafts. Its connection has the document format PINT-AE, whose rules
// the console checks while people type; that of the other company has none. Some of its webhook deliveries fail, and
// one of its incoming e-invoices was changed by the supplier. It has a provider of its own, which never misbehaves at
// random, so that nothing of it appears in the other company.
type Example struct {
	AccountID string `json:"account_id"`
	Company   string `json:"company"`
	Email     string `json:"email"`
	// Password is set by the first start only, and so is LoginURL, which logs in to the console once.
	Password string `json:"password"`
	LoginURL string `json:"login_url,omitempty"`
}

// openExample opens the provider of the example company, if there is one.
func (s *Sandbox) openExample(ctx context.Context, saved *exampleState) (err error) {
	if saved == nil {
		return nil
	}
	if s.example, err = fakeprovider.New(fakeprovider.Options{Dir: s.layout.exampleProvider(),
		Credential: secret.New(saved.ProviderCredential),
		Chaos:      fakeprovider.ChaosOff, Pace: s.config.Pace, Clock: s.config.Now, Log: s.config.Log}); err != nil {
		return err
	}
	return s.serve(ctx, chooseAddress("", saved.ProviderListen, net.JoinHostPort("127.0.0.1", "0")), s.example, nil)
}

// exampleInvoice is an invoice of the example company.
type exampleInvoice struct {
	buyer, currency string
	// scenario is a magic recipient of the provider sandbox, "" for a draft.
	scenario string
	// daysAgo is when it was issued; hours is the quantity of its only line, at 240 an hour.
	daysAgo, hours int
	// edit makes a draft incomplete; nil for none.
	edit func(*api.Draft)
}

// exampleInvoices are the invoices of the example company, oldest first.
func exampleInvoices() []exampleInvoice {
	const accepted = "sandbox-accepted"
	return []exampleInvoice{
		{"Creek Hardware LLC", "AED", accepted, 28, 20, nil},
		{"Palm Trading LLC", "AED", accepted, 26, 64, nil},
		{"Oasis Catering LLC", "AED", accepted, 23, 11, nil},
		{"Falcon Printing LLC", "USD", accepted, 21, 40, nil},
		{"Palm Trading LLC", "AED", "sandbox-reversed", 19, 32, nil},
		{"Dune Logistics FZE", "AED", "sandbox-rejected-receiver", 16, 18, nil},
		{"Creek Hardware LLC", "AED", accepted, 14, 27, nil},
		{"Oasis Catering LLC", "AED", "sandbox-unknown-word", 12, 9, nil},
		{"Falcon Printing LLC", "USD", accepted, 10, 56, nil},
		{"Palm Trading LLC", "AED", "sandbox-silent-authority", 8, 38, nil},
		{"Harbour Foods LLC", "AED", "sandbox-receiver-not-found", 7, 15, nil},
		{"Dune Logistics FZE", "AED", accepted, 5, 44, nil},
		{"Creek Hardware LLC", "AED", "sandbox-rejected-authority", 4, 21, nil},
		{"Harbour Foods LLC", "AED", "sandbox-rejected-validation", 3, 12, nil},
		{"Falcon Printing LLC", "AED", "sandbox-discovery-timed-out", 2, 30, nil},
		{"Dune Logistics FZE", "AED", "sandbox-lost", 1, 25, nil},
		{"Palm Trading LLC", "AED", "sandbox-slow-authority", 0, 48, nil},
		{"Oasis Catering LLC", "AED", "", 0, 14, nil},
		{"Creek Hardware LLC", "AED", "", 0, 6, func(d *api.Draft) { d.BuyerStreet, d.DueDate = nil, nil }},
	}
}

// draft returns the n-th example invoice, from 0, as a draft.
func (e exampleInvoice) draft(n int, now time.Time) *api.Draft {
	const price = 240
	d := syntheticDraft(n, now)
	issued, net := now.AddDate(0, 0, -e.daysAgo), price*e.hours
	d.InvoiceNumber, d.RecipientName, d.Currency = new(fmt.Sprintf("EX-%d-%03d", issued.Year(), n+1)), &e.buyer,
		&e.currency
	d.IssueDate, d.DueDate = new(issued.Format(time.DateOnly)), new(issued.AddDate(0, 0, 30).Format(time.DateOnly))
	d.TotalAmount = new(api.MustDecimal(cents(105 * net)))
	d.BuyerTaxID = new(strconv.Itoa(100000000000003 + 1000*(n+1))) // a magic recipient is no tax number
	if e.currency != "AED" {
		d.TaxExchangeRate = new(api.MustDecimal("3.6725"))
	}
	if e.scenario != "" {
		d.RecipientNetworkID = &e.scenario
	}
	item := &d.Items[0]
	item.ItemCode, item.Name, item.Description, item.UnitCode = new("EX-CONS"), new("Consulting"),
		new("Consulting by the hour."), new("HUR")
	item.Quantity, item.NetUnitPrice, item.GrossUnitPrice = new(api.MustDecimal(fmt.Sprint(e.hours))),
		new(api.MustDecimal(cents(100*price))), new(api.MustDecimal(cents(100*price)))
	if e.edit != nil {
		e.edit(d)
	}
	return d
}

// seedExample fills the example company, if there is one. Its invoices are really submitted, and their states arrive
// within seconds.
func (s *Sandbox) seedExample(ctx context.Context) error {
	if s.Info.Example == nil {
		return nil
	}
	id, err := base.ParseID(s.Info.Example.AccountID)
	if err != nil {
		return fmt.Errorf("account: %w", err)
	}
	tenant, err := s.DB().Tenant(ctx, id)
	if err != nil {
		return err
	}
	if err := s.subscribeExample(ctx, tenant); err != nil {
		return err
	}
	now := s.config.Now()
	if err := seedBook(ctx, tenant, now); err != nil {
		return err
	}
	for n, example := range exampleInvoices() {
		draft, err := invoices.Create(ctx, tenant, example.draft(n, now))
		if err != nil {
			return fmt.Errorf("create a draft: %w", err)
		}
		if example.scenario == "" {
			continue
		}
		if _, err := s.service.Submissions().Submit(ctx, tenant, draft.ID); err != nil {
			return fmt.Errorf("submit an invoice: %w", err)
		}
		if n == 0 {
			if err := seedCreditNote(ctx, tenant, draft, 1, now); err != nil {
				return err
			}
		}
	}
	documents, err := syntheticIncoming(now)
	if err != nil {
		return err
	}
	return incoming.Seed(ctx, tenant, documents)
}

// seedBook gives the example company a customer for each buyer, which its invoices reach, and some items.
func seedBook(ctx context.Context, tenant *base.Tenant, now time.Time) error {
	known := map[string]bool{}
	for n, example := range exampleInvoices() {
		if known[example.buyer] {
			continue
		}
		known[example.buyer] = true
		customer := api.CustomerOf(example.draft(n, now))
		customer.RecipientNetworkID, customer.Currency, customer.PaymentMeansCode, customer.PaymentTermsDays = new(
			"sandbox-accepted"), new(example.currency), new("30"), new(30)
		if _, err := invoices.Customers(tenant).Create(ctx, customer); err != nil {
			return fmt.Errorf("create a customer: %w", err)
		}
	}
	for _, item := range []struct{ code, name, unit, price string }{{"EX-CONS", "Consulting", "HUR", "240.00"},
		{"EX-TRAIN", "Training", "DAY", "1600.00"}, {"EX-SUPP", "Support plan", "MON", "450.00"}} {
		if _, err := invoices.Items(tenant).Create(ctx, api.CatalogueItemFields{ItemCode: &item.code, Name: &item.name,
			UnitCode: &item.unit, Currency: new("AED"), NetUnitPrice: new(api.MustDecimal(item.price)), VATCategory: new("S"),
			VATRate: new(api.MustDecimal("5"))}); err != nil {
			return fmt.Errorf("create an item: %w", err)
		}
	}
	return nil
}

// subscribeExample creates a subscription that works and one whose deliveries fail.
func (s *Sandbox) subscribeExample(ctx context.Context, tenant *base.Tenant) error {
	for _, wanted := range []struct{ url, description string }{
		{s.Info.ReceiverURL, "Bookkeeping"},
		{"https://" + s.servers[1].Address().String() + "/status/503", "Warehouse, which answers with 503"},
	} {
		key, err := webhook.NewSecret(rand.Reader)
		if err != nil {
			return err
		}
		s.Receiver.Trust(key)
		if _, err := events.CreateSubscription(ctx, tenant, events.NewSubscription{URL: wanted.url, Events: api.EventKinds[:],
			Description: &wanted.description, Secret: secret.New(key)}); err != nil {
			return fmt.Errorf("subscribe: %w", err)
		}
	}
	return nil
}
