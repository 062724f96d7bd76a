package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/secret"
	"quittance/internal/platform/source"
)

// authenticate returns the session of the caller. Its errors say what is wrong with the form of a credential, but not
// why one that is well-formed is not accepted.
func (s *Server) authenticate(ctx context.Context, c *call) (base.Session, error) {
	presented := bearer(c.request)
	switch {
	case !presented.presented:
		return base.Session{}, unauthenticated(misplacedCredential(c.request))
	case presented.mistyped:
		return base.Session{}, unauthenticated(api.Fault{Rule: "api_key", Message: "The API key is incomplete or mistyped."})
	case presented.environment != "" && presented.environment != s.Accounts.APIKeyEnvironment():
		return base.Session{}, unauthenticated(api.Fault{Rule: "environment",
			Message: fmt.Sprintf("This is a key for the environment %s, and this server accepts those for %s.",
				presented.environment, s.Accounts.APIKeyEnvironment())})
	}
	lookUp := s.DB.Authenticate
	if presented.environment != "" {
		lookUp = func(ctx context.Context, digest [32]byte) (base.Session, error) {
			from, _ := source.ParseAddr(s.source(c.request))
			return s.DB.AuthenticateAPIKey(ctx, digest, from)
		}
	}
	session, err := c.ticket.authenticate(ctx, presented, lookUp)
	if errors.Is(err, base.ErrNotFound) {
		return base.Session{}, problem.For(api.CodeUnauthenticated)
	}
	if elsewhere, ok := errors.AsType[*base.SourceNetworkError](err); ok {
		s.Log.WarnContext(ctx, "an API key was used from a network that it is not accepted from",
			"request_id", c.header.Get(api.HeaderRequestID), slog.Any("account", elsewhere.Account),
			slog.Any("key", elsewhere.Key), "source", s.source(c.request))
		return base.Session{}, problem.For(api.CodeForbidden).With(map[string]any{"source": []api.Fault{{
			Rule: "network", Message: "This API key is not accepted from the network of this request."}}})
	}
	if session.FactorRequired {
		return base.Session{}, problem.For(api.CodeUnauthenticated) // a new login says what is missing
	}
	return session, err
}

// unauthenticated returns the error of a missing or malformed credential, with the fault if it has a rule.
func unauthenticated(fault api.Fault) error {
	refused := problem.For(api.CodeUnauthenticated)
	if fault.Rule == "" {
		return refused
	}
	return refused.With(map[string]any{"authorization": []api.Fault{fault}})
}

// bearer returns the credential that a request presents (RFC 6750, section 2.1).
func bearer(r *http.Request) credential {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return credential{}
	}
	scheme, text, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || text == "" {
		return credential{}
	}
	token := secret.New(text)
	environment, err := secret.ParseAPIKey(token)
	return credential{digest: secret.Digest(token), presented: true, environment: environment,
		mistyped: errors.Is(err, secret.ErrMistypedAPIKey)}
}

// misplacedCredential returns a hint for a caller who sends an API key in another way than as a bearer token; its rule
// is empty if there is none.
func misplacedCredential(r *http.Request) api.Fault {
	if user, _, ok := r.BasicAuth(); ok && strings.HasPrefix(user, secret.APIKeyPrefix) {
		return api.Fault{Rule: "scheme",
			Message: "Send the API key as Authorization: Bearer <key>, and not with the scheme Basic."}
	}
	if secret.ContainsAPIKey([]byte(r.URL.RawQuery)) {
		return misplacedKey
	}
	return api.Fault{}
}

// misplacedKey is the fault of a place where an API key may be logged or stored.
var misplacedKey = api.Fault{Rule: "api_key", Message: "Contains an API key. Send it only as Authorization: Bearer <key>. Revoke this one if others may have read it."} //nolint:gochecknoglobals // a constant

// refuseMisplacedKey returns an error if the query, the body or the Idempotency-Key contains an API key, so that none
// is stored or sent to others. The checksum of keys makes sure that nothing else is refused.
func (c *call) refuseMisplacedKey() error {
	for place, text := range map[string][]byte{"query": []byte(c.request.URL.RawQuery), "body": c.raw,
		headerIdempotencyKey: []byte(c.request.Header.Get(headerIdempotencyKey))} {
		if secret.ContainsAPIKey(text) {
			return problem.For(api.CodeMalformedRequest).With(map[string]any{place: []api.Fault{misplacedKey}})
		}
	}
	return nil
}
