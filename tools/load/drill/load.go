package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"quittance/client"
	"quittance/client/api"
	"quittance/sandbox/fakeprovider"
	"quittance/tools/load/rig"
)

// The load of a company.
const (
	clientsPerCompany = 2
	// rest is how long a client rests between two invoices, so that a small machine can follow.
	rest = 50 * time.Millisecond
	// eventPage is how many events the reader of the feed asks for at a time.
	eventPage = 100
	// creditAfter is the age of a submission whose invoice is then credited: the provider has accepted it by then.
	creditAfter = 3 * time.Second
	// purchasePause is the time between two e-invoices that the provider receives for the companies.
	purchasePause = time.Second
)

// recipients are the recipients of the invoices: ordinary ones, some for which the provider accepts the document and
// its answer is lost, and one that it rejects.
var recipients = [...]string{rig.Ordinary, rig.Ordinary, rig.Ordinary, "sandbox-drop-after-accept", //nolint:gochecknoglobals // a constant
	rig.Ordinary, "sandbox-503-after-accept", rig.Ordinary, "sandbox-rejected-validation"}

// LoadOptions configures [Load].
type LoadOptions struct {
	Keys     string  // directory with an API key *.key for each company, with the scopes read, write, submit and webhooks
	Servers  Servers // file
	Journal  string  // file
	Receiver string  // URL that [Receive] is ready with
	// Provider is the URL of the provider sandbox of all companies, and ProviderCredential what it wants to be called
	// with.
	Provider, ProviderCredential string
	Now                          func() time.Time
}

// Load subscribes the receiver to all events of each company, and then creates, changes, submits and credits invoices,
// lets the provider receive others, and reads the events, until ctx ends. Everything that is acknowledged is in the
// journal before the next call. It returns an error if the service refuses a call that it should accept.
func Load(ctx context.Context, o LoadOptions) (err error) {
	all, err := companies(o.Keys, o.Servers)
	if err != nil {
		return err
	}
	journal, err := openJournal(o.Journal, o.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.close()) }()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	run := func(do func() error) {
		running.Go(func() {
			if err := do(); err != nil && ctx.Err() == nil {
				stop(err)
			}
		})
	}
	loads := make([]*load, len(all))
	for n, company := range all { // before anything runs that would use the journal after an error
		loads[n] = &load{company: company, journal: journal, options: o}
		if err := loads[n].subscribe(ctx); err != nil {
			return err
		}
	}
	for _, l := range loads {
		for worker := range clientsPerCompany {
			run(func() error { return l.invoices(ctx, worker) })
		}
		run(func() error { return l.events(ctx) })
	}
	run(func() error { return purchases(ctx, journal, o) })
	running.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// load is the load of one company.
type load struct {
	*company
	journal *journal
	options LoadOptions
}

// acknowledged makes a call until it is answered, and records the answer. identify returns the identifier of what the
// answer is about.
func acknowledged[T any](ctx context.Context, l *load, fact Fact, identify func(T) string,
	do func(*client.Client) (T, error)) (answer T, err error) {
	if answer, err = persist(ctx, l.company, do); err != nil {
		return answer, fmt.Errorf("company %s, %s %s: %w", l.name, fact.Kind, fact.Key, err)
	}
	fact.Company, fact.ID = l.name, identify(answer)
	if fact.Response, err = json.Marshal(answer); err != nil {
		return answer, fmt.Errorf("journal: %w", err)
	}
	return answer, l.journal.add(fact)
}

func invoiceID(i api.Invoice) string   { return i.ID }
func creditID(n api.CreditNote) string { return n.ID }

func (l *load) subscribe(ctx context.Context) error {
	hook := api.SubscriptionRequest{URL: new(l.options.Receiver + "/" + l.name)}
	_, err := acknowledged(ctx, l, Fact{Kind: kindHook}, func(s api.Subscription) string { return s.ID },
		func(c *client.Client) (api.Subscription, error) {
			made, err := c.CreateSubscription(ctx, hook, client.IdempotencyKey("drill-subscription-"+l.name))
			if errors.Is(err, client.ErrSecretLost) {
				err = nil // the answer to the first attempt was lost, and nothing here verifies signatures
			}
			return made.Subscription, err // without the signing secret
		})
	return err
}

