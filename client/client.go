// Package client is the Go SDK of Quittance. It authenticates with an API key, or logs in automatically with a
// password, retries calls that are safe to retry, and returns the results and errors of the service as the types of
// package api.
//
//	quittance, err := client.New(client.Config{
//		BaseURL: "https://quittance.example.com",
//		APIKey:  os.Getenv("QUITTANCE_API_KEY"),
//	})
//	if err != nil {
//		return err
//	}
//	number := func(text string) *api.Decimal { return new(api.MustDecimal(text)) }
//	draft, err := quittance.CreateInvoice(ctx, api.Draft{
//		InvoiceNumber: new("INV-2026-0001"), RecipientName: new("Palm Trading LLC"), RecipientNetworkID: new("1234567890"),
//		BuyerEndpointScheme: new("0235"), BuyerStreet: new("12 Harbour Road"), BuyerCity: new("Dubai"), BuyerCountry: new("AE"),
//		Currency: new("AED"), IssueDate: new("2026-03-01"), DueDate: new("2026-03-31"), PaymentMeansCode: new("30"),
//		TotalAmount: number("1050.00"),
//		Items: []api.Item{{ItemCode: new("SKU-7"), Name: new("Consulting"), Description: new("Workshop"), UnitCode: new("HUR"),
//			Quantity: number("10"), BaseQuantity: number("1"), GrossUnitPrice: number("110.00"), DiscountAmount: number("10.00"),
//			NetUnitPrice: number("100.00"), VATCategory: new("S"), VATRate: number("5")}},
//	}, client.IdempotencyKey("order-4711"))
//	if err != nil {
//		return err // errors.As finds an *api.Error, and a *client.ResponseError with the request id
//	}
//	invoice, err := quittance.SubmitAndWait(ctx, draft.ID, nil)
//	if err != nil {
//		return err
//	}
//	if s := invoice.ReceiverState; s != nil {
//		fmt.Println("the receiver says", *s)
//	}
//
// Its invariant: a call has its effect at most once, whatever fails. The client retries only calls whose repetition the
// service recognises: reads, logins, submissions, and changes with an Idempotency-Key. Attempts and waits are bounded
// and end with the context. API key, password and token are sent to the base URL only: redirects are not followed, and
// this package puts none of them into an error or into the output of fmt.
//
// Start reading at [New] and [Client.SubmitAndWait]. Every request goes through call.go, and each operation is one line
// in operations.go.
package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// DefaultMaxAttempts is how often a call that is safe to repeat is sent by default.
	DefaultMaxAttempts = 4
	// DefaultTimeout is the time-out of one attempt, including its response. A submission waits for the provider during
	// its call, for 20 s by default, so a much shorter time-out would interrupt it.
	DefaultTimeout = 60 * time.Second
	// MaxRetryAfter is the longest Retry-After that a call waits for. If the service asks for more, the call fails at
	// once, and [ResponseError] has the time to wait.
	MaxRetryAfter = time.Minute
	// MaxResponse is the largest response that the client reads, in bytes. A purchase document has at most 10 MiB, and a
	// third more in base64.
	MaxResponse = 16 << 20
)

// Config configures a [Client]. BaseURL is required, and either APIKey, or Email and Password; the zero values of the
// other fields mean the defaults.
type Config struct {
	// BaseURL is the address of the service without /api: http or https, with an optional path prefix and without user
	// info, query or fragment. It should be https unless the service is on the same machine, because http sends the key or
	// password unencrypted.
	BaseURL string
	// APIKey is the credential of a machine, such as qk_production_…. A call whose key is not accepted any more fails.
	APIKey string
	// Email and Password log in. They are sent on the first call, and again when a token has expired or was revoked.
	Email, Password string
	// OTP returns a code of the user's authenticator app, or a recovery code, for a user with a second factor. A login
	// calls it when the service has asked for a code, and sends each code once. nil means that such a login fails with the
	// code otp_required.
	OTP func(context.Context) (string, error)
	// HTTPClient makes the requests; its Timeout bounds one attempt. Its CheckRedirect is not used: redirects are never
	// followed. nil means one with [DefaultTimeout] on [http.DefaultTransport].
	HTTPClient *http.Client
	// UserAgent is the User-Agent header; "quittance-go" when empty.
	UserAgent string
	// MaxAttempts is the maximum number of attempts of a call; 1 disables retries, and 0 means [DefaultMaxAttempts].
	MaxAttempts int
	// Now is the clock that a Retry-After date is compared with; nil means [time.Now].
	Now func() time.Time
	// Sleep waits for a duration, or until the context ends, and returns its error then; nil means a timer.
	Sleep func(context.Context, time.Duration) error
	// Jitter returns a number from 0 up to but not including 1, which spreads the retries of many clients; nil means
	// random numbers.
	Jitter func() float64
	// Random is the source of Idempotency-Keys, 16 bytes each; nil means [crypto/rand.Reader].
	Random io.Reader
}

