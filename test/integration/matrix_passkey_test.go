package integration_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"quittance/test/kit"
	"quittance/test/passkeytest"
)

var (
	passkeyPattern  = regexp.MustCompile(`href="(/second-factor/passkeys/[0-9a-f-]+)"`)
	recoveryPattern = regexp.MustCompile(`<li><code>[a-z2-7-]{19}</code></li>`)
)

// console is a browser of a customer, at a service whose public address is http://localhost.
type console struct {
	*customer
	cookies map[string]string
}

// passkeys covers a passkey: a user adds and renames it, logs in with it, fails with a copy of it, and removes it.
func passkeys(t *testing.T, c *customer) {
	c.login(t)
	c.changePassword(t, "five calm otters nap") // the first one opens no other page
	owner := &console{customer: c, cookies: map[string]string{}}
	key := owner.addPasskey(t)
	c.wantCode(t, true)
	found := passkeyPattern.FindSubmatch(owner.visit(t, http.MethodGet, "/second-factor", nil).body)
	if found == nil {
		t.Fatal("no passkey is listed")
	}
	page := string(found[1])
	if got := owner.visit(t, http.MethodPost, page+"/name",
		url.Values{"name": {"Phone"}}); got.status != http.StatusSeeOther {
		t.Errorf("renamed: status %d", got.status)
	}
	guest := &console{customer: c, cookies: map[string]string{}}
	guest.loginWith(t, key)
	copied := *key
	copied.Count = 0
	if got := (&console{customer: c, cookies: map[string]string{}}).tryPasskey(t,
		&copied); got.status != http.StatusUnauthorized {
		t.Errorf("a copy of the passkey: status %d", got.status)
	}
	signed, err := key.Assert(string(guest.visit(t, http.MethodPost, "/second-factor/passkeys/challenge", nil).body))
	if err != nil {
		t.Fatal(err)
	}
	got := guest.visit(t, http.MethodPost, page+"/remove", url.Values{"current": {c.password}, "assertion": {signed}})
	// the response to the removal was lost
	if got.status != http.StatusSeeOther && !(c.fired && got.status == http.StatusNotFound) {
		t.Errorf("removed: status %d", got.status)
	}
	c.wantCode(t, false)
	c.login(t)
	c.audit(t)
}

// visit makes a call to the console, like a person who repeats it until there is a response.
func (b *console) visit(t *testing.T, method, path string, form url.Values) response {
	t.Helper()
	var got response
	if err := kit.Poll(func() error {
		b.running(t)
		request, err := http.NewRequestWithContext(t.Context(), method, b.base+path, strings.NewReader(form.Encode()))
		if err != nil {
			return err
		}
		request.Header.Set("Accept", "text/html")
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for name, value := range maps.All(b.cookies) {
			request.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		if got, err = readResponse(b.caller.client.Do(request)); err == nil && got.status == http.StatusServiceUnavailable {
			err = fmt.Errorf("unavailable: %s", got.body)
		}
		return err
	}); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	for _, set := range (&http.Response{Header: got.header}).Cookies() {
		b.cookies[set.Name] = set.Value
	}
	return got
}

// addPasskey logs in with the password and adds the first passkey. If the response with the recovery codes was lost, it
// starts again.
func (b *console) addPasskey(t *testing.T) *passkeytest.Authenticator {
	t.Helper()
	for range 3 {
		b.visit(t, http.MethodPost, "/login", url.Values{"email": {b.email}, "password": {b.password}})
		key, err := passkeytest.New("http://localhost")
		if err != nil {
			t.Fatal(err)
		}
		made, err := key.Register(string(b.visit(t, http.MethodPost, "/second-factor/passkeys/options", nil).body))
		if err != nil {
			t.Fatal(err)
		}
		got := b.visit(t, http.MethodPost, "/second-factor/passkeys", url.Values{"name": {"Laptop"}, "registration": {made},
			"current": {b.password}})
		if got.status == http.StatusOK && len(recoveryPattern.FindAll(got.body, -1)) == 10 {
			return key
		}
		b.wantFired(t, got)
		b.resetFactor(t)
	}
	t.Fatal("no passkey was added")
	return nil
}

// tryPasskey logs in with the password, and then with a passkey.
func (b *console) tryPasskey(t *testing.T, key *passkeytest.Authenticator) response {
	t.Helper()
	b.visit(t, http.MethodPost, "/login", url.Values{"email": {b.email}, "password": {b.password}})
	signed, err := key.Assert(string(b.visit(t, http.MethodPost, "/login/code/passkey", nil).body))
	if err != nil {
		t.Fatal(err)
	}
	return b.visit(t, http.MethodPost, "/login/code", url.Values{"assertion": {signed}})
}

// loginWith logs in with a passkey, a second time if the first response was lost.
func (b *console) loginWith(t *testing.T, key *passkeytest.Authenticator) {
	t.Helper()
	for range 2 {
		got := b.tryPasskey(t, key)
		if got.status == http.StatusSeeOther && got.header.Get("Location") == "/" {
			return
		}
		b.wantFired(t, got)
	}
	t.Fatal("nobody was logged in")
}
