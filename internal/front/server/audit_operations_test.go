package server_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"quittance/internal/ledger/base"
)

// auditOperations are the operations about the audit log.
var auditOperations = []operation{
	{route: "GET /api/v1/client/audit", rows: []row{
		{name: "a draft and a submission", status: http.StatusOK,
			prepare: func(t *testing.T, c *company, r *request) { submitted(t, c, ""); r.path += "?act=invoice" },
			check: func(t *testing.T, c *company, a response) {
				wantRaw(t, a, "/pagination/total", "1")
				wantRaw(t, a, "/data/0/act", `"invoice.submit"`)
				wantRaw(t, a, "/data/0/actor", `{"kind":"user","name":"`+c.email+`"}`)
				wantRaw(t, a, "/data/0/means", `"api"`)
				wantRaw(t, a, "/data/0/subject/type", `"invoice"`)
				created := c.get(t, "/api/v1/client/audit?act=draft.create&subject_id="+a.textAt(t, "/data/0/subject/id"))
				wantRaw(t, created, "/pagination/total", "1")
				wantRaw(t, created, "/data/0/details/invoice_number", a.raw(t, "/data/0/details/invoice_number"))
			}},
		{name: "acts of administrators", status: http.StatusOK,
			prepare: func(_ *testing.T, _ *company, r *request) { r.path += "?act=account.create" },
			check: func(t *testing.T, c *company, a response) {
				wantRaw(t, a, "/pagination/total", "1")
				wantRaw(t, a, "/data/0/subject", `{"type":"account","id":"`+c.id.String()+`"}`)
			}},
		{name: "by user and time", status: http.StatusOK,
			prepare: func(_ *testing.T, c *company, r *request) {
				r.path += "?" + url.Values{"actor": {c.email}, "act": {"session.begin"},
					"from": {time.Now().Add(-time.Hour).Format(time.RFC3339)},
					"to":   {time.Now().Add(time.Hour).Format(time.RFC3339)}}.Encode()
			},
			check: func(t *testing.T, c *company, a response) {
				wantRaw(t, a, "/data/0/subject/type", `"user"`)
				wantRaw(t, a, "/data/0/details", `{"email":"`+c.email+`"}`)
			}},
		{name: "of somebody else", status: http.StatusOK,
			prepare: func(_ *testing.T, _ *company, r *request) { r.path += "?actor=nobody@example.com" },
			check:   func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
		badPage("per_page=x"), badPage("from=yesterday"), badPage("to=2026-03-01"),
	}},
}

// entriesOf returns the acts in the audit log that have the request identifier of a response.
func (s *system) entriesOf(t *testing.T, a response) (acts []string) {
	t.Helper()
	entries, err := s.db.Audit(t.Context(), base.AuditFilter{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.RequestID != "" && e.RequestID == a.header.Get("X-Request-Id") {
			acts = append(acts, e.Act)
			if e.Kind != base.ActorUser || e.Name == "" || e.Source == "" || e.Means != base.MeansAPI {
				t.Errorf("%s: actor %+v", e.Act, e.Actor)
			}
		}
	}
	return acts
}
