package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"quittance/client"
	"quittance/client/api"
)

// scenario is a story that trigger plays.
type scenario struct {
	name, help string
	// recipient is the magic recipient of the invoice that is submitted; docs/sandbox.md says what each of them does.
	recipient string
	// play is what is done instead of a submission; nil for a submission alone.
	play func(*player) error
	// wants are the lines that must have been printed for the scenario to have happened as named, in any order and without
	// the spaces for alignment; "|" separates alternatives.
	wants []string
}

// scenarios lists the scenarios in the order in which they are shown.
func scenarios() []scenario {
	accepted := []string{"submission acknowledged", "state submission_state accepted_by_provider",
		"state provider_invoice_state accepted", "state tax_authority_state accepted", "state receiver_state accepted"}
	return []scenario{
		{name: "accepted", help: "Everybody accepts an invoice.", recipient: "sandbox-accepted", wants: accepted},
		{name: "processing", help: "The provider accepts an invoice after two seconds.", recipient: "sandbox-processing",
			wants: append([]string{"response submit 202 Accepted"}, accepted...)},
		{name: "rejected-by-provider", help: "The provider rejects an invoice.", recipient: "sandbox-rejected-validation",
			wants: []string{"submission rejected", "state submission_state rejected_by_provider"}},
		{name: "rejected-by-authority", help: "The tax authority rejects an invoice.",
			recipient: "sandbox-rejected-authority", wants: []string{"state tax_authority_state rejected"}},
		{name: "rejected-by-receiver", help: "The receiver rejects an invoice.", recipient: "sandbox-rejected-receiver",
			wants: []string{"state receiver_state rejected"}},
		{name: "receiver-not-found", help: "An invoice cannot be delivered to its receiver.",
			recipient: "sandbox-receiver-not-found", wants: []string{"state receiver_state undeliverable"}},
		{name: "reopened", help: "The tax authority accepts an invoice, reviews it again and rejects it.",
			recipient: "sandbox-reopened",
			// The service can miss one of the earlier values between two queries.
			wants: []string{"state tax_authority_state accepted|state tax_authority_state under_review",
				"state tax_authority_state rejected"}},
		{name: "unknown-outcome",
			help:      "The connection breaks during the submission, and the service finds out what happened.",
			recipient: "sandbox-drop-after-accept",
			wants:     append([]string{"response submit none"}, accepted...)},
		{name: "provider-busy", help: "The provider refuses the first call, and the submission is repeated.",
			recipient: "sandbox-429-once", wants: append([]string{"response submit 429 Too Many Requests"}, accepted...)},
		{name: "incoming", help: "A supplier sends an e-invoice.", play: func(p *player) error { return p.incoming(false) }},
		{name: "incoming-changed", help: "A supplier sends an e-invoice and then changes it.",
			play: func(p *player) error { return p.incoming(true) }},
		{name: "failing-delivery", help: "A webhook subscription answers with 503.", recipient: "sandbox-accepted",
			play: (*player).failingDelivery, wants: accepted},
	}
}

type triggerCmd struct {
	target
	Name string        `arg:"" optional:"" help:"Name of the scenario."`
	List bool          `env:"-" help:"List the scenarios."`
	Wait time.Duration `env:"-" default:"5m" help:"How long to wait for what the scenario makes happen."`
}

// Help is shown by --help.
func (triggerCmd) Help() string {
	return `Acts over the API like any program, and is refused unless the company is connected to the provider of a sandbox.
The exit status is 0 if the scenario happened as it is named, and otherwise 1.

Example:
  quittance trigger --list
  quittance trigger rejected-by-authority`
}

// Validate rejects a scenario that does not exist.
func (c triggerCmd) Validate() error {
	err := c.target.Validate()
	if c.Wait <= 0 {
		err = errors.Join(err, fmt.Errorf("--wait must be positive, and is %s", c.Wait))
	}
	var names []string
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	switch {
	case c.List || slices.Contains(names, c.Name):
		return err
	case c.Name == "":
		return errors.Join(err, fmt.Errorf("specify the name of a scenario, which quittance trigger --list explains: %s",
			words(names)))
	}
	return errors.Join(err,
		fmt.Errorf("there is no scenario %q; quittance trigger --list explains those that there are: %s", c.Name,
			words(names)))
}

// Run plays a scenario.
func (c triggerCmd) Run(env Environment) error {
	if c.List {
		table := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
		for _, s := range scenarios() {
			fmt.Fprintf(table, "%s\t%s\n", s.name, s.help) // tabwriter keeps an error of its output for Flush
		}
		return table.Flush()
	}
	at := slices.IndexFunc(scenarios(), func(s scenario) bool { return s.name == c.Name })
	profile, service, err := c.connect()
	if err != nil {
		return err
	}
	account, err := service.Account(env.Context)
	if err != nil {
		return explained(err)
	}
	if err := checkSandbox(profile, account); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(env.Context, c.Wait)
	defer cancel()
	p := &player{env: env, ctx: ctx, scenario: scenarios()[at], profile: profile, service: service}
	if play := p.scenario.play; play != nil {
		err = play(p)
	} else {
		err = p.submission()
	}
	if env.Context.Err() == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("not everything has happened within %s (--wait); the sandbox goes on", c.Wait)
	}
	return explained(err)
}

