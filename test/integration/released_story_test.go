package integration_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"quittance/test/kit"
)

// releasedStory has the released binary serve a database in which there is everything that a release stores, and
// returns what people and programs know of it.
func releasedStory(t *testing.T, s *releasedSite) releasedFacts {
	s.open(t, "--purchase-interval", "200ms", "--retry-attempts", "2")
	palm := newCustomer(s.site)
	palm.account, palm.email, palm.password = s.company(t, "Palm Trading LLC", "owner@palm.example"),
		"owner@palm.example", s.password
	s.connectProvider(t, palm.account)
	facts := releasedFacts{Provider: s.providerAt, Hooks: s.hooksAt}
	palm.login(t)
	palm.changePassword(t, "five calm otters nap")
	palm.subscribe(t)
	s.documents(t, palm)
	s.outcomes(t, palm)
	s.destinations(t, palm)
	facts.Companies = append(facts.Companies, s.people(t, palm), s.guarded(t))
	facts.Operator = s.operator(t, palm)
	s.command(t, "", "account", "suspend", s.company(t, "Closed LLC", "owner@closed.example"), "--reason",
		"the contract has ended")
	palm.delivered(t)
	s.rotate(t)

	// From here on the provider's clock stands still and nothing is repeated, so that submissions and deliveries stay
	// open.
	s.stop(t)
	s.freeze()
	s.open(t, "--purchase-interval", "1h", "--poll-first", "1h", "--poll-max", "2h", "--retry-first", "1h")
	for n, recipient := range []string{ordinary, "sandbox-slow-authority", "sandbox-drop-after-accept",
		"sandbox-processing"} {
		id := palm.create(t, fmt.Sprintf("OPEN-%d", n+1), recipient, "")
		palm.submitDocument(t, atInvoices+"/"+id)
		facts.Open = append(facts.Open, id)
	}
	s.waitForDeliveries(t, palm)
	s.stop(t)
	facts.Companies[0].Hook, facts.Companies[0].Secret = palm.hook, palm.secret
	return facts
}

// documents has drafts, credit notes in every state, incoming e-invoices, customers and items, and repeated requests.
func (s *releasedSite) documents(t *testing.T, c *customer) {
	c.redirect(t, c.create(t, "DRAFT-1", ordinary, "draft-1"), "1000000002", "patch-1")
	c.remove(t, c.create(t, "DRAFT-2", ordinary, ""))
	sold := c.create(t, "SOLD-1", ordinary, "sold-1")
	c.submit(t, sold)
	c.ended(t, sold)
	c.void(t, c.credit(t, c.create(t, "DRAFT-3", ordinary, ""), "CN-1", ""))
	c.explain(t, c.credit(t, sold, "CN-2", "credit-1"), "VD")
	other := c.create(t, "SOLD-2", ordinary, "")
	c.submit(t, other)
	c.ended(t, other)
	c.submitCredit(t, c.credit(t, other, "CN-3", ""))
	for n := range 3 {
		c.receive(t, fmt.Sprintf("IN-%d", n+1), 1)
	}
	c.receive(t, "IN-1", 2)
	c.do(t, http.MethodPost, "/api/v1/client/customers", "",
		`{"recipient_name":"Dune Logistics FZE","payment_terms_days":30}`, http.StatusCreated)
	c.do(t, http.MethodPost, "/api/v1/client/items", "", `{"name":"Consulting","net_unit_price":100.00,"unit_code":"HUR"}`,
		http.StatusCreated)
	c.importDrafts(t)
}

