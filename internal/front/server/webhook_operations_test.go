package server_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"quittance/client/api"
	"quittance/test/kit"
)

const deliveries = "/api/v1/webhooks/deliveries"

var webhookOperations = []operation{
	{route: "GET /api/v1/webhooks/subscriptions", rows: []row{
		{name: "newest first, without secrets", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, _ *request) { aSubscription(t, c); aSubscription(t, c) },
			check: func(t *testing.T, _ *company, a response) {
				wantRaw(t, a, "/pagination/total", "2")
				wantRaw(t, a, "/data/0/secret", "")
			}},
		badPage("page=0"),
	}},
	{route: "GET /api/v1/webhooks/subscriptions/{subscription_id}", ids: aSubscription, rows: []row{
		{name: "without its secret", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/data/active", "true")
			wantRaw(t, a, "/data/secret", "")
		}},
	}},
	{route: "POST /api/v1/webhooks/subscriptions/{subscription_id}/deactivate", ids: aSubscription, rows: []row{
		{name: "for good", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data/active", "false")
			wantRaw(t, a, "/data/deactivation_reason", `"requested"`)
			again := c.send(t, request{method: http.MethodPost, path: a.request.path, token: c.token(t)})
			again.want(t, http.StatusOK, "")
			wantRaw(t, again, "/data/deactivated_at", a.raw(t, "/data/deactivated_at"))
		}},
	}},
	{route: "GET /api/v1/webhooks/deliveries", rows: []row{
		{name: "filtered", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
			d := c.get(t, deliveries+"/"+aDelivery(t, c)["delivery_id"])
			r.path += fmt.Sprintf("?subscription_id=%s&event_id=%s&event=%s&state=delivered",
				d.textAt(t, "/data/subscription_id"), d.textAt(t, "/data/event_id"), d.textAt(t, "/data/event"))
		}, check: func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/pagination/total", "1") }},
		{name: "of a subscription that cannot exist", status: http.StatusOK,
			prepare: func(_ *testing.T, _ *company, r *request) { r.path += "?subscription_id=x" },
			check:   func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
		badPage("event=x"), badPage("state=x"), badPage("state="), badPage("page=0"),
	}},
	{route: "GET /api/v1/webhooks/deliveries/{delivery_id}", ids: aDelivery, rows: []row{
		{name: "with its attempt", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/data/state", `"delivered"`)
			wantRaw(t, a, "/data/attempts/0/http_status", "200")
			wantRaw(t, a, "/data/attempts/0/error_class", "null")
		}},
	}},
	{route: "POST /api/v1/webhooks/deliveries/{delivery_id}/redeliver", ids: aDelivery, rows: []row{
		{name: "the same bytes again", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
			event := a.textAt(t, "/data/event_id")
			kit.Until(t, "a second callback of the event", func() bool {
				var bodies []string
				for _, callback := range c.sandbox.Receiver.Callbacks() {
					if callback.Delivery == event {
						bodies = append(bodies, callback.Timestamp+callback.Signature+callback.Body)
					}
				}
				return len(bodies) == 2 && bodies[0] == bodies[1]
			})
		}},
		{name: "a deactivated subscription", status: http.StatusConflict, code: api.CodeSubscriptionInactive,
			prepare: func(t *testing.T, c *company, r *request) {
				subscription := c.get(t, r.path[:len(r.path)-len("/redeliver")]).textAt(t, "/data/subscription_id")
				c.post(t, subscriptions+"/"+subscription+"/deactivate", "").want(t, http.StatusOK, "")
			}},
	}},
	{route: "GET /api/v1/webhooks/events", rows: []row{
		{name: "by cursor, without a gap", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, r *request) { aDelivery(t, c); r.path += "?limit=1" },
			check: func(t *testing.T, c *company, a response) {
				wantRaw(t, a, "/pagination", `{"next_cursor":"1","has_more":true}`)
				all := c.get(t, "/api/v1/webhooks/events")
				wantRaw(t, all, "/data/0", a.raw(t, "/data/0"))
				wantRaw(t, c.get(t, "/api/v1/webhooks/events?after=1&limit=1"), "/data/0", all.raw(t, "/data/1"))
			}},
		{name: "nothing yet", status: http.StatusOK,
			prepare: func(_ *testing.T, _ *company, r *request) { r.path += "?after=7&limit=1000" },
			check: func(t *testing.T, _ *company, a response) {
				wantRaw(t, a, "/data", "[]")
				wantRaw(t, a, "/pagination", `{"next_cursor":"7","has_more":false}`)
			}},
		{name: "the end", status: http.StatusOK, prepare: func(t *testing.T, c *company,
			r *request) {
			aDelivery(t, c)
			r.path += "?after=latest"
		},
			check: func(t *testing.T, c *company, a response) {
				wantRaw(t, a, "/data", "[]")
				wantRaw(t, a, "/pagination/has_more", "false")
				end, err := strconv.Atoi(a.textAt(t, "/pagination/next_cursor"))
				if err != nil || end < 1 {
					t.Fatalf("the end is %d: %v", end, err)
				}
				c.get(t, "/api/v1/webhooks/events?limit=1&after="+strconv.Itoa(end-1)).raw(t, "/data/0")
			}},
		badPage("after=LATEST"), badPage("after=-1"), badPage("after=01"), badPage("after=x"), badPage("after="),
		badPage("after=9223372036854775808"), badPage("limit=0"), badPage("limit=x"),
	}},
}

func aSubscription(t *testing.T, c *company) map[string]string {
	t.Helper()
	a := c.post(t, subscriptions, fmt.Sprintf(`{"url":%q}`, c.sandbox.Info.ReceiverURL))
	if a.status == http.StatusConflict { // the company has the maximum number: use one of them
		return map[string]string{"subscription_id": c.get(t, subscriptions).textAt(t, "/data/0/id")}
	}
	a.want(t, http.StatusCreated, "")
	return map[string]string{"subscription_id": a.textAt(t, "/data/id")}
}

// aDelivery returns a delivery that was delivered, the same one for every row of a company.
func aDelivery(t *testing.T, c *company) map[string]string {
	t.Helper()
	if c.delivered == "" {
		aSubscription(t, c)
		submitted(t, c, "")
		kit.Until(t, "a delivery", func() bool {
			a := c.get(t, deliveries+"?state=delivered&event=einvoice.submission.updated")
			if a.raw(t, "/data/0") == "" {
				return false
			}
			c.delivered = a.textAt(t, "/data/0/id")
			return true
		})
	}
	return map[string]string{"delivery_id": c.delivered}
}
