package server_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/hotp"

	"quittance/client/api"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
)

const totpPath = "/api/v1/client/auth/totp"

// authenticator is an authenticator app with the recovery codes that its user has saved.
type authenticator struct {
	secret   string
	step     int64 // the time step at which the secret was made
	recovery []string
}

// code returns the code of the step that is n steps after the one at which the secret was made. The codes of that step
// and of the next one are accepted for at least a step, so that tests neither wait nor depend on when a step ends.
func (a *authenticator) code(t testing.TB, n int64) string {
	t.Helper()
	code, err := hotp.GenerateCode(a.secret, uint64(a.step+n))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// unused returns a code that is accepted now, however long ago the secret was made.
func (a *authenticator) unused(t testing.TB) string {
	t.Helper()
	return a.code(t, max(1, time.Now().Unix()/30-a.step))
}

// begun makes the secret of an authenticator app of the user of a token.
func (c *company) begun(t testing.TB, token string) *authenticator {
	t.Helper()
	a := c.send(t, request{method: http.MethodPost, path: totpPath, token: token})
	a.want(t, http.StatusOK, "")
	return &authenticator{secret: a.textAt(t, "/data/secret"), step: time.Now().Unix() / 30}
}

// confirmed is the body that confirms the first authenticator app.
func confirmed(code string) string {
	return fmt.Sprintf(`{"code":%q,"current_password":%q}`, code, password)
}

// enrolled gives the owner a second factor. The code of the present step is used up.
func (c *company) enrolled(t testing.TB) *authenticator {
	t.Helper()
	token := c.token(t)
	app := c.begun(t, token)
	a := c.send(t, request{method: http.MethodPost, path: totpPath + "/confirm", token: token,
		body: confirmed(app.code(t, 0))})
	a.want(t, http.StatusOK, "")
	var body api.Data[api.RecoveryCodes]
	a.decode(t, &body)
	app.recovery = body.Data.RecoveryCodes
	return app
}

// logIn logs in with a code, or without one if it is empty.
func (c *company) logIn(t testing.TB, given, otp string) response {
	t.Helper()
	body := fmt.Sprintf(`{"email":%q,"password":%q}`, c.email, given)
	if otp != "" {
		body = fmt.Sprintf(`{"email":%q,"password":%q,"otp":%q}`, c.email, given, otp)
	}
	return c.send(t, request{method: http.MethodPost, path: loginPath, body: body})
}

func bothFactors(current, otp string) string {
	return fmt.Sprintf(`{"current_password":%q,"otp":%q}`, current, otp)
}

// withFactor is a valid body of an operation that needs both factors.
func withFactor(t *testing.T, c *company) string {
	return bothFactors(password, c.enrolled(t).recovery[0])
}

// wrongFactors are the rows of an operation that needs both factors.
func wrongFactors(rows ...row) []row {
	return append(rows,
		row{name: "wrong password", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
			prepare: sends(bothFactors("wrong", "123456")),
			check: func(t *testing.T, _ *company, a response) {
				a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"current_password": {"wrong"}})
			}},
		row{name: "wrong code", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
			prepare: sends(bothFactors(password, "abcd-abcd-abcd-abcd")),
			check: func(t *testing.T, _ *company, a response) {
				a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"otp": {"wrong"}})
			}},
		row{name: "no second factor", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
			prepare: func(t *testing.T, c *company, r *request) {
				other := c.system.company(t)
				r.token, r.body = other.token(t), bothFactors(password, "123456")
			}, check: func(t *testing.T, _ *company, a response) {
				a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"otp": {"not_enrolled"}})
			}})
}

