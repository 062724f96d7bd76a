package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ops/service"
)

// TestQuotas checks that a company sees its quotas and their use, and that a call beyond a quota fails with the name of
// the quota. A login beyond the quota of tokens revokes the oldest token.
func TestQuotas(t *testing.T) {
	quotas := base.Quotas{StoredBytes: 1 << 20, Drafts: 2, Tokens: 3, SubscriptionsCreated: 1}
	onEngines(t, func(config *service.Config) { config.Quotas = quotas }, func(t *testing.T, s *system) {
		c := s.connected(t)
		read := func(token string) api.Quotas {
			t.Helper()
			a := c.send(t, request{method: http.MethodGet, path: "/api/v1/client/account", token: token})
			a.want(t, http.StatusOK, "")
			var account api.Data[api.Account]
			if err := json.Unmarshal([]byte(a.text), &account); err != nil {
				t.Fatal(err)
			}
			return account.Data.Quotas
		}
		tokens := make([]string, 5)
		for n := range tokens {
			tokens[n] = c.token(t)
		}
		for n, token := range tokens {
			want, code := http.StatusOK, api.Code("")
			if n < 2 {
				want, code = http.StatusUnauthorized, api.CodeUnauthenticated
			}
			c.send(t, request{method: http.MethodGet, path: invoicesPath, token: token}).want(t, want, code)
		}
		token := tokens[4]
		send := func(path, body string) response {
			t.Helper()
			return c.send(t, request{method: http.MethodPost, path: path, body: body, token: token})
		}
		refused := func(a response, quota string, limit int64) {
			t.Helper()
			a.want(t, http.StatusConflict, api.CodeLimitReached)
			if want := fmt.Sprintf(`"details":{"limit":%d,"quota":%q}`, limit, quota); !strings.Contains(a.text, want) {
				t.Errorf("%s has no %s", a.text, want)
			}
		}
		send(subscriptions, `{"url":"https://hooks.example.com/"}`).want(t, http.StatusCreated, "")
		refused(send(subscriptions, `{"url":"https://hooks.example.com/"}`), base.QuotaSubscriptionsCreated, 1)
		for range 2 {
			send(invoicesPath, least).want(t, http.StatusCreated, "")
		}
		refused(send(invoicesPath, least), base.QuotaDrafts, 2)
		used := read(token)
		if used.Drafts.Used != 2 || *used.Drafts.Limit != 2 || used.Tokens.Used != 3 || used.Subscriptions.Used != 1 ||
			*used.Subscriptions.Limit != events.MaxSubscriptions ||
			used.SubscriptionsCreated.Used != 1 || used.StoredBytes.Used < 100 || *used.StoredBytes.Limit != quotas.StoredBytes {
			t.Errorf("the quotas are %+v", used)
		}
	})
}

// TestNoQuotas checks that the account says so if no quotas are configured.
func TestNoQuotas(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		a := s.company(t).get(t, "/api/v1/client/account")
		a.want(t, http.StatusOK, "")
		if !strings.Contains(a.text, `"drafts":{"limit":null,"used":0}`) {
			t.Errorf("without quotas the account is %s", a.text)
		}
	})
}

// maxStoredBytes is the quota of stored bytes in TestEveryOperation.
const maxStoredBytes = 6 << 20

// quotaRow returns the row of an operation that stores data, for a company that has used up its quota of stored bytes.
func quotaRow() row {
	return row{name: "of a company that has used up its quota", status: http.StatusConflict, code: api.CodeLimitReached,
		prepare: func(t *testing.T, c *company, _ *request) {
			item := `{"name":"N","quantity":1,"net_unit_price":1,"description":"` + strings.Repeat("x", 900) + `"}`
			large := edit(least, "items", "["+strings.TrimSuffix(strings.Repeat(item+",", 1000), ",")+"]")
			for range maxStoredBytes/(900*1000) + 1 {
				if a := c.post(t, invoicesPath, large); a.status != http.StatusCreated {
					a.want(t, http.StatusConflict, api.CodeLimitReached)
				}
			}
		},
		check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/error/details/quota", `"stored_bytes"`)
			wantRaw(t, a, "/error/details/limit", fmt.Sprint(maxStoredBytes))
		}}
}
