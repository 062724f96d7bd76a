package view_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// company is a tenant with one row of every kind.
type company struct {
	tenant       *base.Tenant
	view         view.Tenant
	subscription base.ID
	submission   invoices.Submission
	incoming     incoming.Incoming
}

func forEachEngine(t *testing.T, test func(t *testing.T, s *ledgertest.Store)) {
	t.Helper()
	ledgertest.EachEngine(t, func(t *testing.T, engine string) { test(t, ledgertest.Open(t, engine)) })
}

// newCompany creates a company. All companies have the same data, except for their identifiers.
func newCompany(t *testing.T, s *ledgertest.Store, email string) company {
	t.Helper()
	ctx := t.Context()
	account, err := identity.CreateAccount(ctx, s.DB, "Palm Trading LLC", identity.NewUser{Email: email, Name: "Owner",
		PasswordHash: "$hash"})
	kit.Must(t, err)
	connection, err := invoices.AddConnection(ctx, s.DB, account.ID, invoices.NewConnection{Kind: "http",
		Environment: "sandbox", BaseURL: "https://provider.example.com", Credential: secret.New("credential")})
	kit.Must(t, err)
	_, err = invoices.ActivateConnection(ctx, s.DB, connection.ID)
	kit.Must(t, err)
	tenant, err := s.Tenant(ctx, account.ID)
	kit.Must(t, err)
	c := company{tenant: tenant, view: view.Of(tenant)}
	subscription, err := events.CreateSubscription(ctx, tenant, events.NewSubscription{URL: "https://hooks.example.com",
		Events: api.EventKinds[:], Secret: secret.New("whsec_key")})
	kit.Must(t, err)
	c.subscription = subscription.ID
	c.submit(t)
	kit.Must(t, incoming.Seed(ctx, tenant, []incoming.NewIncoming{{ProviderDocumentID: "P-1", InvoiceNumber: new("SUP-1"),
		Metadata: []byte(`{}`), MediaType: "application/xml", Body: []byte("<a/>"), Retained: true}}))
	incoming, err := c.view.IncomingInvoices(ctx, view.IncomingFilter{}, 1, 10)
	kit.Must(t, err)
	c.incoming = incoming.Entries[0]
	_, err = invoices.CreateCreditNote(ctx, tenant, c.submission.Invoice,
		func(*api.Draft, []invoice.Credit) (invoices.NewCreditNote, error) {
			return invoices.NewCreditNote{Number: "CN-1", IssueDate: "2026-03-01", Reason: "returned",
				Credit: invoice.Credit{Kind: api.CreditFull, Total: "10.00"}}, nil
		})
	kit.Must(t, err)
	return c
}

// submit submits an invoice with the number INV-1 and records a response of the provider.
func (c *company) submit(t *testing.T) {
	t.Helper()
	created, err := invoices.Create(t.Context(), c.tenant, draft("INV-1"))
	kit.Must(t, err)
	lease, _, err := invoices.BeginSubmission(t.Context(), c.tenant, created.ID,
		invoices.Intent{Environment: "sandbox", LeaseDuration: time.Minute,
			Render: func(invoices.Source) ([]byte, api.Faults, error) { return []byte(`{}`), nil, nil }})
	kit.Must(t, err)
	report := map[invoice.Dimension]invoice.StoredState{invoice.DimensionReceiver: {Value: "delivered",
		Meaning: api.MeaningPositive}}
	c.submission, err = lease.Record(t.Context(),
		func(_ invoices.Submission, _ bool, now time.Time) (invoices.Decision, error) {
			return invoices.Decision{Responded: true, LastStatus: 200, Outcome: api.OutcomeAcknowledged, Sequence: new(int64(1)),
					DueAt: new(now.Add(time.Hour)), States: invoice.RestoreStates(report),
					WriteStates: slices.Collect(maps.Keys(report)), Events: []api.EventKind{api.EventStatusChanged},
					Evidence: &invoices.NewEvidence{Call: "status", HTTPStatus: 200,
						MediaType: "application/json", Body: []byte(`{}`)}},
				nil
		})
	kit.Must(t, err)
}

func draft(number string) *api.Draft {
	amount, err := api.ParseDecimal("10.00")
	if err != nil {
		panic(err) // a literal
	}
	return &api.Draft{InvoiceNumber: &number, RecipientName: new("Buyer"), TotalAmount: &amount, Currency: new("AED"),
		IssueDate: new("2026-03-01"), Items: []api.Item{{Name: new("Consulting")}}}
}