var secondFactorOperations = []operation{
	{route: "GET /api/v1/client/auth/second-factor", rows: []row{
		{name: "none", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data", `{"enrolled":false,"enrolled_at":null,"recovery_codes_left":0}`)
			c.enrolled(t)
			after := c.get(t, "/api/v1/client/auth/second-factor")
			wantRaw(t, after, "/data/enrolled", "true")
			wantRaw(t, after, "/data/recovery_codes_left", "10")
		}},
	}},
	{route: "POST /api/v1/client/auth/totp", rows: []row{
		{name: "replaces nothing", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
			if shared := a.textAt(t, "/data/secret"); len(shared) != 32 ||
				!strings.Contains(a.textAt(t, "/data/otpauth_url"), "secret="+shared) {
				t.Errorf("answered %s", a.text)
			}
			c.logIn(t, password, "").want(t, http.StatusOK, "")
		}},
	}},
	{route: "POST /api/v1/client/auth/totp/confirm", alone: true,
		body:  func(*testing.T, *company) string { return confirmed("123456") },
		begun: func(t *testing.T, c *company, r *request) { r.body = confirmed(c.begun(t, r.token).code(t, 0)) }, rows: []row{
			{name: "ten codes", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
				if n := strings.Count(a.text, "-"); n < 3*10 {
					t.Errorf("answered %s", a.text)
				}
				c.logIn(t, password, "").want(t, http.StatusUnauthorized, api.CodeOTPRequired)
				c.send(t, request{method: http.MethodGet, path: invoicesPath, token: a.request.token}).want(t, http.StatusOK, "")
			}},
			{name: "wrong code", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
				prepare: sends(`{"code":"12345x"}`), check: func(t *testing.T, c *company,
					_ response) {
					c.logIn(t, password, "").want(t, http.StatusOK, "")
				}},
			{name: "the first one without the password", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
				prepare: func(t *testing.T, c *company, r *request) {
					r.token = c.logIn(t, password, "").textAt(t, "/data/token")
					r.body = fmt.Sprintf(`{"code":%q}`, c.begun(t, r.token).code(t, 0))
				}, check: func(t *testing.T, c *company, a response) {
					a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"current_password": {"required"}})
					c.logIn(t, password, "").want(t, http.StatusOK, "")
				}},
			{name: "the first one with a wrong password", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
				prepare: func(t *testing.T, c *company, r *request) {
					r.token = c.logIn(t, password, "").textAt(t, "/data/token")
					r.body = strings.Replace(confirmed(c.begun(t, r.token).code(t, 0)), password, "a password that is wrong", 1)
				}, check: func(t *testing.T, c *company, a response) {
					a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"current_password": {"wrong"}})
					c.logIn(t, password, "").want(t, http.StatusOK, "")
				}},
			{name: "the app of another session", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
				prepare: func(t *testing.T, c *company, r *request) {
					r.body = confirmed(c.begun(t, c.token(t)).code(t, 0))
				}, check: func(t *testing.T, _ *company, a response) {
					a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"code": {"wrong"}})
				}},
			{name: "replaces only with the present factor", status: http.StatusUnprocessableEntity,
				code: api.CodeValidationFailed, prepare: func(t *testing.T, c *company, r *request) {
					c.enrolled(t)
					r.body = confirmed(c.begun(t, r.token).code(t, 0))
				}, check: func(t *testing.T, _ *company, a response) {
					a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"otp": {"wrong"}})
				}},
			{name: "replaces, and the other sessions end", status: http.StatusOK,
				prepare: func(t *testing.T, c *company, r *request) {
					present := c.enrolled(t)
					r.header.Set("X-Test-Other-Token", c.token2(t, present.recovery[1]))
					r.body = fmt.Sprintf(`{"code":%q,"otp":%q}`, c.begun(t, r.token).code(t, 0), present.recovery[0])
				}, check: func(t *testing.T, c *company, a response) {
					c.send(t, request{method: http.MethodGet, path: invoicesPath,
						token: a.request.header.Get("X-Test-Other-Token")}).want(t, http.StatusUnauthorized, api.CodeUnauthenticated)
					c.send(t, request{method: http.MethodGet, path: invoicesPath, token: a.request.token}).want(t, http.StatusOK, "")
				}},
		}},
	{route: "POST /api/v1/client/auth/totp/disable", alone: true, body: withFactor, rows: wrongFactors(
		row{name: "the password is enough again", status: http.StatusOK,
			check: func(t *testing.T, c *company, _ response) { c.logIn(t, password, "").want(t, http.StatusOK, "") }},
		row{name: "the company requires one", status: http.StatusForbidden, code: api.CodeSecondFactorRequired,
			prepare: func(t *testing.T, c *company, r *request) {
				other := c.system.company(t)
				app := other.enrolled(t)
				other.requireFactor(t)
				r.token, r.body = other.token2(t, app.recovery[0]), bothFactors(password, app.recovery[1])
			}})},
	{route: "POST /api/v1/client/auth/totp/recovery-codes", alone: true, body: withFactor, rows: wrongFactors(
		row{name: "new codes", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
			var body api.Data[api.RecoveryCodes]
			a.decode(t, &body)
			c.logIn(t, password, body.Data.RecoveryCodes[9]).want(t, http.StatusOK, "")
			c.logIn(t, password, body.Data.RecoveryCodes[9]).want(t, http.StatusUnauthorized, api.CodeOTPRequired)
		}})},
	{route: "POST /api/v1/client/users/{user_id}/second-factor/reset", ids: aUserWithFactor, rows: []row{
		{name: "the factor and the sessions end", status: http.StatusOK},
		{name: "the own one", status: http.StatusForbidden, code: api.CodeForbidden,
			prepare: func(_ *testing.T, c *company, r *request) {
				r.path = users + "/" + c.user.ID.String() + "/second-factor/reset"
			}},
	}},
}

// token2 logs in with both factors.
func (c *company) token2(t testing.TB, otp string) string {
	t.Helper()
	a := c.logIn(t, password, otp)
	a.want(t, http.StatusOK, "")
	return a.textAt(t, "/data/token")
}

// aUserWithFactor adds a user with a second factor.
func aUserWithFactor(t *testing.T, c *company) map[string]string {
	t.Helper()
	colleague := c.colleague(t, access.Accountant)
	colleague.enrolled(t)
	return map[string]string{"user_id": colleague.user.ID.String()}
}

