package site_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
)

var shownKey = regexp.MustCompile(`qk_sandbox_[0-9A-Za-z]{49}`)

// formKey returns the hidden key of the form on a page.
func formKey(t *testing.T, page response) string {
	t.Helper()
	found := regexp.MustCompile(`name="key" value="([0-9a-f]+)"`).FindStringSubmatch(page.body)
	if found == nil {
		t.Fatalf("no form: %.300s", page.body)
	}
	return found[1]
}

// TestAPIKeyPages checks that a key is shown once, in the response to its form alone, that sending the form again
// creates no other one, and that the key works until it is revoked.
func TestAPIKeyPages(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	v := s.colleague(t, access.Developer)
	if empty := v.get("/api-keys"); !strings.Contains(empty.body, "No API keys yet") {
		t.Errorf("no keys: %.300s", empty.body)
	}
	fields := []string{"key", formKey(t, v.get("/api-keys/new")), "name", "ERP <Dubai>", "scopes", "read", "scopes",
		"webhooks", "networks", "127.0.0.0/8\r\n2001:db8::1, 10.0.0.1", "expires", "2999-01-01"}
	made := v.post("/api-keys/new", fields...)
	key := shownKey.FindString(made.body)
	if made.status != http.StatusCreated || key == "" || strings.Count(made.body, key) != 1 ||
		made.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v", made.status, made.header)
	}
	again := v.post("/api-keys/new", fields...)
	if again.status != http.StatusSeeOther || again.header.Get("Location") != "/api-keys?notice=good.key_made_before" {
		t.Errorf("again: %d %s", again.status, again.header.Get("Location"))
	}
	list := v.get("/api-keys")
	for _, want := range []string{"ERP &lt;Dubai&gt;", "qk_sandbox_…" + key[len(key)-4:], "read, webhooks",
		"Only from 127.0.0.0/8, 2001:db8::1/128, 10.0.0.1/32", "by developer@colleagues.example"} {
		if !strings.Contains(list.body, want) {
			t.Errorf("the list has no %q", want)
		}
	}
	if strings.Contains(list.body, key) || strings.Contains(v.get("/api-keys/new").body, key) {
		t.Error("the key is shown again")
	}
	keys, err := identity.APIKeys(t.Context(), s.tenant(t))
	kit.Must(t, err)
	if len(keys) != 1 || keys[0].ExpiresAt == nil ||
		!keys[0].ExpiresAt.Equal(time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Fatalf("keys %+v", keys)
	}
	call := func() int {
		return s.visitor(t).do(http.MethodGet, "/api/v1/client/invoices", "", "Authorization", "Bearer "+key).status
	}
	if got := call(); got != http.StatusOK {
		t.Errorf("a call with the key: %d", got)
	}
	revoked := v.post("/api-keys/" + keys[0].ID.String() + "/revoke")
	if revoked.status != http.StatusSeeOther || call() != http.StatusUnauthorized {
		t.Errorf("revoked: %d, then %d", revoked.status, call())
	}
	if list := v.get("/api-keys"); !strings.Contains(list.body, "revoked") || strings.Contains(list.body, "popover role") {
		t.Error("the list does not show the revocation")
	}
	acts, err := s.DB().Audit(t.Context(), base.AuditFilter{Act: "api_key", Limit: 10})
	kit.Must(t, err)
	if len(acts) != 2 || acts[0].Name != "developer@colleagues.example" || acts[0].Means != base.MeansConsole {
		t.Errorf("acts %+v", acts)
	}
}

// TestAPIKeyFormFaults checks that the form explains its errors beside its fields and keeps the input.
func TestAPIKeyFormFaults(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	v := s.colleague(t, access.Developer)
	got := v.post("/api-keys/new", "name", "", "networks", "10.0.0.0/8\nhome", "expires", "2001-01-01")
	if got.status != http.StatusUnprocessableEntity {
		t.Fatalf("status %d", got.status)
	}
	for _, want := range []string{`id="name-fault"`, `id="scopes-fault"`, "home: must be an IP address",
		`id="expires-fault"`, "10.0.0.0/8\nhome</textarea>", `value="2001-01-01"`} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the form has no %q", want)
		}
	}
	for range identity.MaxAPIKeys {
		v.post("/api-keys/new", "key", formKey(t, v.get("/api-keys/new")), "name", "one of many", "scopes", "read")
	}
	if got := v.post("/api-keys/new", "name", "one more", "scopes", "read"); got.status != http.StatusConflict ||
		!strings.Contains(got.body, "100 active keys") {
		t.Errorf("one more: %d", got.status)
	}
	if second := v.get("/api-keys?page=2"); !strings.Contains(second.body, "51 to 100 of 100") {
		t.Errorf("the second page: %.2000s", second.body)
	}
}

