package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"quittance/client/api"
)

// ErrAPIKey says that a client with an API key cannot log in or out, and has no password.
var ErrAPIKey = errors.New("client: the client has an API key")

// session is one login. Sessions are compared by address: a call whose session was rejected asks for another one.
type session struct{ token hidden }

// login is a login in progress. Every call that needs a session waits for it.
type login struct {
	done chan struct{} // closed when the fields below are set
	err  error
	// abandoned means that the context of the call that logged in has ended, so that err says nothing about the
	// credentials.
	abandoned bool
}

// Login logs in now, and later calls use the new token. Calling it is optional: the first call logs in, and so does a
// call whose token is no longer valid. The error wraps an [api.Error] with the code invalid_credentials for wrong
// credentials, and account_suspended for a suspended account. It is [ErrAPIKey] for a client with an API key.
func (c *Client) Login(ctx context.Context) (api.Login, error) {
	if c.key != nil {
		return api.Login{}, ErrAPIKey
	}
	_, response, err := c.login(ctx)
	return response, err
}

// Logout revokes the token, if there is one. The next call logs in again. An API key is not revoked.
func (c *Client) Logout(ctx context.Context) error {
	c.sessions.Lock()
	s := c.current
	c.sessions.Unlock()
	if s == nil {
		return nil
	}
	r := request{method: http.MethodPost, path: clientPath + "/auth/logout", repeatable: true}
	// A rejected token is as good as a revoked one. This is the only call that must not log in again.
	if _, err := c.attempts(ctx, &r, s); err != nil && !hasCode(err, api.CodeUnauthenticated) {
		return err
	}
	c.sessions.Lock()
	defer c.sessions.Unlock()
	if c.current == s {
		c.current = nil
	}
	return nil
}

// ChangePassword changes the password to one of 15 to 256 characters, which the client uses from then on. All other
// tokens of the user are revoked. The call is never retried, because the old password is wrong the second time: after
// an error that is not a [ResponseError], either password may be the current one.
func (c *Client) ChangePassword(ctx context.Context, password string) error {
	if c.key != nil {
		return ErrAPIKey
	}
	_, err := callOne[api.PasswordChanged](ctx, c, request{method: http.MethodPost, path: clientPath + "/auth/password",
		withoutKey: true, body: api.PasswordRequest{CurrentPassword: new(c.currentPassword()), NewPassword: &password}})
	if err != nil {
		return err
	}
	c.sessions.Lock()
	defer c.sessions.Unlock()
	c.password = hide(password)
	return nil
}

func (c *Client) currentPassword() string {
	c.sessions.Lock()
	defer c.sessions.Unlock()
	return c.password()
}

func (c *Client) login(ctx context.Context) (*session, api.Login, error) {
	body := api.LoginRequest{Email: &c.email, Password: new(c.currentPassword())}
	r := request{method: http.MethodPost, path: clientPath + "/auth/login", public: true,
		repeatable: true, // a repeated login only leaves a second token behind
		body:       body}
	response, err := callOne[api.Login](ctx, c, r)
	if c.otp != nil && hasCode(err, api.CodeOTPRequired) {
		code, failed := c.otp(ctx)
		if failed != nil {
			return nil, api.Login{}, fmt.Errorf("client: code of the second factor: %w", failed)
		}
		body.OTP = &code
		r.body, r.repeatable, r.withoutKey = body, false, true // a code works once
		response, err = callOne[api.Login](ctx, c, r)
	}
	if err != nil {
		return nil, api.Login{}, err
	}
	if response.Token == "" {
		return nil, api.Login{}, fmt.Errorf("client: log in: %w: no token", ErrUnreadable)
	}
	s := &session{token: hide(response.Token)}
	c.sessions.Lock()
	defer c.sessions.Unlock()
	c.current = s
	return s, response, nil
}

// session returns a session other than the rejected one, which may be nil. Of several concurrent calls that need a
// login, one logs in and all share the result: a wrong password is tried once, not once per goroutine, because the
// service counts failures. If the context of that call ends, another call takes over.
func (c *Client) session(ctx context.Context, rejected *session) (*session, error) {
	for {
		found, pending, lead := c.join(rejected)
		if found != nil {
			return found, nil
		}
		if lead {
			return c.lead(ctx, pending)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("client: wait for a login: %w", ctx.Err())
		case <-pending.done:
		}
		if pending.err != nil && !pending.abandoned {
			return nil, pending.err
		}
	}
}

// join returns the current session unless it is the rejected one. Otherwise it returns the login to wait for, or a new
// login that the caller must lead.
func (c *Client) join(rejected *session) (found *session, pending *login, lead bool) {
	c.sessions.Lock()
	defer c.sessions.Unlock()
	if c.current != nil && c.current != rejected {
		return c.current, nil, false
	}
	if c.pending != nil {
		return nil, c.pending, false
	}
	c.pending = &login{done: make(chan struct{}), err: errors.New("client: the login was interrupted"), abandoned: true}
	return nil, c.pending, true
}

// lead logs in and notifies the waiting calls.
func (c *Client) lead(ctx context.Context, pending *login) (*session, error) {
	defer func() { // deferred, so that no call waits forever if the transport panics
		c.sessions.Lock()
		c.pending = nil
		c.sessions.Unlock()
		close(pending.done)
	}()
	s, _, err := c.login(ctx)
	pending.err, pending.abandoned = err, ctx.Err() != nil
	return s, err
}