// TestLoginWithSecondFactor: a wrong password gets the same response with and without a second factor; each code works
// once; an owner's reset ends all sessions; and no secret, code or recovery code is in the audit log.
func TestLoginWithSecondFactor(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		plain := c.colleague(t, access.Viewer)
		app := c.enrolled(t)
		for _, otp := range []string{"", app.code(t, 1), app.recovery[0]} {
			a, b := c.logIn(t, "wrong", otp), plain.logIn(t, "wrong", otp)
			a.want(t, http.StatusUnauthorized, api.CodeInvalidCredentials)
			if a.text != b.text {
				t.Errorf("a wrong password answers %s, and without a second factor %s", a.text, b.text)
			}
		}
		plain.logIn(t, password, "what is this").want(t, http.StatusOK, "")
		for _, otp := range []string{"", "000000", app.code(t, 0), "' or 1=1 --", strings.Repeat("9", 64),
			"ab2d-ef3h-ij4l-mn5p"} {
			c.logIn(t, password, otp).want(t, http.StatusUnauthorized, api.CodeOTPRequired)
		}
		code := app.unused(t)
		c.logIn(t, password, code).want(t, http.StatusOK, "")
		c.logIn(t, password, code).want(t, http.StatusUnauthorized, api.CodeOTPRequired)
		c.logIn(t, password, strings.ToUpper(app.recovery[0])).want(t, http.StatusOK, "")
		c.logIn(t, password, app.recovery[0]).want(t, http.StatusUnauthorized, api.CodeOTPRequired)

		var wg sync.WaitGroup
		var mu sync.Mutex
		accepted := 0
		for range 8 {
			wg.Go(func() {
				if c.logIn(t, password, app.recovery[1]).status == http.StatusOK {
					mu.Lock()
					defer mu.Unlock()
					accepted++
				}
			})
		}
		wg.Wait()
		if accepted != 1 {
			t.Errorf("a recovery code was accepted %d times", accepted)
		}
		token := c.token2(t, app.recovery[2])
		owner := c.colleague(t, access.Owner)
		owner.post(t, users+"/"+c.user.ID.String()+"/second-factor/reset", "").want(t, http.StatusOK, "")
		c.send(t, request{method: http.MethodGet, path: invoicesPath, token: token}).want(t, http.StatusUnauthorized,
			api.CodeUnauthenticated)
		c.logIn(t, password, "").want(t, http.StatusOK, "")
		log := c.get(t, "/api/v1/client/audit?per_page=100")
		for _, secret := range append(app.recovery, app.secret, code) {
			if strings.Contains(strings.ToLower(log.text), strings.ToLower(secret)) {
				t.Errorf("the audit log contains %s", secret)
			}
		}
	})
}

// TestCodesAreLimited: somebody with the password gets ten wrong codes an hour, all replicas together, and does not
// lock the user out who has logged in from another place.
func TestCodesAreLimited(t *testing.T) {
	onEngines(t, func(c *service.Config) { walkConfig(c); c.LoginRate = 1000 }, func(t *testing.T, s *system) {
		c := s.company(t)
		app := c.enrolled(t)
		from := func(source, otp string) response {
			return c.send(t, request{method: http.MethodPost, path: loginPath, header: http.Header{"X-Forwarded-For": {source}},
				body: fmt.Sprintf(`{"email":%q,"password":%q,"otp":%q}`, c.email, password, otp)})
		}
		from("198.51.100.1", app.recovery[0]).want(t, http.StatusOK, "")
		for n := range 10 {
			from(fmt.Sprintf("203.0.113.%d", n+1), "12345x").want(t, http.StatusUnauthorized, api.CodeOTPRequired)
		}
		limited := from("203.0.113.99", app.recovery[1])
		limited.want(t, http.StatusTooManyRequests, api.CodeRateLimited)
		if limited.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		from("198.51.100.1", app.recovery[1]).want(t, http.StatusOK, "")
	})
}

// TestHeldSessionHasNoAPI: a session without a required second factor is good for nothing, with whatever secret it
// began.
func TestHeldSessionHasNoAPI(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		c.requireFactor(t)
		token, err := secret.NewToken(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := identity.CreateToken(t.Context(), c.db, c.user,
			identity.NewToken{Digest: secret.Digest(token), ExpiresAt: time.Now().Add(time.Hour), Client: identity.ClientConsole,
				Means: identity.LoginByPassword}); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{invoicesPath, "/api/v1/client/account", "/api/v1/client/auth/second-factor"} {
			c.send(t, request{method: http.MethodGet, path: path, token: token.Reveal()}).want(t, http.StatusUnauthorized,
				api.CodeUnauthenticated)
		}
		c.send(t, request{method: http.MethodPost, path: totpPath, token: token.Reveal()}).want(t, http.StatusUnauthorized,
			api.CodeUnauthenticated)
		if err := identity.SetLoginPolicyOf(t.Context(), c.db, c.id, base.LoginAny); err != nil {
			t.Fatal(err)
		}
		c.send(t, request{method: http.MethodGet, path: invoicesPath, token: token.Reveal()}).want(t, http.StatusOK, "")
	})
}
