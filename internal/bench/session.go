package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/secret"
)

// The paths of the API.
const (
	loginPath         = "/api/v1/client/auth/login"
	invoicesPath      = "/api/v1/client/invoices"
	subscriptionsPath = "/api/v1/webhooks/subscriptions"
	deliveriesPath    = "/api/v1/webhooks/deliveries"
	eventsPath        = "/api/v1/webhooks/events"
)

// reach logs in at a given deployment.
func (g *Given) reach(ctx context.Context, c Config) (*target, error) {
	base, err := url.Parse(strings.TrimRight(g.BaseURL, "/"))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil ||
		base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("the base URL has to be http or https with a host, without user info, query and fragment")
	}
	t := &target{base: base, secure: g.secure(), now: c.Now, alive: func() error { return nil }}
	return t, t.login(ctx, g.Email, g.Password)
}

// login adds the token of a user.
func (t *target) login(ctx context.Context, email string, password secret.Text) error {
	plain := password.Reveal()
	body, err := json.Marshal(api.LoginRequest{Email: &email, Password: &plain}) //nolint:gosec // the password is what a login sends
	if err != nil {
		return err
	}
	var session struct {
		Token string `json:"token"`
	}
	if err := t.call(ctx, http.StatusOK, request(http.MethodPost, t.base, loginPath, "", body), &session); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	t.tokens = append(t.tokens, secret.New(session.Token))
	return nil
}

// consoleCookie logs a user in with the form of the console and returns the session cookie as requests send it.
func (t *target) consoleCookie(ctx context.Context, of *company) (cookie string, err error) {
	form := url.Values{"email": {of.email}, "password": {of.password.Reveal()}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base.JoinPath("login").String(),
		strings.NewReader(form))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := http.Client{Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if got := res.Cookies(); res.StatusCode == http.StatusSeeOther && len(got) > 0 {
		return got[0].Name + "=" + got[0].Value, nil
	}
	return "", statusError(res.StatusCode)
}

// request returns a request of the n-th user.
func (t *target) request(user int, method, path string, body []byte) []byte {
	return request(method, t.base, path, t.tokens[user].Reveal(), body)
}

// conns makes a connection for each client. The returned function closes them.
func (t *target) conns(clients int) (conns []*clientConn, closeAll func() error) {
	for range clients {
		conns = append(conns, newClientConn(t.base, t.secure, t.now))
	}
	return conns, func() error {
		var errs []error
		for _, w := range conns {
			errs = append(errs, w.close())
		}
		return errors.Join(errs...)
	}
}

// call makes one call that is not measured, and decodes the data in the envelope of the response.
func (t *target) call(ctx context.Context, status int, request []byte, data any) (err error) {
	w := newClientConn(t.base, t.secure, t.now)
	defer func() { err = errors.Join(err, w.close()) }()
	got, err := w.exchange(ctx, request)
	if err != nil {
		return err
	}
	if got != status {
		return fmt.Errorf("%w: %.300s", statusError(got), w.body)
	}
	return json.Unmarshal(w.body, &struct {
		Data any `json:"data"`
	}{data})
}

// get decodes a complete response, including its envelope, of a call that is not measured.
func (t *target) get(ctx context.Context, user int, path string, into any) (err error) {
	w := newClientConn(t.base, t.secure, t.now)
	defer func() { err = errors.Join(err, w.close()) }()
	status, err := w.exchange(ctx, t.request(user, http.MethodGet, path, nil))
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s: %w: %.300s", path, statusError(status), w.body)
	}
	if err := json.Unmarshal(w.body, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// total returns the length of a list.
func (t *target) total(ctx context.Context, user int, path string) (total int, err error) {
	var list api.List[json.RawMessage]
	err = t.get(ctx, user, path, &list)
	return list.Pagination.Total, err
}

// all reads every page of a list. path ends with a question mark and its filters, if any.
func all[T any](ctx context.Context, t *target, user int, path string, each func(T)) error {
	for page := 1; ; page++ {
		var list api.List[T]
		if err := t.get(ctx, user, fmt.Sprintf("%s&per_page=100&page=%d", path, page), &list); err != nil {
			return err
		}
		for _, entry := range list.Data {
			each(entry)
		}
		if !list.Pagination.HasMore {
			return nil
		}
	}
}

// subscribe creates a subscription of a user to all events, over HTTP.
func (t *target) subscribe(ctx context.Context, user int, url string) (made api.NewSubscription, err error) {
	body, err := json.Marshal(map[string]string{"url": url, "description": "quittance-bench"})
	if err != nil {
		return made, err
	}
	if err := t.call(ctx, http.StatusCreated, t.request(user, http.MethodPost, subscriptionsPath, body),
		&made); err != nil {
		return made, fmt.Errorf("subscribe %s: %w", url, err)
	}
	return made, nil
}
