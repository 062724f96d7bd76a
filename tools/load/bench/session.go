package bench

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"quittance/client"
	"quittance/client/api"
	"quittance/internal/platform/secret"
)

// invoicesPath is the path of the measured calls.
const invoicesPath = "/api/v1/client/invoices"

// program is what this program calls itself, in the User-Agent header and in its subscriptions.
const program = "quittance-bench"

// target is what a load is sent to: a server and its users.
type target struct {
	base   *url.URL
	secure *tls.Config // nil for plain HTTP
	users  []user
	now    func() time.Time
	// alive returns why the server has ended; nil while it runs, or when that is unknown.
	alive func() error
}

// user is a user of a target: the token of measured calls, and the SDK, which makes all others.
type user struct {
	token   secret.Text
	service *client.Client
}

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

// login adds a user. The SDK makes one attempt of each call, over a connection that does not stay open.
func (t *target) login(ctx context.Context, email string, password secret.Text) error {
	transport := &http.Transport{Proxy: nil, DisableKeepAlives: true, TLSClientConfig: t.secure}
	service, err := client.New(client.Config{BaseURL: t.base.String(), Email: email, Password: password.Reveal(),
		HTTPClient: &http.Client{Transport: transport, Timeout: exchangeTimeout}, UserAgent: program, MaxAttempts: 1})
	if err != nil {
		return err
	}
	session, err := service.Login(ctx)
	if err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	t.users = append(t.users, user{secret.New(session.Token), service})
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
	return request(method, t.base, path, t.users[user].token.Reveal(), body)
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

// invoices returns the number of invoices of a company.
func (u user) invoices(ctx context.Context) (int, error) {
	list, err := u.service.Invoices(ctx, client.InvoiceQuery{Paging: client.Paging{PerPage: 1}})
	return list.Pagination.Total, err
}

// deliveries counts the deliveries that a query selects.
func (u user) deliveries(ctx context.Context, query client.DeliveryQuery) (int64, error) {
	query.PerPage = 1
	list, err := u.service.Deliveries(ctx, query)
	return int64(list.Pagination.Total), err
}

// pending counts the deliveries that have not ended.
func (u user) pending(ctx context.Context) (int64, error) {
	return u.deliveries(ctx, client.DeliveryQuery{State: api.DeliveryPending})
}

// subscribe creates a subscription to all events.
func (u user) subscribe(ctx context.Context, url string) (made api.NewSubscription, err error) {
	made, err = u.service.CreateSubscription(ctx, api.SubscriptionRequest{URL: &url, Description: new(program)})
	if err != nil {
		return made, fmt.Errorf("subscribe %s: %w", url, err)
	}
	return made, nil
}
