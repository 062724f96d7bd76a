// Package ssotest runs a real OpenID provider for tests: the example server of github.com/zitadel/oidc, over HTTP.
package ssotest

import (
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"

	"quittance/internal/account/sso"
	"quittance/internal/platform/secret"
)

// The registration of the service at the provider, and the password of all people there.
const (
	ClientID     = "quittance"
	ClientSecret = "the secret of the service"
	Password     = "the password at the provider"
)

// Person is somebody whom the provider knows; the name to log in with is the subject.
type Person struct {
	Subject, Email string
	Unverified     bool
}

// Provider is a running provider.
type Provider struct {
	// Issuer is its address.
	Issuer string
	server *httptest.Server
}

// people are the users of the provider. They implement [storage.UserStore].
type people map[string]*storage.User

func (p people) GetUserByID(id string) *storage.User         { return p[id] }
func (p people) GetUserByUsername(name string) *storage.User { return p[name] }
func (people) ExampleClientID() string                       { return "" }

// Start runs a provider until the test ends, for a service at baseURL.
func Start(t testing.TB, baseURL string, secure bool, known ...Person) *Provider {
	t.Helper()
	users := people{}
	for _, person := range known {
		users[person.Subject] = &storage.User{ID: person.Subject, Username: person.Subject, Password: Password,
			Email: person.Email, EmailVerified: !person.Unverified}
	}
	server := httptest.NewUnstartedServer(nil)
	t.Cleanup(server.Close)
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	p := &Provider{Issuer: scheme + server.Listener.Addr().String(), server: server}
	clients := map[string]*storage.Client{ClientID: storage.WebClient(ClientID, ClientSecret, baseURL+sso.CallbackPath)}
	server.Config.Handler = exampleop.SetupServer(p.Issuer, storage.NewStorageWithClients(users, clients),
		slog.New(slog.DiscardHandler), false)
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	return p
}

// LogIn logs a person in at the address to which the service sends browsers, and returns the query with which the
// provider sends the browser back.
func (p *Provider) LogIn(t testing.TB, to, subject string) url.Values {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := p.server.Client()
	browser := &http.Client{Transport: client.Transport, Jar: jar,
		CheckRedirect: func(next *http.Request, _ []*http.Request) error {
			if next.URL.Path == sso.CallbackPath {
				return http.ErrUseLastResponse
			}
			return nil
		}}
	page, _ := fetch(t, browser, http.MethodGet, to, nil)
	_, back := fetch(t, browser, http.MethodPost, p.Issuer+"/login/username",
		url.Values{"id": {page.Query().Get("authRequestID")}, "username": {subject}, "password": {Password}})
	location, err := url.Parse(back)
	if err != nil || location.Path != sso.CallbackPath {
		t.Fatalf("the provider sends %s to %s", subject, back)
	}
	return location.Query()
}

// fetch makes a request and follows redirects. It returns the address of the last page, and where that leads to, or "".
func fetch(t testing.TB, browser *http.Client, method, to string, form url.Values) (at *url.URL, location string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, to, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := browser.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response.Request.URL, response.Header.Get("Location")
}

// Stop ends the provider before the test ends.
func (p *Provider) Stop() { p.server.Close() }

// Config returns the configuration of the service at baseURL as a client of the provider.
func (p *Provider) Config(baseURL string) sso.Config {
	config := sso.Config{Issuer: p.Issuer, ClientID: ClientID, ClientSecret: secret.New(ClientSecret), BaseURL: baseURL,
		AllowLoopback: true}
	if certificate := p.server.Certificate(); certificate != nil {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AddCert(certificate)
	}
	return config
}
