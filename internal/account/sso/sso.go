// Package sso logs people in at an OpenID provider, by the authorization code flow with PKCE (OpenID Connect Core 1.0,
// section 3.1; RFC 7636).
//
// Its invariants: an identity comes only from an ID token that the provider signed for this client and for one attempt;
// the answer to an attempt is accepted only in the browser that began the attempt; a call to the provider uses TLS,
// follows no redirect, and is bounded in time and size; a provider that does not respond delays only those who log in
// with it.
//
// Start reading at [Client.Begin], then [Client.Identify].
package sso

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"quittance/internal/platform/secret"
)

// CallbackPath is the path to which the provider sends people back.
const CallbackPath = "/login/sso/callback"

// Config describes the provider and this service as its client.
type Config struct {
	// Issuer is the provider's identifier, an https URL, exactly as its ID tokens have it.
	Issuer string
	// ClientID and ClientSecret are what the provider has registered this service as.
	ClientID     string
	ClientSecret secret.Text
	// BaseURL is the address at which people reach the service; the redirect URI is this and [CallbackPath].
	BaseURL string
	// AllowLoopback allows plain HTTP to providers on this machine, for tests and demonstrations.
	AllowLoopback bool
	// TrustEmails says that the provider's addresses count as verified if it does not say whether they are. Whoever may
	// set his address there can log in as anybody.
	TrustEmails bool
	// RootCAs are the authorities that the provider's certificate is verified with; nil for those of the system.
	RootCAs *x509.CertPool
	// Now is the clock for the expiry of ID tokens.
	Now func() time.Time
	Log *slog.Logger
}

// The errors of a login. None of them contains a text of the provider; the log has it.
var (
	// ErrUnavailable says that the provider cannot be used at the moment.
	ErrUnavailable = errors.New("the OpenID provider is not available")
	// ErrDenied says that the provider did not log the person in.
	ErrDenied = errors.New("the OpenID provider did not log the person in")
	// ErrInvalid says that an answer of the provider is not acceptable.
	ErrInvalid = errors.New("the answer of the OpenID provider is not acceptable")
	// ErrUnverified says that the provider has not verified the person's e-mail address, or does not name one.
	ErrUnverified = errors.New("the OpenID provider has not verified the e-mail address")
	// ErrState says that an answer does not belong to an attempt of this browser that is still open.
	ErrState = errors.New("the answer belongs to no open attempt of this browser")
)

// Identity is a person as the provider knows him.
type Identity struct {
	// Issuer and Subject identify the person for good (OpenID Connect Core 1.0, section 5.7).
	Issuer, Subject string
	// Email is the verified e-mail address, as the provider writes it.
	Email string
}

// maxExchanges is how many logins wait for the provider at the same time; further ones fail at once.
const maxExchanges = 32

// Client is this service as a client of one provider. It is safe for concurrent use.
type Client struct {
	config Config
	http   *http.Client
	// found is what discovery has found; nil until it has.
	found atomic.Pointer[metadata]
	slots chan struct{}
}

// metadata is a provider as its discovery document describes it.
type metadata struct {
	provider *oidc.Provider
	oauth    oauth2.Config
	verifier *oidc.IDTokenVerifier
	// namesIssuer says that the provider names itself in each answer (RFC 9207).
	namesIssuer bool
}

// algorithms are the accepted algorithms of signatures. All are asymmetric, so that nobody but the provider can sign.
var algorithms = []string{ //nolint:gochecknoglobals // a constant list
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// New returns a client. It makes no call; see [Client.Run].
func New(config Config) (*Client, error) {
	if err := checkIssuer(config.Issuer, config.AllowLoopback); err != nil {
		return nil, err
	}
	if config.ClientID == "" || config.ClientSecret.IsZero() {
		return nil, errors.New("an OpenID client needs an identifier and a secret")
	}
	return &Client{config: config, http: newHTTPClient(config.RootCAs, config.AllowLoopback),
		slots: make(chan struct{}, maxExchanges)}, nil
}

// checkIssuer returns an error unless text is an https URL without user, query and fragment (OpenID Connect Discovery
// 1.0, section 3).
func checkIssuer(text string, loopback bool) error {
	issuer, err := url.Parse(text)
	if err != nil || issuer.Host == "" || issuer.User != nil || issuer.RawQuery != "" || issuer.ForceQuery ||
		issuer.Fragment != "" {
		return fmt.Errorf("the issuer %q is not an address like https://login.example", text)
	}
	return checkTransport(issuer, loopback)
}

// The intervals of discovery, which is repeated because providers move their endpoints.
const (
	retryInterval   = 3 * time.Second
	refreshInterval = time.Hour
)

// Run keeps what is known of the provider up to date until ctx ends. A provider that does not respond is asked again
// after a few seconds.
func (c *Client) Run(ctx context.Context) {
	failing := false
	for {
		wait := refreshInterval
		if err := c.discover(ctx); err != nil {
			wait = retryInterval
			if !failing && ctx.Err() == nil {
				c.config.Log.WarnContext(ctx, "cannot read the configuration of the OpenID provider", "issuer", c.config.Issuer,
					"error", brief(err), "known", c.Available())
			}
			failing = true
		} else if failing {
			failing = false
			c.config.Log.InfoContext(ctx, "the OpenID provider responds again", "issuer", c.config.Issuer)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// discover reads the provider's discovery document.
func (c *Client) discover(ctx context.Context) error {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, c.http), c.config.Issuer)
	if err != nil {
		return err
	}
	var more struct {
		JWKS        string   `json:"jwks_uri"`
		Methods     []string `json:"token_endpoint_auth_methods_supported"`
		NamesIssuer bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return fmt.Errorf("discovery document: %w", err)
	}
	endpoint := provider.Endpoint()
	for _, address := range []string{endpoint.AuthURL, endpoint.TokenURL, more.JWKS} {
		parsed, err := url.Parse(address)
		if err != nil {
			return fmt.Errorf("discovery document: %w", err)
		}
		if err := checkTransport(parsed, c.config.AllowLoopback); err != nil {
			return fmt.Errorf("discovery document: %w", err)
		}
	}
	endpoint.AuthStyle = oauth2.AuthStyleInHeader // the default (OpenID Connect Discovery 1.0, section 3)
	if len(more.Methods) > 0 && !slices.Contains(more.Methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	c.found.Store(&metadata{
		provider: provider, namesIssuer: more.NamesIssuer,
		oauth: oauth2.Config{ClientID: c.config.ClientID, ClientSecret: c.config.ClientSecret.Reveal(), Endpoint: endpoint,
			RedirectURL: c.config.BaseURL + CallbackPath, Scopes: []string{oidc.ScopeOpenID, "email"}},
		verifier: provider.Verifier(&oidc.Config{ClientID: c.config.ClientID, SupportedSigningAlgs: algorithms,
			Now: c.config.Now}),
	})
	return nil
}

// Available reports whether the provider has responded since the process began.
func (c *Client) Available() bool { return c.found.Load() != nil }

// Begin returns the address at the provider at which a person logs in. The error is [ErrUnavailable].
func (c *Client) Begin(a Attempt) (string, error) {
	found := c.found.Load()
	if found == nil {
		return "", ErrUnavailable
	}
	return found.oauth.AuthCodeURL(a.derive("state"), oidc.Nonce(a.derive("nonce")),
		oauth2.S256ChallengeOption(a.derive("verifier"))), nil
}
