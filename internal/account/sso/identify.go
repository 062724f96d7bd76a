package sso

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Identify exchanges the authorization code of an answer and returns whom the provider has logged in. The error is
// [ErrUnavailable], [ErrDenied], [ErrInvalid] or [ErrUnverified]; the log has the cause.
func (c *Client) Identify(ctx context.Context, answer Answer) (Identity, error) {
	found := c.found.Load()
	if found == nil {
		return Identity{}, ErrUnavailable
	}
	identity, err := c.identify(ctx, found, answer)
	if err != nil {
		c.config.Log.WarnContext(ctx, "a login by single sign-on failed", "issuer", c.config.Issuer, "error", brief(err))
	}
	for _, kind := range []error{ErrUnavailable, ErrDenied, ErrInvalid, ErrUnverified} {
		if errors.Is(err, kind) {
			return Identity{}, kind
		}
	}
	return identity, err
}

func (c *Client) identify(ctx context.Context, found *metadata, answer Answer) (Identity, error) {
	if answer.issuer != c.config.Issuer && (answer.issuer != "" || found.namesIssuer) {
		return Identity{}, fmt.Errorf("%w: it names the issuer %q", ErrInvalid, answer.issuer) // RFC 9207, section 2.4
	}
	if answer.fault != "" || answer.code == "" {
		return Identity{}, fmt.Errorf("%w: %q", ErrDenied, answer.fault)
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	default:
		return Identity{}, fmt.Errorf("%w: %d logins wait for it", ErrUnavailable, maxExchanges)
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, c.http), loginTimeout)
	defer cancel()
	token, err := found.oauth.Exchange(ctx, answer.code, oauth2.VerifierOption(answer.attempt.derive("verifier")))
	if err != nil {
		return Identity{}, kindOf(err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return Identity{}, fmt.Errorf("%w: there is no ID token", ErrInvalid)
	}
	claims, err := c.verify(ctx, found, raw, answer.attempt)
	if err != nil {
		return Identity{}, err
	}
	if claims.Email == "" || claims.EmailVerified == nil && !c.config.TrustEmails {
		// Scopes ask for claims of the UserInfo endpoint when there is an access token (OpenID Connect Core 1.0, section
		// 5.4).
		if err := claims.readUserInfo(ctx, found.provider, c.config.Issuer, token); err != nil {
			return Identity{}, err
		}
	}
	if verified := claims.EmailVerified; claims.Email == "" || verified == nil && !c.config.TrustEmails ||
		verified != nil && !bool(*verified) {
		return Identity{}, ErrUnverified
	}
	return Identity{Issuer: c.config.Issuer, Subject: claims.subject, Email: claims.Email}, nil
}

// claims are what is used of an ID token.
type claims struct {
	subject string
	Email   string `json:"email"`
	// EmailVerified is nil if the provider does not say whether it has verified the address.
	EmailVerified *boolean `json:"email_verified"`
	// AuthorizedParty is the client that the token was issued to, if it has several audiences.
	AuthorizedParty string `json:"azp"`
}

// boolean is a claim that is true or false. Some providers write it as a text.
type boolean bool

// UnmarshalJSON implements [json.Unmarshaler].
func (b *boolean) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `true`, `"true"`:
		*b = true
	case `false`, `"false"`:
		*b = false
	default:
		return fmt.Errorf("a claim is %q, and not true or false", text)
	}
	return nil
}

// maxSubject is the length of the longest subject (OpenID Connect Core 1.0, section 2).
const maxSubject = 255

// verify verifies an ID token (OpenID Connect Core 1.0, section 3.1.3.7).
func (c *Client) verify(ctx context.Context, found *metadata, raw string, a Attempt) (claims, error) {
	token, err := found.verifier.Verify(ctx, raw) // signature, issuer, audience and expiry
	if err != nil {
		return claims{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	var got claims
	if err := token.Claims(&got); err != nil {
		return claims{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	switch got.subject = token.Subject; {
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(a.derive("nonce"))) != 1:
		return claims{}, fmt.Errorf("%w: the nonce is that of another attempt", ErrInvalid)
	case got.AuthorizedParty != c.config.ClientID && (got.AuthorizedParty != "" || len(token.Audience) > 1):
		return claims{}, fmt.Errorf("%w: it was issued to the client %q", ErrInvalid, got.AuthorizedParty)
	case got.subject == "" || len(got.subject) > maxSubject ||
		strings.ContainsFunc(got.subject, func(r rune) bool { return r < ' ' || r > '~' }):
		return claims{}, fmt.Errorf("%w: the subject has not the form of one", ErrInvalid)
	}
	return got, nil
}

// readUserInfo reads what the ID token does not say of the e-mail address from the UserInfo endpoint, if there is one.
func (got *claims) readUserInfo(ctx context.Context, provider *oidc.Provider, issuer string,
	token *oauth2.Token) error {
	if provider.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return kindOf(err)
	}
	if info.Subject != got.subject { // section 5.3.2
		return fmt.Errorf("%w: the UserInfo is that of another subject", ErrInvalid)
	}
	var more struct {
		claims
		Issuer string `json:"iss"` // only a signed one has it
	}
	if err := info.Claims(&more); err != nil {
		return fmt.Errorf("%w: UserInfo: %w", ErrInvalid, err)
	}
	switch {
	case more.Issuer != "" && more.Issuer != issuer:
		return fmt.Errorf("%w: the UserInfo is that of the issuer %q", ErrInvalid, more.Issuer)
	case got.Email == "":
		got.Email = more.Email
	case more.Email != "" && more.Email != got.Email: // it says nothing about the address of the ID token
		return fmt.Errorf("%w: the UserInfo has another address than the ID token", ErrUnverified)
	}
	if more.EmailVerified != nil {
		got.EmailVerified = more.EmailVerified
	}
	return nil
}

// kindOf returns err as [ErrUnavailable] if the provider did not respond, or failed itself, and otherwise as
// [ErrInvalid].
func kindOf(err error) error {
	kind := ErrInvalid
	if refused, responded := errors.AsType[*oauth2.RetrieveError](err); responded &&
		refused.Response.StatusCode >= http.StatusInternalServerError {
		kind = ErrUnavailable
	}
	if _, failed := errors.AsType[*url.Error](err); failed {
		kind = ErrUnavailable
	}
	return fmt.Errorf("%w: %w", kind, err)
}
