package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
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
	return list(env, c.listing, []string{"id", "active", "url", "events", "created_at", "deactivation_reason",
		"failing_since"},
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
	return one(env, c.output, func(s *client.Client) (api.Subscription,
		error) {
		return s.Subscription(env.Context, c.ID)
	})
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
	return one(env, c.output, func(s *client.Client) (api.NewSubscription,
		error) {
		return s.CreateSubscription(env.Context, request)
	})
}

type webhooksDeactivateCmd struct{ identified }

// Help is shown by --help.
func (webhooksDeactivateCmd) Help() string {
	return "Example:\n  quittance webhooks deactivate 01890a5d-ac96-774b-bcce-b302099a8057"
}

// Run deactivates a subscription.
func (c webhooksDeactivateCmd) Run(env Environment) error {
	return one(env, c.output, func(s *client.Client) (api.Subscription,
		error) {
		return s.DeactivateSubscription(env.Context, c.ID)
	})
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
  quittance webhooks verify --secret-file secret.txt --timestamp 2026-03-01T09:30:00.000000Z \
    --signature v1=bfa4070535a39003625f2b391408588ef11b7c72e6173dce9067717a5212454b < body.json`
}

// Validate rejects an age that no event can have.
func (c webhooksVerifyCmd) Validate() error {
	if c.Tolerance <= 0 {
		return fmt.Errorf("--tolerance must be positive, and is %s", c.Tolerance)
	}
	return nil
}

// maxBody is the largest body that is verified, in bytes.
const maxBody = 1 << 20

// signatureForm is the form of the header X-Webhook-Signature.
var signatureForm = regexp.MustCompile(`^v1=[0-9a-f]{64}$`)

// Run verifies a webhook.
func (c webhooksVerifyCmd) Run(env Environment) error {
	secret, body, err := c.given(env)
	if err != nil {
		return err
	}
	if err := c.malformed(body); err != nil {
		return fmt.Errorf("not valid: %w", err)
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
	verifier := receiver.Verifier{Secrets: []string{secret}, Tolerance: c.Tolerance, Now: env.Now}
	event, err := verifier.Verify(header, body)
	if err != nil {
		return fmt.Errorf("not valid: %w", err)
	}
	_, err = fmt.Fprintf(env.Out, "valid: %s %s of %s\n", event.Event, event.ID, event.OccurredAt)
	return err
}

// given reads the secret and the body.
func (c webhooksVerifyCmd) given(env Environment) (secret string, body []byte, err error) {
	text, err := os.ReadFile(c.SecretFile)
	if err != nil {
		return "", nil, fmt.Errorf("--secret-file: %w", err)
	}
	if secret = strings.TrimSpace(string(text)); secret == "" {
		return "", nil, fmt.Errorf("--secret-file: %s is empty", c.SecretFile)
	}
	if body, err = io.ReadAll(io.LimitReader(env.In, maxBody+1)); err != nil {
		return "", nil, fmt.Errorf("read standard input: %w", err)
	}
	if len(body) > maxBody {
		return "", nil, fmt.Errorf("standard input has more than %d bytes", maxBody)
	}
	return secret, body, nil
}

// malformed returns an error if a value cannot be that of any webhook, which is more useful than a signature that does
// not match.
func (c webhooksVerifyCmd) malformed(body []byte) error {
	if !signatureForm.MatchString(c.Signature) {
		return fmt.Errorf("--signature: %q is not v1= and 64 lowercase hexadecimal digits, as in the header %s", c.Signature,
			api.HeaderSignature)
	}
	if _, err := time.Parse(time.RFC3339Nano, c.Timestamp); err != nil {
		return fmt.Errorf("--timestamp: %q is not a time such as 2026-03-01T09:30:00.000000Z, as in the header %s",
			c.Timestamp, api.HeaderTimestamp)
	}
	if len(body) == 0 {
		return errors.New("standard input is empty; it must be the body as it was received")
	}
	if !json.Valid(body) {
		return errors.New("standard input is not JSON; it must be the body as it was received")
	}
	return nil
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
	query := client.DeliveryQuery{SubscriptionID: c.SubscriptionID, EventID: c.EventID, Event: api.EventKind(c.Event),
		State: api.DeliveryState(c.State)}
	return list(env, c.listing, []string{"id", "state", "reason", "event", "attempt_count", "created_at",
		"next_attempt_at", "subscription_id", "event_id"},
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