// checkSandbox returns an error unless what is submitted goes to the provider of a sandbox.
func checkSandbox(p Profile, account api.Account) error {
	if strings.HasPrefix(p.Credential.Reveal(), "qk_production_") {
		return errors.New("scenarios are for sandboxes: this is a key for production")
	}
	if c := account.Connection; c == nil || c.Environment != "sandbox" {
		return errors.New("scenarios are for sandboxes: the company is not connected to the sandbox of a provider")
	}
	return nil
}

// player plays one scenario.
type player struct {
	env      Environment
	ctx      context.Context //nolint:containedctx // of the one command
	scenario scenario
	profile  Profile
	service  *client.Client
	// told holds the lines that were printed, without the spaces for alignment.
	told []string
}

// tell prints a line about something that has happened.
func (p *player) tell(what, format string, args ...any) error {
	line := fmt.Sprintf("%-11s %s", what, fmt.Sprintf(format, args...))
	p.told = append(p.told, strings.TrimSuffix(strings.Join(strings.Fields(line), " "), final))
	_, err := fmt.Fprintln(p.env.Out, line)
	return err
}

// final follows a state value that the provider calls final.
const final = " (final)"

// check returns an error if something that the scenario is named after was not printed.
func (p *player) check() error {
	for _, want := range p.scenario.wants {
		if !slices.ContainsFunc(strings.Split(want, "|"), func(line string) bool { return slices.Contains(p.told, line) }) {
			return fmt.Errorf("the scenario did not happen as it is named: there was no %q", want)
		}
	}
	return nil
}

// newName returns a name that no other run has.
func newName(prefix string) (string, error) {
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	return prefix + "-" + hex.EncodeToString(random[:]), nil
}

// submission creates a draft, submits it and shows the states until they are final or the invoice is rejected.
func (p *player) submission() error {
	number, err := newName("TRIGGER")
	if err != nil {
		return err
	}
	draft, err := p.service.CreateInvoice(p.ctx, exampleDraft(number, p.scenario.recipient, p.env.Now()))
	if err != nil {
		return err
	}
	if err := p.tell("draft", "%s  %s", number, draft.ID); err != nil {
		return err
	}
	invoice, err := p.submit(draft.ID)
	if err != nil {
		return err
	}
	h := history{page: 1, shown: map[string]string{}, seen: map[string]bool{}}
	for {
		if err := p.changes(invoice, &h); err != nil {
			return err
		}
		if ended(invoice) {
			return p.check()
		}
		if err := sleep(p.ctx, feedInterval); err != nil {
			return err
		}
		if invoice, err = p.service.Invoice(p.ctx, draft.ID); err != nil {
			return err
		}
	}
}

// maxSubmits is how often a submission that the provider has refused for the moment is repeated.
const maxSubmits = 5

// submit submits a draft. A provider that is busy is asked again, as a program would do.
func (p *player) submit(id string) (api.Invoice, error) {
	for n := 1; ; n++ {
		// The SDK repeats such a call too; a call that gets 502 for long is shown here.
		invoice, err := p.service.Submit(p.ctx, id)
		failed, ok := errors.AsType[*api.Error](err)
		if !ok || failed.Code != api.CodeProviderError || n == maxSubmits {
			return invoice, err
		}
		if err := p.tell("refused", "%s", failed.Message); err != nil {
			return invoice, err
		}
		if err := sleep(p.ctx, feedInterval); err != nil {
			return invoice, err
		}
	}
}

// incoming makes a supplier send an e-invoice, and change it, and waits until the service has it.
func (p *player) incoming(changed bool) error {
	id, err := newName("P")
	if err != nil {
		return err
	}
	f := feed{env: p.env, service: p.service, wait: sleep}
	after, err := f.end(p.ctx)
	if err != nil {
		return err
	}
	if err := p.supply(id, "sent"); err != nil {
		return err
	}
	wanted := []api.EventKind{api.EventIncomingReceived}
	if changed {
		wanted = append(wanted, api.EventIncomingRevised)
	}
	for {
		page, err := f.read(p.ctx, after)
		if err != nil {
			return err
		}
		for _, e := range page.Data {
			if subject(e) != id || e.Event != wanted[0] {
				continue
			}
			if err := p.received(e); err != nil {
				return err
			}
			if wanted = wanted[1:]; len(wanted) == 0 {
				return nil
			}
			if err := p.supply(id, "changed"); err != nil {
				return err
			}
		}
		after = page.Pagination.NextCursor
		if err := sleep(p.ctx, feedInterval); err != nil {
			return err
		}
	}
}