// TestAPIKeyScopesWithinRole checks that the form offers a developer no scope that the role lacks, and that a forged
// form gets none.
func TestAPIKeyScopesWithinRole(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	v := s.colleague(t, access.Developer)
	form := v.get("/api-keys/new")
	for _, scope := range access.Scopes {
		offered := strings.Contains(form.body, `name="scopes" value="`+string(scope)+`"`)
		if want := access.Developer.Permissions().Covers(scope.Permissions()); offered != want {
			t.Errorf("%s is offered: %v", scope, offered)
		}
	}
	forged := v.post("/api-keys/new", "key", formKey(t, form), "name", "ERP", "scopes", "submit")
	if forged.status != http.StatusUnprocessableEntity || !strings.Contains(forged.body,
		"nothing that your role does not allow") || shownKey.MatchString(forged.body) {
		t.Errorf("a forged form: %d", forged.status)
	}
}

// TestRevokeKeysOfPerson checks that the page offers to revoke the keys of somebody who is disabled or gets another
// role.
func TestRevokeKeysOfPerson(t *testing.T) {
	t.Parallel()
	for _, act := range []struct {
		path   string
		fields []string
	}{{"/disable", nil}, {"/role", []string{"role", "viewer"}}} {
		t.Run(act.path, func(t *testing.T) {
			s := start(t, first(), true, time.Hour)
			owner, v := s.colleague(t, access.Owner), s.colleague(t, access.Developer)
			if strings.Contains(owner.get("/users").body, "revoke_keys") {
				t.Error("the page offers to revoke keys that nobody has made")
			}
			key := shownKey.FindString(v.post("/api-keys/new", "key", formKey(t, v.get("/api-keys/new")), "name",
				"ERP", "scopes", "read").body)
			page := owner.get("/users")
			found := regexp.MustCompile(
				`(?s)action="(/users/[0-9a-f-]+)/disable">.{0,200}name="revoke_keys"[^>]*>\s*Also revoke the API keys of this person \(1\)`).FindStringSubmatch(page.body)
			if found == nil || strings.Count(page.body, `name="revoke_keys"`) != 2 {
				t.Fatal("the page does not offer to revoke the key")
			}
			if got := owner.post(found[1]+act.path, append([]string{"revoke_keys", "1"},
				act.fields...)...); got.status != http.StatusSeeOther {
				t.Fatalf("status %d", got.status)
			}
			if got := s.visitor(t).do(http.MethodGet, "/api/v1/client/invoices", "", "Authorization",
				"Bearer "+key).status; got != http.StatusUnauthorized {
				t.Errorf("a call with the key: %d", got)
			}
		})
	}
}

// TestAPIKeyNavigation checks that only those who manage keys are offered the page.
func TestAPIKeyNavigation(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	for _, role := range access.Roles {
		offered := strings.Contains(s.colleague(t, role).get("/account").body, `href="/api-keys"`)
		if offered != role.Permissions().Has(access.ManageKeys) {
			t.Errorf("%s is offered the page: %v", role, offered)
		}
	}
}

// TestAPIKeyInBrowser creates a key with the keyboard, copies it, and revokes it after a confirmation. The pages have
// no violation that axe finds.
func TestAPIKeyInBrowser(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, time.Hour)
		b := newBrowser(t, s.base)
		b.open("/login")
		b.login(s.email, s.password)
		b.open("/api-keys")
		b.inspect("keys-none")
		b.open("/api-keys/new")
		b.until(`document.querySelector("#name")`)
		b.do(chromedp.SendKeys("#name", "ERP\r"))
		b.until(`document.querySelector("#secret") && location.pathname === "/api-keys"`)
		b.inspect("keys-made")
		b.click("#copy")
		b.until(`document.querySelector("#copy").textContent !== "Copy"`)
		b.click("#done")
		b.until(`document.querySelector("button[popovertarget]")`)
		b.inspect("keys")
		b.click("button[id^=revoke-]")
		b.until(`document.querySelector("[popover]").matches(":popover-open")`)
		b.inspect("keys-confirm")
		b.click("[popover] button.danger")
		b.until(`document.querySelector(".pill")`)
		keys, err := identity.APIKeys(t.Context(), s.tenant(t))
		kit.Must(t, err)
		if len(keys) != 1 || keys[0].RevokedAt == nil {
			t.Errorf("keys %+v", keys)
		}
	})
}