// outcomes has submissions with every outcome, and decisions about two that were unknown.
func (s *releasedSite) outcomes(t *testing.T, c *customer) {
	refused := c.create(t, "REFUSED-1", "sandbox-rejected-validation", "")
	c.submitDocument(t, atInvoices+"/"+refused)
	c.ended(t, refused)
	corrected := c.create(t, "REFUSED-2", "sandbox-rejected-validation", "")
	c.submitDocument(t, atInvoices+"/"+corrected)
	c.ended(t, corrected)
	c.redirect(t, corrected, ordinary, "")
	c.submitDocument(t, atInvoices+"/"+corrected)
	c.ended(t, corrected)
	for n, recipient := range []string{"sandbox-rejected-authority", "sandbox-rejected-receiver",
		"sandbox-receiver-not-found", "sandbox-unknown-word", "sandbox-silent-authority", "sandbox-drop-after-accept",
		"sandbox-echo", "sandbox-reopened"} {
		c.submitDocument(t, atInvoices+"/"+c.create(t, fmt.Sprintf("COURSE-%d", n+1), recipient, ""))
	}
	for n, decision := range []string{"--reject", "--resend", ""} {
		id := c.create(t, fmt.Sprintf("LOST-%d", n+1), "sandbox-lost", "")
		c.submitDocument(t, atInvoices+"/"+id)
		submission := valueAt(t, c.do(t, http.MethodGet, atInvoices+"/"+id, "", "", http.StatusOK), "/data/submission/id")
		if decision != "" {
			s.command(t, "", "submission", "resolve", submission, decision, "--reason", "the provider has no such document")
		}
	}
}

// destinations has subscriptions that are deactivated, by hand and by a redirect, and deliveries that failed.
func (s *releasedSite) destinations(t *testing.T, c *customer) {
	own := c.hook
	for _, path := range []string{"/deactivated", "/redirect", "/broken"} {
		made := c.do(t, http.MethodPost, atSubscriptions, "", fmt.Sprintf(`{"url":%q}`, c.hooks+path), http.StatusCreated)
		if path == "/deactivated" {
			c.do(t, http.MethodPost, atSubscriptions+"/"+valueAt(t, made, "/data/id")+"/deactivate", "", "", http.StatusOK)
		}
	}
	c.submitDocument(t, atInvoices+"/"+c.create(t, "TOLD-1", ordinary, ""))
	for _, state := range []string{"delivered", "failed", "blocked"} {
		kit.Eventually(t, func() error {
			if total := valueAt(t, c.do(t, http.MethodGet, atDeliveries+"?state="+state, "", "", http.StatusOK),
				"/pagination/total"); total == "0" {
				return fmt.Errorf("no delivery is %s", state)
			}
			return nil
		})
	}
	c.hook = own
}

// people has users with every role, one of them disabled, an open invitation, API keys and sessions, and returns what
// the owner knows.
func (s *releasedSite) people(t *testing.T, c *customer) releasedCompany {
	for n, role := range []string{"accountant", "developer", "viewer", "owner"} {
		s.command(t, "", "account", "user", "add", c.account, "--email", "another-"+role+"@palm.example", "--role", role)
		if n == 2 {
			s.command(t, "", "account", "user", "disable", c.account, "--email", "another-viewer@palm.example")
		}
	}
	invited := c.do(t, http.MethodPost, atInvitations, "", `{"email":"late@palm.example","role":"accountant"}`,
		http.StatusCreated)
	known := releasedCompany{Account: c.account, Email: c.email, Password: c.password, Token: c.token,
		Invitation: secretOf(t, valueAt(t, invited, "/data/url"))}
	for _, name := range []string{"ERP", "Old ERP"} {
		made := c.do(t, http.MethodPost, "/api/v1/client/api-keys",
			"", fmt.Sprintf(`{"name":%q,"scopes":["read","write"]}`, name), http.StatusCreated)
		if name == "ERP" {
			known.APIKey = valueAt(t, made, "/data/key")
		} else {
			c.do(t, http.MethodPost, "/api/v1/client/api-keys/"+valueAt(t, made, "/data/id")+"/revoke", "", "", http.StatusOK)
		}
	}
	known.Cookie = s.cookie(t, c, "/login", url.Values{"email": {c.email}, "password": {c.password}})
	return known
}

// cookie sends a form and returns the cookie of the response.
func (s *releasedSite) cookie(t *testing.T, c *customer, path string, form url.Values) string {
	t.Helper()
	cookie, _, _ := strings.Cut(c.form(t, path, form).header.Get("Set-Cookie"), ";")
	if cookie == "" {
		t.Fatalf("%s sets no cookie", path)
	}
	return cookie
}

// cookieOf returns the cookies of a browser.
func (s *releasedSite) cookieOf(t *testing.T, b *console) string {
	t.Helper()
	var all []string
	for name, value := range b.cookies {
		if value != "" {
			all = append(all, name+"="+value)
		}
	}
	if len(all) == 0 {
		t.Fatal("the browser has no cookie")
	}
	return strings.Join(all, "; ")
}