// sent is a submission that was acknowledged.
type sent struct {
	invoice api.Invoice
	at      time.Time
}

// invoices creates invoices one after another, and does with each what its number says.
func (l *load) invoices(ctx context.Context, worker int) error {
	var creditable []sent
	for n := 1; ; n++ {
		if err := rig.Sleep(ctx, rest); err != nil {
			return err
		}
		number := fmt.Sprintf("%s-%d-%05d", strings.ToUpper(l.name), worker, n)
		invoice, err := l.draft(ctx, number, recipients[n%len(recipients)])
		if err == nil && n%5 == 0 {
			err = l.change(ctx, invoice, number)
		}
		if err != nil {
			return err
		}
		if n%6 == 0 {
			continue // it stays a draft
		}
		if err := l.journal.add(Fact{Company: l.name, Kind: kindSubmitting, ID: invoice.ID}); err != nil {
			return err
		}
		submitted, err := acknowledged(ctx, l, Fact{Kind: kindSubmission}, invoiceID,
			func(c *client.Client) (api.Invoice, error) { return submit(ctx, c, invoice.ID) })
		if err != nil {
			return err
		}
		if submitted.Submission.Outcome == api.OutcomeAcknowledged && n%4 == 0 {
			creditable = append(creditable, sent{submitted, l.options.Now()})
		}
		if len(creditable) > 0 && l.options.Now().Sub(creditable[0].at) > creditAfter {
			if err := l.credit(ctx, creditable[0].invoice, "CN-"+number); err != nil {
				return err
			}
			creditable = creditable[1:]
		}
	}
}

// submit submits an invoice. A call in progress, perhaps by a server that has died, is waited for.
func submit(ctx context.Context, c *client.Client, id string) (api.Invoice, error) {
	for {
		invoice, err := c.Submit(ctx, id)
		failed, answered := errors.AsType[*client.ResponseError](err)
		if !answered || failed.Err == nil || failed.Err.Code != api.CodeSubmissionInProgress {
			return invoice, err
		}
		if err := rig.Sleep(ctx, pause); err != nil {
			return invoice, err
		}
	}
}

func (l *load) draft(ctx context.Context, number, recipient string) (api.Invoice, error) {
	draft := rig.Draft(number, recipient, 1, l.options.Now())
	request, err := json.Marshal(draft)
	if err != nil {
		return api.Invoice{}, fmt.Errorf("journal: %w", err)
	}
	key := "drill-" + number
	return acknowledged(ctx, l, Fact{Kind: kindDraft, Key: key, Request: request}, invoiceID,
		func(c *client.Client) (api.Invoice, error) {
			return c.CreateInvoice(ctx, draft, client.IdempotencyKey(key))
		})
}

// change changes the buyer's reference of a draft. The intention is recorded too, because a change that got no answer
// may have happened.
func (l *load) change(ctx context.Context, invoice api.Invoice, number string) error {
	patch := map[string]any{"buyer_reference": "changed " + number}
	request, err := json.Marshal(patch)
	if err == nil {
		err = l.journal.add(Fact{Company: l.name, Kind: kindChanging, ID: invoice.ID, Request: request})
	}
	if err != nil {
		return err
	}
	_, err = acknowledged(ctx, l, Fact{Kind: kindChange, Request: request}, invoiceID,
		func(c *client.Client) (api.Invoice, error) {
			return c.PatchInvoice(ctx, invoice.ID, patch, client.IdempotencyKey("drill-change-"+number))
		})
	return err
}

