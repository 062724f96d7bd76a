package integration_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/hotp"

	"quittance/test/kit"
)

const (
	operatorEmail    = "ada@owner.example"
	operatorPassword = "a quiet harbour at noon"
)

var (
	operatorsPattern = regexp.MustCompile(`msg=serving .*operators=(\S+)`)
	sharedPattern    = regexp.MustCompile(`name="shared" value="([A-Z2-7]{32})"`)
)

// operators covers an operator who is added, reset, enrols, logs in and out, and is disabled.
func operators(t *testing.T, c *customer) {
	c.login(t)
	// otherwise the operator may be there already
	if _, again, err := c.attempt(t, "", "operator", "add", "--email", operatorEmail, "--json"); err != nil && !again {
		t.Fatal(err)
	}
	cookie := c.enterOperator(t)
	if got := c.operatorCall(t, http.MethodPost, "/logout", cookie, nil); got.status != http.StatusSeeOther {
		t.Errorf("logout: status %d", got.status)
	}
	if got := c.operatorCall(t, http.MethodGet, "/accounts", cookie, nil); got.status != http.StatusSeeOther {
		t.Errorf("after the logout: status %d", got.status)
	}
	c.command(t, "", "operator", "disable", "--email", operatorEmail)
	var listed []struct{ Email, State string }
	c.record(t, &listed, "", "operator", "list")
	if len(listed) != 1 || listed[0].Email != operatorEmail || listed[0].State != "disabled" {
		t.Errorf("the operators are %+v", listed)
	}
	c.audit(t)
}

// operatorCall makes a call to the pages of operators, like a person who repeats it until there is a response.
func (s *site) operatorCall(t *testing.T, method, path, cookie string, form url.Values) response {
	t.Helper()
	var got response
	if err := kit.Poll(func() error {
		s.running(t)
		address, err := s.server.says(operatorsPattern)
		if err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path,
			strings.NewReader(form.Encode()))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Cookie", "quittance-operator="+cookie)
		if got, err = readResponse(s.caller.client.Do(request)); err == nil && got.status == http.StatusServiceUnavailable {
			err = fmt.Errorf("unavailable: %s", got.body)
		}
		return err
	}); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

// enrolOperator follows an enrolment link and returns the secret of the authenticator. If the response was lost, the
// link may be used up already.
func (c *customer) enrolOperator(t *testing.T, code string) (shared string) {
	t.Helper()
	opened := c.operatorCall(t, http.MethodPost, "/enrol", "", url.Values{"code": {code}})
	found := sharedPattern.FindSubmatch(opened.body)
	if found == nil {
		t.Fatalf("enrolment: status %d", opened.status)
	}
	shared = string(found[1])
	got := c.operatorCall(t, http.MethodPost, "/enrol/confirm", "", url.Values{"code": {code}, "shared": {shared},
		"password": {operatorPassword}, "shown": {codeOf(t, shared, 0)}})
	if got.status != http.StatusOK && !(got.status == http.StatusUnprocessableEntity && c.fired) {
		t.Fatalf("enrolment: status %d: %s", got.status, got.body)
	}
	return shared
}

// enterOperator resets and enrols an operator, who logs in, and returns the cookie. A login whose response was lost has
// used up its code, so the operator is reset and starts again.
func (c *customer) enterOperator(t *testing.T) (cookie string) {
	t.Helper()
	for range 3 {
		var made struct{ URL string }
		c.record(t, &made, "", "operator", "reset", "--email", operatorEmail)
		if cookie := c.loginOperator(t, c.enrolOperator(t, secretOf(t, made.URL))); cookie != "" {
			return cookie
		}
	}
	t.Fatal("no login of the operator succeeded")
	return ""
}

// loginOperator logs in with the code of the next time step, because an enrolment has used the current one, and returns
// the cookie: "" if the code was used up by a login whose response was lost.
func (c *customer) loginOperator(t *testing.T, shared string) (cookie string) {
	t.Helper()
	got := c.operatorCall(t, http.MethodPost, "/login",
		"", url.Values{"email": {operatorEmail}, "password": {operatorPassword}, "code": {codeOf(t, shared, 1)}})
	for _, set := range (&http.Response{Header: got.header}).Cookies() {
		return set.Value
	}
	c.wantFired(t, got)
	return ""
}

// codeOf returns what the authenticator with a secret shows, a number of steps from now.
func codeOf(t *testing.T, shared string, steps int64) string {
	t.Helper()
	code, err := hotp.GenerateCode(shared, uint64(time.Now().Unix()/30+steps))
	if err != nil {
		t.Fatal(err)
	}
	return code
}