// TestReadModelsShowOneTenant checks that every list and page of a company has its own rows and none of another company
// with the same data, even if it is asked for the other one's rows.
func TestReadModelsShowOneTenant(t *testing.T) {
	forEachEngine(t, func(t *testing.T, s *ledgertest.Store) {
		ctx, first, second := t.Context(), newCompany(t, s, "first@example.com"), newCompany(t, s, "second@example.com")
		both := []base.ID{first.submission.ID, second.submission.ID, first.incoming.ID, second.incoming.ID}
		lists := map[string]func(c company) (any, error){
			"invoices": func(c company) (any, error) { return c.view.Invoices(ctx, view.InvoiceFilter{}, 1, 10) },
			"found invoices": func(c company) (any, error) {
				return c.view.Invoices(ctx, view.InvoiceFilter{Search: "inv"},
					1, 10)
			},
			"invoices by identifier": func(c company) (any, error) {
				return c.view.InvoicesByID(ctx, []base.ID{first.submission.Invoice, second.submission.Invoice})
			},
			"numbers": func(c company) (any, error) {
				return c.view.InvoiceNumbers(ctx, []base.ID{first.submission.Invoice, second.submission.Invoice})
			},
			"submissions": func(c company) (any, error) {
				return c.view.SubmissionHistory(ctx, view.OfInvoice(c.submission.Invoice), 1, 10)
			},
			"evidence": func(c company) (any, error) {
				return c.view.EvidenceHistory(ctx, view.OfInvoice(c.submission.Invoice), 1, 10)
			},
			"credit notes": func(c company) (any, error) { return c.view.CreditNotes(ctx, view.CreditNoteFilter{}, 1, 10) },
			"found credits": func(c company) (any, error) {
				return c.view.CreditNotes(ctx, view.CreditNoteFilter{Text: "cn"},
					1, 10)
			},
			"incoming": func(c company) (any, error) { return c.view.IncomingInvoices(ctx, view.IncomingFilter{}, 1, 10) },
			"found incoming": func(c company) (any, error) {
				return c.view.IncomingInvoices(ctx, view.IncomingFilter{Text: "sup"}, 1, 10)
			},
			"revisions":     func(c company) (any, error) { return c.view.Revisions(ctx, c.incoming.ID, 1, 10) },
			"subscriptions": func(c company) (any, error) { return c.view.Subscriptions(ctx, 1, 10) },
			"deliveries":    func(c company) (any, error) { return c.view.Deliveries(ctx, view.DeliveryFilter{}, 1, 10) },
			"of subscription": func(c company) (any, error) {
				return c.view.SubscriptionDeliveries(ctx, c.subscription, "", 1,
					10)
			},
			"recent states": func(c company) (any, error) {
				return c.view.RecentStates(ctx, []base.ID{first.subscription, second.subscription}, 9)
			},
			"events":        func(c company) (any, error) { return c.view.ResourceEvents(ctx, both, 10) },
			"notifications": func(c company) (any, error) { return c.view.NotificationSummaries(ctx, both) },
		}
		identifier := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
		for name, read := range lists {
			var shown [2][]string
			for n, c := range []company{first, second} {
				found, err := read(c)
				kit.Must(t, err)
				shown[n] = identifier.FindAllString(fmt.Sprintf("%+v", found), -1)
			}
			if len(shown[0]) == 0 || len(shown[0]) != len(shown[1]) {
				t.Errorf("%s: the companies have %d and %d identifiers", name, len(shown[0]), len(shown[1]))
			}
			for _, id := range shown[0] {
				if slices.Contains(shown[1], id) && id != (base.ID{}).String() { // zero: no other invoice has the number
					t.Errorf("%s: both companies have %s", name, id)
				}
			}
		}
		if _, err := first.view.Revisions(ctx, second.incoming.ID, 1, 10); !errors.Is(err, base.ErrNotFound) {
			t.Errorf("revisions of the other company: %v", err)
		}
	})
}

// TestSummaryAgreesWithInvoice checks that lists and the invoice itself show the same completeness, advice, states and
// submission.
func TestSummaryAgreesWithInvoice(t *testing.T) {
	forEachEngine(t, func(t *testing.T, s *ledgertest.Store) {
		ctx, c := t.Context(), newCompany(t, s, "owner@example.com")
		for _, d := range []*api.Draft{draft("INV-1"), draft("INV-2"),
			{InvoiceNumber: new("INV-3"), DueDate: new("2020-01-01"), IssueDate: new("2026-03-01")}} {
			_, err := invoices.Create(ctx, c.tenant, d)
			kit.Must(t, err)
		}
		profile := &api.Profile{LegalName: new("Palm Trading LLC"), Street: new("1 Creek Road"), City: new("Dubai"),
			Country: new("AE"), EndpointScheme: new("0235")}
		list, err := c.view.Invoices(ctx, view.InvoiceFilter{}, 1, 10)
		kit.Must(t, err)
		if len(list.Entries) != 4 {
			t.Fatalf("%d invoices", len(list.Entries))
		}
		for n, format := range slices.Repeat([]document.Profile{"", document.PINTAE, document.BIS3}, len(list.Entries)) {
			seller, row := view.Seller{Profile: profile, Format: format}, []invoices.InvoiceRow{list.Entries[n/3]}
			kit.Must(t, c.view.AddNeeds(ctx, row, seller, func(int) error { return nil }))
			found, err := invoices.Find(ctx, c.tenant, row[0].ID)
			kit.Must(t, err)
			whole, summary := view.Invoice(found, seller), view.InvoiceSummary(row[0], seller)
			if summary.MissingCount != len(whole.Missing) || summary.WarningCount != len(whole.Warnings) ||
				summary.ItemCount != len(whole.Items) {
				t.Errorf("%s: counts %d, %d and %d, want %d, %d and %d", *summary.InvoiceNumber, summary.MissingCount,
					summary.WarningCount, summary.ItemCount, len(whole.Missing), len(whole.Warnings), len(whole.Items))
			}
			// What both have by the same name is equal.
			for name, value := range fields(t, summary) {
				if other, shared := fields(t, whole)[name]; shared && !reflect.DeepEqual(value, other) {
					t.Errorf("%s: %s is %v in the list, and %v in the invoice", *summary.InvoiceNumber, name, value, other)
				}
			}
		}
	})
}

// fields returns the fields of a value as JSON has them.
func fields(t *testing.T, value any) (out map[string]any) {
	t.Helper()
	text, err := json.Marshal(value)
	kit.Must(t, err)
	kit.Must(t, json.Unmarshal(text, &out))
	return out
}
