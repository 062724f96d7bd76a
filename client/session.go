package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"quittance/api"
)

// session is one login. It is compared by its address: a call that was refused with one session asks for another.
type session struct{ token hidden }

// login is a login on its way, which every call that needs one waits for.
type login struct {
	done chan struct{} // closed when the fields below are set
	err  error
	// abandoned says that the context of the call that logged in has ended, which says nothing about the credentials.
	abandoned bool
}

// Login logs in now, and the calls that follow use the new token. There is no need to: the first call logs in, and so
// does one whose token is no longer good. Wrong credentials are an [api.Error] with code invalid_credentials, a
// suspended account is account_suspended (specification, part 5).
func (c *Client) Login(ctx context.Context) (api.Login, error) {
	_, answer, err := c.login(ctx)
	return answer, err
}

// Logout revokes the token. It does nothing when there is none; the next call logs in again.
func (c *Client) Logout(ctx context.Context) error {
	c.sessions.Lock()
	s := c.current
	c.sessions.Unlock()
	if s == nil {
		return nil
	}
	r := request{method: http.MethodPost, path: clientPath + "/auth/logout", repeatable: true}
	// A token that is refused is what was wanted. This is the one call that must not log in again.
	if _, err := c.attempts(ctx, &r, s); err != nil && !says(err, api.CodeUnauthenticated) {
		return err
	}
	c.sessions.Lock()
	defer c.sessions.Unlock()
	if c.current == s {
		c.current = nil
	}
	return nil
}

// ChangePassword changes the password to one of 15 to 256 characters, and the client uses it from then on. Every other
// token of the user is revoked. It is sent once only, because a second time the old password is wrong: after an error
// that is no [ResponseError] either of the two may be the right one (contract, section 3).
func (c *Client) ChangePassword(ctx context.Context, password string) error {
	_, err := one[api.PasswordChanged](ctx, c, request{method: http.MethodPost, path: clientPath + "/auth/password", once: true,
		body: api.PasswordRequest{CurrentPassword: new(c.currentPassword()), NewPassword: &password}})
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
	answer, err := one[api.Login](ctx, c, request{method: http.MethodPost, path: clientPath + "/auth/login", public: true,
		repeatable: true, // a second token is all that a repeated login leaves behind
		body:       api.LoginRequest{Email: &c.email, Password: new(c.currentPassword())}})
	if err != nil {
		return nil, api.Login{}, err
	}
	if answer.Token == "" {
		return nil, api.Login{}, fmt.Errorf("client: log in: %w: no token", ErrUnreadable)
	}
	s := &session{token: hide(answer.Token)}
	c.sessions.Lock()
	defer c.sessions.Unlock()
	c.current = s
	return s, answer, nil
}

// session returns a session that is not the refused one, nil for any. Of the calls that need a login at the same time
// one logs in, and all share the outcome: a wrong password is tried once, not once per goroutine, because the service
// counts failures. When the one gives up because its own context ended, another takes over.
func (c *Client) session(ctx context.Context, refused *session) (*session, error) {
	for {
		found, pending, lead := c.join(refused)
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

// join returns the current session when it is another than the refused one. Otherwise it returns the login to wait
// for, or a new one that the caller has to lead.
func (c *Client) join(refused *session) (found *session, pending *login, lead bool) {
	c.sessions.Lock()
	defer c.sessions.Unlock()
	if c.current != nil && c.current != refused {
		return c.current, nil, false
	}
	if c.pending != nil {
		return nil, c.pending, false
	}
	c.pending = &login{done: make(chan struct{}), err: errors.New("client: the login broke off"), abandoned: true}
	return nil, c.pending, true
}

// lead logs in and tells those who wait.
func (c *Client) lead(ctx context.Context, pending *login) (*session, error) {
	defer func() { // deferred, so that a transport that panics leaves nobody waiting
		c.sessions.Lock()
		c.pending = nil
		c.sessions.Unlock()
		close(pending.done)
	}()
	s, _, err := c.login(ctx)
	pending.err, pending.abandoned = err, ctx.Err() != nil
	return s, err
}