// received prints an event of an incoming e-invoice, with its number and revision.
func (p *player) received(e event) error {
	invoice, err := p.service.IncomingInvoice(p.ctx, e.ResourceID)
	if err != nil {
		return err
	}
	number := "without a number"
	if invoice.InvoiceNumber != nil {
		number = *invoice.InvoiceNumber
	}
	return p.tell("event", "%s  %s  revision %d  %s", e.Event, number, invoice.Revision, invoice.ID)
}

// supply makes the provider of the sandbox have a new e-invoice, or a new revision of it.
func (p *player) supply(id, what string) error {
	s := p.profile.Simulated
	if s == nil {
		return errNoSimulated
	}
	body, err := encode(map[string]string{"id": id})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(p.ctx, http.MethodPost, s.ProviderURL+"/control/purchases/synthetic",
		bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+s.Credential.Reveal())
	response, err := localClient().Do(request)
	if err != nil {
		return fmt.Errorf("the provider of the sandbox: %w", err)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if response.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("the provider of the sandbox answers with %d: %s", response.StatusCode, answer)
	}
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	return p.tell("supplier", "document %s %s; the service fetches it with its next query, by default within a minute", id,
		what)
}

var errNoSimulated = errors.New(
	"this scenario controls the provider of a sandbox on this machine: start quittance sandbox, and use --profile " +
		SandboxProfile)

// failingDelivery subscribes an address that answers with 503, and shows an attempt to deliver to it. It deactivates
// the subscription at the end.
func (p *player) failingDelivery() (err error) {
	s := p.profile.Simulated
	if s == nil {
		return errNoSimulated
	}
	destination := strings.TrimSuffix(s.ReceiverURL, "/hooks") + "/status/503"
	subscription, err := p.service.CreateSubscription(p.ctx,
		api.SubscriptionRequest{URL: &destination, Description: new("quittance trigger failing-delivery")})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), loginPatience)
		defer cancel()
		if _, failed := p.service.DeactivateSubscription(ctx, subscription.ID); failed != nil {
			err = errors.Join(err, fmt.Errorf("deactivate the subscription %s: %w", subscription.ID, failed))
			return
		}
		err = errors.Join(err, p.tell("deactivated", "%s", subscription.ID))
	}()
	if err := p.tell("subscribed", "%s  %s", destination, subscription.ID); err != nil {
		return err
	}
	if err := p.submission(); err != nil {
		return err
	}
	for {
		found, err := p.service.Deliveries(p.ctx, client.DeliveryQuery{SubscriptionID: subscription.ID})
		if err != nil {
			return err
		}
		for _, d := range found.Data {
			if failed, err := p.failed(d.ID); err != nil || failed {
				return err
			}
		}
		if err := sleep(p.ctx, feedInterval); err != nil {
			return err
		}
	}
}

// failed prints a delivery and reports true if an attempt got 503 and another is to follow.
func (p *player) failed(id string) (bool, error) {
	d, err := p.service.Delivery(p.ctx, id)
	if err != nil || d.NextAttemptAt == nil {
		return false, err
	}
	for _, attempt := range d.Attempts {
		if attempt.HTTPStatus != nil && *attempt.HTTPStatus == http.StatusServiceUnavailable {
			return true, p.tell("delivery", "%s  %s  answered with 503, next attempt at %s", d.ID, d.Event,
				d.NextAttemptAt.UTC().Format(time.TimeOnly+" MST"))
		}
	}
	return false, nil
}

// exampleDraft returns a complete draft.
func exampleDraft(number, recipient string, now time.Time) api.Draft {
	decimal := func(text string) *api.Decimal { return new(api.MustDecimal(text)) }
	return api.Draft{InvoiceNumber: &number, RecipientName: new("Palm Trading LLC"), RecipientNetworkID: &recipient,
		BuyerEndpointScheme: new("0235"), BuyerStreet: new("12 Harbour Road"), BuyerCity: new("Dubai"),
		BuyerSubdivision: new("DXB"), BuyerCountry: new("AE"), BuyerTaxID: new("123456789012303"),
		TotalAmount: decimal("1050.00"), Currency: new("AED"),
		IssueDate:        new(now.Format(time.DateOnly)),
		DueDate:          new(now.AddDate(0, 0, 30).Format(time.DateOnly)),
		PaymentMeansCode: new("30"), Items: []api.Item{{Name: new("Consulting"), Description: new("Integration workshop"),
			UnitCode: new("HUR"), Quantity: decimal("10"), NetUnitPrice: decimal("100.00"), VATCategory: new("S"),
			VATRate: decimal("5")}}}
}