// credit credits an invoice in full and submits the credit note.
func (l *load) credit(ctx context.Context, invoice api.Invoice, number string) error {
	request := api.CreditNoteRequest{InvoiceID: &invoice.ID, CreditNoteNumber: &number,
		IssueDate: new(l.options.Now().Format(time.DateOnly)), Reason: new("A drill."), Kind: new(api.CreditFull)}
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	key := "drill-" + number
	note, err := acknowledged(ctx, l, Fact{Kind: kindCredit, Key: key, Request: body}, creditID,
		func(c *client.Client) (api.CreditNote, error) {
			return c.CreateCreditNote(ctx, request, client.IdempotencyKey(key))
		})
	if err != nil {
		return err
	}
	if err := l.journal.add(Fact{Company: l.name, Kind: kindCreditSending, ID: note.ID}); err != nil {
		return err
	}
	_, err = acknowledged(ctx, l, Fact{Kind: kindCreditSent}, creditID,
		func(c *client.Client) (api.CreditNote, error) { return submitCredit(ctx, c, note.ID) })
	return err
}

// submitCredit is submit for a credit note.
func submitCredit(ctx context.Context, c *client.Client, id string) (api.CreditNote, error) {
	for {
		note, err := c.SubmitCreditNote(ctx, id)
		failed, answered := errors.AsType[*client.ResponseError](err)
		if !answered || failed.Err == nil || failed.Err.Code != api.CodeSubmissionInProgress {
			return note, err
		}
		if err := rig.Sleep(ctx, pause); err != nil {
			return note, err
		}
	}
}

// events reads the feed and records every event with its position.
func (l *load) events(ctx context.Context) error {
	after := ""
	for {
		feed, err := persist(ctx, l.company, func(c *client.Client) (api.Feed[api.Event[json.RawMessage]], error) {
			return c.Events(ctx, after, eventPage)
		})
		if err != nil {
			return err
		}
		facts, err := eventFacts(l.name, after, feed)
		if err != nil {
			return err
		}
		if len(facts) > 0 {
			if err := l.journal.add(facts...); err != nil {
				return err
			}
		}
		after = feed.Pagination.NextCursor
		if !feed.Pagination.HasMore {
			if err := rig.Sleep(ctx, 2*pause); err != nil {
				return err
			}
		}
	}
}

// purchases lets the provider receive e-invoices for the companies, which all see the same ones.
func purchases(ctx context.Context, journal *journal, o LoadOptions) error {
	httpClient := &http.Client{Timeout: callTimeout}
	for n := 1; ; n++ {
		purchase, document, err := fakeprovider.SyntheticPurchase{ID: fmt.Sprintf("DRILL-%05d", n),
			Number: fmt.Sprintf("SUP-%05d", n), Revision: 1, Hours: 1 + n%7, Issued: o.Now()}.Render()
		if err != nil {
			return err
		}
		body, err := json.Marshal(struct {
			fakeprovider.Purchase
			Document []byte `json:"document_base64"`
		}{purchase, document})
		if err != nil {
			return fmt.Errorf("purchase: %w", err)
		}
		if _, err := callProvider(ctx, httpClient, http.MethodPost, o.Provider+"/control/purchases", o.ProviderCredential,
			body, http.StatusCreated); err != nil {
			return err
		}
		if err := journal.add(Fact{Kind: kindPurchase, ID: purchase.ID}); err != nil {
			return err
		}
		if err := rig.Sleep(ctx, purchasePause); err != nil {
			return err
		}
	}
}

// maxProviderBody bounds a response of the provider sandbox, whose ledger has some hundred bytes for each document.
const maxProviderBody = 256 << 20

// callProvider calls the provider sandbox and returns the body of its response.
func callProvider(ctx context.Context, c *http.Client, method, url, credential string, body []byte,
	want int) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+credential)
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.Do(request)
	if err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // it is only read
	text, err := io.ReadAll(io.LimitReader(response.Body, maxProviderBody))
	if err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	if response.StatusCode != want {
		return nil, fmt.Errorf("provider: %s %s: status %d: %.300s", method, url, response.StatusCode, text)
	}
	return text, nil
}
