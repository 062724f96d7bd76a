package integration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/pquerna/otp/hotp"

	"quittance/client/api"
)

const atTOTP = atAuth + "totp"

// factor covers the second factor: a user begins to use an authenticator app, logs in with it, makes new recovery codes
// and turns it off, and an administrator removes the next one.
func factor(t *testing.T, c *customer) {
	c.login(t)
	recovery := c.enroll(t)
	c.wantCode(t, true)
	if got := c.form(t, "/login", url.Values{"email": {c.email},
		"password": {c.password}}); got.status != http.StatusSeeOther {
		t.Errorf("a login to the console: status %d", got.status)
	}
	body := func(otp string) string { return fmt.Sprintf(`{"current_password":%q,"otp":%q}`, c.password, otp) }
	got := c.do(t, http.MethodPost, atTOTP+"/recovery-codes", "", body(recovery[0]), http.StatusOK,
		http.StatusUnprocessableEntity)
	if got.status != http.StatusOK { // the response with the new codes was lost
		c.wantFired(t, got)
		c.resetFactor(t)
		recovery = c.enroll(t)
	} else {
		recovery = codesIn(t, got)
	}
	got = c.do(t, http.MethodPost, atTOTP+"/disable", "", body(recovery[1]), http.StatusOK, http.StatusUnprocessableEntity)
	if got.status != http.StatusOK {
		c.wantFired(t, got)
	}
	c.wantCode(t, false)
	c.enroll(t)
	c.wantCode(t, true)
	c.resetFactor(t)
	c.wantCode(t, false)
	c.audit(t)
}

// enroll begins to use an authenticator app and returns the recovery codes. If the response that has them was lost, it
// starts again.
func (c *customer) enroll(t *testing.T) []string {
	t.Helper()
	for range 3 {
		shared := valueAt(t, c.do(t, http.MethodPost, atTOTP, "", "", http.StatusOK), "/data/secret")
		code, err := hotp.GenerateCode(shared, uint64(time.Now().Unix()/30))
		if err != nil {
			t.Fatal(err)
		}
		got := c.do(t, http.MethodPost, atTOTP+"/confirm", "", fmt.Sprintf(`{"code":%q,"current_password":%q}`,
			code, c.password), http.StatusOK, http.StatusUnprocessableEntity)
		if got.status == http.StatusOK {
			return codesIn(t, got)
		}
		c.wantFired(t, got)
		c.resetFactor(t)
	}
	t.Fatal("no authenticator app was confirmed")
	return nil
}

func codesIn(t *testing.T, got response) []string {
	t.Helper()
	var body api.Data[api.RecoveryCodes]
	if err := json.Unmarshal(got.body, &body); err != nil || len(body.Data.RecoveryCodes) != 10 {
		t.Fatalf("%d recovery codes: %v", len(body.Data.RecoveryCodes), err)
	}
	return body.Data.RecoveryCodes
}

// wantFired checks that a process was killed, which explains a response to a repeated call.
func (c *customer) wantFired(t *testing.T, got response) {
	t.Helper()
	if !c.fired {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
}

// resetFactor removes the second factor as an administrator does, and logs in again.
func (c *customer) resetFactor(t *testing.T) {
	t.Helper()
	c.command(t, "", "account", "user", "reset-second-factor", c.account, "--email", c.email)
	c.login(t)
}

// wantCode checks whether a login needs a code.
func (c *customer) wantCode(t *testing.T, needed bool) {
	t.Helper()
	got := c.call(t, http.MethodPost, atAuth+"login", "",
		"", fmt.Sprintf(`{"email":%q,"password":%q}`, c.email, c.password))
	if (got.status == http.StatusUnauthorized) != needed {
		t.Errorf("a login without a code gets status %d: %s", got.status, got.body)
	}
}
