package remote

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"quittance/client"
	"quittance/client/api"
	"quittance/client/receiver"
)

type webhooksCmd struct {
	List       webhooksListCmd       `cmd:"" help:"List webhook subscriptions."`
	Get        webhooksGetCmd        `cmd:"" help:"Show a webhook subscription."`
	Create     webhooksCreateCmd     `cmd:"" help:"Subscribe a destination. The signing secret is shown once."`
	Deactivate webhooksDeactivateCmd `cmd:"" help:"Deactivate a webhook subscription for good."`
	Verify     webhooksVerifyCmd     `cmd:"" help:"Verify the signature of a webhook whose body is read from standard input."`
}

type webhooksListCmd struct{ listing }

// Help is shown by --help.
func (webhooksListCmd) Help() string { return "Example:\n  quittance webhooks list" }

// Run lists subscriptions.
func (c webhooksListCmd) Run(env Environment) error {
	return list(env, c.listing, []string{"id", "active", "url", "events", "created_at", "deactivation_reason"},
		func(s *client.Client, page client.Paging) (api.List[api.Subscription], error) {
			return s.Subscriptions(env.Context, page)
		})
}

type webhooksGetCmd struct{ identified }

// Help is shown by --help.
func (webhooksGetCmd) Help() string {
	return "Example:\n  quittance webhooks get 01890a5d-ac96-774b-bcce-b302099a8057"
}

// Run shows a subscription.
func (c webhooksGetCmd) Run(env Environment) error {
	return one(env, c.output, func(s *client.Client) (api.Subscription, error) { return s.Subscription(env.Context, c.ID) })
}

type webhooksCreateCmd struct {
	output
	URL         string   `name:"url" env:"-" required:"" placeholder:"URL" help:"HTTPS address that the events are sent to."`
	Events      []string `env:"-" placeholder:"EVENT" help:"Kinds of events to send; all by default."`
	Description string   `env:"-" placeholder:"TEXT" help:"A note for people."`
}

// Help is shown by --help.
func (webhooksCreateCmd) Help() string {
	return "Example:\n  quittance webhooks create --url https://erp.example.com/hooks --events einvoice.terminal"
}

// Run creates a subscription.
func (c webhooksCreateCmd) Run(env Environment) error {
	request := api.SubscriptionRequest{URL: &c.URL, Events: c.Events}
	if c.Description != "" {
		request.Description = &c.Description
	}
	return one(env, c.output, func(s *client.Client) (api.NewSubscription, error) { return s.CreateSubscription(env.Context, request) })
}

type webhooksDeactivateCmd struct{ identified }

// Help is shown by --help.
func (webhooksDeactivateCmd) Help() string {
	return "Example:\n  quittance webhooks deactivate 01890a5d-ac96-774b-bcce-b302099a8057"
}

// Run deactivates a subscription.
func (c webhooksDeactivateCmd) Run(env Environment) error {
	return one(env, c.output, func(s *client.Client) (api.Subscription, error) { return s.DeactivateSubscription(env.Context, c.ID) })
}

type webhooksVerifyCmd struct {
	SecretFile string        `required:"" placeholder:"FILE" help:"File with the signing secret of the subscription."`
	Timestamp  string        `required:"" env:"-" help:"Value of the header X-Webhook-Timestamp."`
	Signature  string        `required:"" env:"-" help:"Value of the header X-Webhook-Signature."`
	Tolerance  time.Duration `default:"168h" help:"Greatest age of the event."`
}

// Help is shown by --help.
func (webhooksVerifyCmd) Help() string {
	return `The body must be the bytes that were received. The exit status is 0 if the signature is valid, and 1 with the reason if it is not.
No server is asked.

Example:
  quittance webhooks verify --secret-file secret.txt --timestamp 2026-03-01T09:30:00.000000Z --signature v1=5e4f < body.json`
}

// maxBody is the largest body that is verified, in bytes.
const maxBody = 1 << 20

// Run verifies a webhook.
func (c webhooksVerifyCmd) Run(env Environment) error {
	secret, err := os.ReadFile(c.SecretFile)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(env.In, maxBody+1))
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	if len(body) > maxBody {
		return fmt.Errorf("standard input has more than %d bytes", maxBody)
	}
	header := http.Header{}
	header.Set(api.HeaderTimestamp, c.Timestamp)
	header.Set(api.HeaderSignature, c.Signature)
	// The two other headers are not signed, and not given here: they are those of the body.
	var named struct {
		ID    string `json:"id"`
		Event string `json:"event"`
	}
	if err := json.Unmarshal(body, &named); err == nil {
		header.Set(api.HeaderDelivery, named.ID)
		header.Set(api.HeaderEvent, named.Event)
	}
	verifier := receiver.Verifier{Secrets: []string{strings.TrimSpace(string(secret))}, Tolerance: c.Tolerance}
	event, err := verifier.Verify(header, body)
	if err != nil {
		return fmt.Errorf("not valid: %w", err)
	}
	_, err = fmt.Fprintf(env.Out, "valid: %s %s of %s\n", event.Event, event.ID, event.OccurredAt)
	return err
}

type deliveriesCmd struct {
	List   deliveriesListCmd   `cmd:"" help:"List webhook deliveries, newest first."`
	Get    deliveriesGetCmd    `cmd:"" help:"Show a delivery with every attempt."`
	Resend deliveriesResendCmd `cmd:"" help:"Send a delivery again, under the same event identifier."`
}

type deliveriesListCmd struct {
	listing
	SubscriptionID string `env:"-" name:"subscription-id" placeholder:"ID" help:"Only those to this subscription."`
	EventID        string `env:"-" name:"event-id" placeholder:"ID" help:"Only those of this event."`
	Event          string `env:"-" placeholder:"EVENT" help:"Only those of this kind of event."`
	State          string `env:"-" placeholder:"STATE" help:"Only those in this state: pending, delivered, failed or blocked."`
}

// Help is shown by --help.
func (deliveriesListCmd) Help() string {
	return "Example:\n  quittance deliveries list --state failed"
}

// Run lists deliveries.
func (c deliveriesListCmd) Run(env Environment) error {
	query := client.DeliveryQuery{SubscriptionID: c.SubscriptionID, EventID: c.EventID, Event: api.EventKind(c.Event), State: api.DeliveryState(c.State)}
	return list(env, c.listing, []string{"id", "state", "reason", "event", "attempt_count", "created_at", "next_attempt_at", "subscription_id", "event_id"},
		func(s *client.Client, page client.Paging) (api.List[api.Delivery], error) {
			query.Paging = page
			return s.Deliveries(env.Context, query)
		})
}

type deliveriesGetCmd struct{ identified }

// Help is shown by --help.
func (deliveriesGetCmd) Help() string {
	return "Example:\n  quittance deliveries get 01890a5d-ac96-774b-bcce-b302099a8057"
}

// Run shows a delivery.
func (c deliveriesGetCmd) Run(env Environment) error {
	return one(env, c.output, func(s *client.Client) (api.DeliveryDetail, error) { return s.Delivery(env.Context, c.ID) })
}

type deliveriesResendCmd struct{ identified }

// Help is shown by --help.
func (deliveriesResendCmd) Help() string {
	return "Example:\n  quittance deliveries resend 01890a5d-ac96-774b-bcce-b302099a8057"
}

// Run sends a delivery again.
func (c deliveriesResendCmd) Run(env Environment) error {
	return one(env, c.output, func(s *client.Client) (api.DeliveryDetail, error) { return s.Redeliver(env.Context, c.ID) })
}