// company creates another company and returns its account.
func (s *releasedSite) company(t *testing.T, name, email string) (account string) {
	t.Helper()
	var made struct {
		AccountID string `json:"account_id"`
		Password  string
	}
	s.record(t, &made, "", "account", "create", "--company", name, "--email", email)
	s.password = made.Password
	return made.AccountID
}

// guarded has a company that requires a second factor, whose owner has an authenticator app and a passkey, and that was
// reset. It has no open work.
func (s *releasedSite) guarded(t *testing.T) releasedCompany {
	c := newCustomer(s.site)
	c.account, c.email = s.company(t, "Dune Logistics FZE", "owner@dune.example"), "owner@dune.example"
	c.password = s.password
	s.connectProvider(t, c.account)
	c.login(t)
	c.changePassword(t, "three mild walruses sing")
	c.create(t, "FORGOTTEN-1", ordinary, "")
	s.command(t, "", "sandbox", "reset", "--account", c.account, "--receiver", c.hooks+"/dune")
	c.login(t)
	c.create(t, "SOLD-1", ordinary, "") // as another company has
	c.create(t, "DRAFT-1", ordinary, "")
	clerk := newCustomer(s.site)
	clerk.account, clerk.email = c.account, "clerk@dune.example"
	var made struct{ Password string }
	s.record(t, &made, "", "account", "user", "add", c.account, "--email", clerk.email, "--role", "owner")
	clerk.password = made.Password
	clerk.login(t)
	clerk.changePassword(t, "four tidy penguins hum")
	browser := &console{customer: clerk, cookies: map[string]string{}}
	passkey := browser.addPasskey(t)
	begun := c.do(t, http.MethodPost, atTOTP, "", "", http.StatusOK)
	known := releasedCompany{Account: c.account, Email: c.email, Password: c.password,
		TOTP: valueAt(t, begun, "/data/secret"), PasskeyEmail: clerk.email, PasskeyPassword: clerk.password, Passkey: passkey}
	confirmed := c.do(t, http.MethodPost, atTOTP+"/confirm", "", fmt.Sprintf(`{"code":%q}`, codeOf(t, known.TOTP, 0)),
		http.StatusOK)
	known.Recovery = codesIn(t, confirmed)[3]
	s.command(t, "", "account", "login-policy", c.account, "--require", "second_factor")
	browser.cookies = map[string]string{}
	browser.loginWith(t, passkey) // the policy has ended the sessions that began with a password alone
	known.Cookie = s.cookieOf(t, browser)
	login := fmt.Sprintf(`{"email":%q,"password":%q,"otp":%q}`, c.email, c.password, codesIn(t, confirmed)[0])
	known.Token = valueAt(t, c.do(t, http.MethodPost, atAuth+"login", "", login, http.StatusOK), "/data/token")
	return known
}

// operator has an operator, who has enrolled and logged in, and one who has not.
func (s *releasedSite) operator(t *testing.T, c *customer) releasedOperator {
	var made struct{ URL string }
	s.command(t, "", "operator", "add", "--email", "later@owner.example")
	s.record(t, &made, "", "operator", "add", "--email", operatorEmail)
	known := releasedOperator{Email: operatorEmail, Password: operatorPassword}
	known.TOTP = c.enrolOperator(t, secretOf(t, made.URL))
	known.Cookie = c.loginOperator(t, known.TOTP)
	return known
}

// rotate begins to rotate the sealing key: the new key seals, and most values are still sealed under the old one.
func (s *releasedSite) rotate(t *testing.T) {
	var added struct {
		ID uint32 `json:"key_id"`
	}
	s.record(t, &added, "", "key", "add")
	s.command(t, "", "key", "promote", fmt.Sprint(added.ID))
}

// waitForDeliveries waits until the receiver has refused deliveries that are to be repeated later. The server completes
// the other attempts that it has begun when it is stopped.
func (s *releasedSite) waitForDeliveries(t *testing.T, c *customer) {
	t.Helper()
	kit.Eventually(t, func() error {
		got := c.do(t, http.MethodGet, atDeliveries+"?state=pending&per_page=100", "", "", http.StatusOK)
		if valueAt(t, got, "/pagination/total") == "0" || !strings.Contains(string(got.body), `"attempt_count":1`) {
			return fmt.Errorf("no delivery waits to be repeated: %.500s", got.body)
		}
		return nil
	})
}