// Format writes the configuration without its key and password for every verb.
func (c Config) Format(f fmt.State, _ rune) {
	// fmt keeps the error of its own writer; Format has nowhere to return it.
	fmt.Fprintf(f, "client.Config{BaseURL: %q, APIKey: [redacted], Email: %q, Password: [redacted]}", c.BaseURL, c.Email)
}

// hidden is a secret text behind a function, which no printer and no encoder looks into. A type with a String method
// would not do: fmt calls no methods on unexported fields.
type hidden func() string

func hide(s string) hidden { return func() string { return s } }

// Client calls one service with one API key or as one user. It is safe for concurrent use.
type Client struct {
	otp                    func(context.Context) (string, error)
	key                    *session // that of an API key; nil for a client that logs in
	base, email, userAgent string
	maxAttempts            int
	http                   *http.Client
	now                    func() time.Time
	sleep                  func(context.Context, time.Duration) error
	jitter                 func() float64

	random sync.Mutex // guards reader, which need not be safe for concurrent use
	reader io.Reader

	sessions sync.Mutex // guards the fields below
	password hidden
	current  *session // nil before the first login
	pending  *login   // nil when no login is in progress
}

// New returns a client. It sends nothing: without an API key, the first call logs in. It returns an error if a required
// field is missing or the base URL does not have the form that [Config] describes.
func New(config Config) (*Client, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	c := &Client{otp: config.OTP, base: strings.TrimRight(config.BaseURL, "/"), email: config.Email,
		password: hide(config.Password), userAgent: config.UserAgent, maxAttempts: config.MaxAttempts, now: config.Now,
		sleep: config.Sleep, jitter: config.Jitter, reader: config.Random}
	if config.APIKey != "" {
		c.key = &session{token: hide(config.APIKey)}
	}
	given := config.HTTPClient
	if given == nil {
		given = &http.Client{Timeout: DefaultTimeout}
	}
	c.http = &http.Client{Transport: given.Transport, Jar: given.Jar, Timeout: given.Timeout,
		// Following a redirect would send the token, or the password of a login, to another address.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if c.userAgent == "" {
		c.userAgent = "quittance-go"
	}
	if c.maxAttempts == 0 {
		c.maxAttempts = DefaultMaxAttempts
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.sleep == nil {
		c.sleep = sleepTimer
	}
	if c.jitter == nil {
		c.jitter = mathrand.Float64
	}
	if c.reader == nil {
		c.reader = rand.Reader
	}
	return c, nil
}

// check returns an error for what [New] refuses.
func (c Config) check() error {
	base, err := url.Parse(c.BaseURL)
	// The error omits the URL, because an invalid URL may contain a password.
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil ||
		strings.ContainsAny(c.BaseURL, "?#") {
		return errors.New("client: the base URL must be http or https with a host and without user info, query and fragment")
	}
	if user := c.Email != "" && c.Password != ""; user == (c.APIKey != "") || c.APIKey != "" && c.Email+c.Password != "" {
		return errors.New("client: either an API key, or e-mail address and password are required")
	}
	if strings.ContainsFunc(c.APIKey, func(r rune) bool { return r < '!' || r > '~' }) {
		// The error of net/http, with the first call, would not say which header it refuses.
		return errors.New("client: the API key must have visible ASCII characters only")
	}
	if c.MaxAttempts < 0 {
		return errors.New("client: MaxAttempts is negative")
	}
	return nil
}

// sleepTimer waits for d, or until ctx ends.
func sleepTimer(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// jittered scales a wait by 0.5 to 1.5, so that clients that failed together do not retry together.
func (c *Client) jittered(wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * (0.5 + c.jitter()))
}
