package integration_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quittance/internal/account/sso"
	"quittance/test/kit"
	"quittance/test/pgtest"
	"quittance/test/ssotest"
)

// TestSignOnAcrossReplicas begins a login by single sign-on at one server and ends it at another. The answer of the
// provider counts once, whichever servers get it.
func TestSignOnAcrossReplicas(t *testing.T) {
	if !pgtest.Enabled() {
		return // one process serves a file
	}
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	const public = "http://quittance.example"
	provider := ssotest.Start(t, public, false, ssotest.Person{Subject: "owner", Email: "owner@palm.example"})
	secretFile := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secretFile, []byte(ssotest.ClientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFleet(t, product, pgtest.URL(t), "--public-url", public, "--oidc-issuer", provider.Issuer,
		"--oidc-client-id", ssotest.ClientID, "--oidc-client-secret-file", secretFile)
	first, err := f.world.running["first"].says(listening)
	if err != nil {
		t.Fatal(err)
	}
	first = "http://" + first
	second := f.start(t, "second")
	jar, err := cookiejar.New(nil) // its cookies are sent to every port of a host
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}
	leads := func(address string) string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := browser.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return got.Header.Get("Location")
	}
	for _, base := range []string{first, second} {
		kit.Until(t, base+" finds the provider",
			func() bool { return strings.HasPrefix(leads(base+"/login/sso"), provider.Issuer) })
	}
	answer := "?" + provider.LogIn(t, leads(first+"/login/sso?next=%2Finvoices"), "owner").Encode()
	at, err := url.Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	held := jar.Cookies(at)
	if to := leads(second + sso.CallbackPath + answer); to != "/login/company" { // nobody has proved the address yet
		t.Fatalf("the login leads to %s", to)
	}
	chosen, err := browser.PostForm(first+"/login/company", url.Values{"company": {f.account}})
	if err != nil {
		t.Fatal(err)
	}
	if err := chosen.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if to := chosen.Header.Get("Location"); to != "/" {
		t.Fatalf("the choice at another server leads to %s", to)
	}
	if to := leads(first + "/invoices"); to != "" {
		t.Errorf("the first server does not know the session: it leads to %s", to)
	}
	jar.SetCookies(at, held)
	if to := leads(first + sso.CallbackPath + answer); !strings.HasPrefix(to, "/login?notice=bad.sso_state") {
		t.Errorf("an answer that was used at another server leads to %s", to)
	}
}
