package server_test

import (
	"net/http"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
)

// documentRows are the cases of both documents; the company's profile is empty in the table of operations.
var documentRows = []row{
	{name: "without a format", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{"profile": {"required"}})
		}},
	{name: "of an unknown format", status: http.StatusBadRequest, code: api.CodeMalformedRequest,
		prepare: withProfile("PINT-AE")},
	{name: "that is not complete", status: http.StatusUnprocessableEntity, code: api.CodeInvoiceIncomplete,
		prepare: withProfile("pint-ae"),
		check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/error/details/seller.legal_name/0/rule", `"incomplete_profile"`)
			wantRaw(t, a, "/error/details/seller.legal_name/0/rule_id", `"ibr-006"`)
		}},
	{name: "that is complete", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
		c.setProfile(t, emiratiProfile())
		withReason(t, c, r)
		withProfile("pint-ae")(t, c, r)
	}, check: func(t *testing.T, _ *company, a response) {
		if a.header.Get("Content-Type") != "application/xml" || !strings.HasPrefix(a.header.Get("Content-Disposition"),
			"attachment; filename=") ||
			!strings.HasPrefix(a.text, "<?xml") || !strings.Contains(a.text, ">1050.00</cbc:PayableAmount>") {
			t.Errorf("%q with %v", a.text, a.header)
		}
	}},
}

// withProfile adds the document format to the request.
func withProfile(name string) func(*testing.T, *company, *request) {
	return func(_ *testing.T, _ *company, r *request) { r.path += "?profile=" + name }
}

// withReason gives a credit note the reason that the UAE ask for.
func withReason(t *testing.T, c *company, r *request) {
	t.Helper()
	note, isNote := strings.CutSuffix(strings.TrimSuffix(r.path, ".pdf"), "/document")
	if isNote && strings.HasPrefix(note, creditNotes) {
		c.send(t, request{method: http.MethodPatch, path: note, body: `{"reason_code":"DL8.61.1.D"}`,
			token: c.token(t)}).want(t, http.StatusOK, "")
	}
}

// emiratiProfile is a profile with everything that invoices in the UAE need.
func emiratiProfile() api.Profile {
	return api.Profile{
		LegalName: new("Gulf Works LLC"), Street: new("Sheikh Zayed Road 1"), City: new("Dubai"), Subdivision: new("DXB"),
		Country: new("AE"), EndpointScheme: new("0235"), EndpointID: new("1357902468"),
		TaxRegistrationNumber: new("135790246801003"), LegalRegistration: new("CN-1234567"), LegalRegistrationType: new("TL"),
		LegalRegistrationAuthority: new("Department of Economy and Tourism"),
		PayeeAccount:               new("AE070331234567890123456"),
	}
}

func (c *company) setProfile(t *testing.T, profile api.Profile) {
	t.Helper()
	if err := identity.SetProfile(t.Context(), c.db, c.id, profile); err != nil {
		t.Fatal(err)
	}
}

// TestDocumentOfSubmittedInvoice checks that the document of a submitted invoice is written from what was submitted: a
// later change of the company profile does not change one byte of it.
func TestDocumentOfSubmittedInvoice(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.connected(t)
		c.setProfile(t, emiratiProfile())
		path := submitted(t, c, "")
		before := c.get(t, path+"/document?profile=pint-ae")
		before.want(t, http.StatusOK, "")
		moved := emiratiProfile()
		moved.Street, moved.LegalName = new("Elsewhere 2"), new("Gulf Works Holding LLC")
		c.setProfile(t, moved)
		if after := c.get(t, path+"/document?profile=pint-ae"); after.text != before.text ||
			!strings.Contains(after.text, "Sheikh Zayed Road 1") {
			t.Errorf("the document has changed from %s to %s", before.text, after.text)
		}
		draft := invoicesPath + "/" + c.draft(t, c.numbered(""))
		if a := c.get(t, draft+"/document?profile=pint-ae"); !strings.Contains(a.text, "Elsewhere 2") {
			t.Errorf("the document of a draft does not have the present profile: %s", a.text)
		}
		// Another company finds neither.
		s.company(t).get(t, path+"/document?profile=pint-ae").want(t, http.StatusNotFound, api.CodeNotFound)
	})
}

// TestPreflightForProfile checks that a preflight for a document format names what the format needs, with its rules,
// and shows the figures of the document.
func TestPreflightForProfile(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		const path = invoicesPath + "/preflight"
		body := c.numbered("")
		wantRaw(t, c.post(t, path, body), "/data/missing", "[]")
		a := c.post(t, path+"?profile=pint-ae", body)
		wantRaw(t, a, "/data/complete", "false")
		wantRaw(t, a, "/data/warnings/seller.legal_name/0/rule_id", `"ibr-006"`)
		if !strings.Contains(a.raw(t, "/data/missing"), `"seller.tax_registration_number"`) {
			t.Errorf("missing is %s", a.raw(t, "/data/missing"))
		}
		c.setProfile(t, emiratiProfile())
		a = c.post(t, path+"?profile=pint-ae", body)
		wantRaw(t, a, "/data/complete", "true")
		wantRaw(t, a, "/data/missing", "[]")

		half := strings.NewReplacer(`"quantity":10`, `"quantity":1`, `"net_unit_price":100.00`, `"net_unit_price":0.145`,
			`"gross_unit_price":110.00`, `"gross_unit_price":10.145`, `"total_amount":1050.00`,
			`"total_amount":0.16`).Replace(body)
		wantRaw(t, c.post(t, path, half), "/data/computed", computed("0.15", "0.01", "0.16"))
		a = c.post(t, path+"?profile=pint-ae", half)
		wantRaw(t, a, "/data/computed", computed("0.14", "0.01", "0.15"))
		wantRaw(t, a, "/data/complete", "true")
		c.post(t, path+"?profile=ubl", body).want(t, http.StatusBadRequest, api.CodeMalformedRequest)

		// An idempotency key belongs to one format.
		keyed := request{method: http.MethodPost, path: path + "?profile=pint-ae", body: body, token: c.token(t),
			header: http.Header{"Idempotency-Key": {"preflight-1"}}}
		c.send(t, keyed).want(t, http.StatusOK, "")
		keyed.path = path + "?profile=bis3"
		c.send(t, keyed).want(t, http.StatusConflict, api.CodeIdempotencyKeyReused)
	})
}

// TestConnectionWithProfile checks that over a connection with a document format a draft needs what the format needs,
// in the invoice, in lists, in preflight and on submission; and that the document that was sent is returned as it was
// sent, whatever changes afterwards.
func TestConnectionWithProfile(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		connection := c.connectIn(t, "pint-ae")
		wantRaw(t, c.get(t, "/api/v1/client/account"), "/data/connection/profile", `"pint-ae"`)
		path := invoicesPath + "/" + c.draft(t, c.numbered(""))
		for _, a := range []response{c.get(t, path), c.post(t, invoicesPath+"/preflight", c.numbered(""))} {
			wantRaw(t, a, "/data/complete", "false")
			wantRaw(t, a, "/data/warnings/seller.legal_name/0/rule_id", `"ibr-006"`)
		}
		list := c.get(t, invoicesPath)
		wantRaw(t, list, "/data/0/complete", "false")
		if count, whole := list.raw(t, "/data/0/missing"), c.get(t, path).raw(t, "/data/missing"); count != whole {
			t.Errorf("missing is %s in the list, and %s in the invoice", count, whole)
		}
		refused := c.post(t, path+"/submit", "")
		refused.want(t, http.StatusUnprocessableEntity, api.CodeInvoiceIncomplete)
		wantRaw(t, refused, "/error/details/seller.tax_registration_number/0/rule_id", `"ibr-134-ae"`)

		c.setProfile(t, emiratiProfile())
		wantRaw(t, c.get(t, path), "/data/complete", "true")
		wantRaw(t, c.get(t, invoicesPath), "/data/0/complete", "true")
		before := c.get(t, path+"/document")
		before.want(t, http.StatusOK, "")
		c.post(t, path+"/submit", "").want(t, http.StatusOK, "")
		moved := emiratiProfile()
		moved.Street = new("Elsewhere 2")
		c.setProfile(t, moved)
		if _, err := invoices.DisableConnection(t.Context(), c.db, connection); err != nil {
			t.Fatal(err)
		}
		c.connectIn(t, "bis3")
		for _, query := range []string{"", "?profile=pint-ae"} {
			if after := c.get(t, path+"/document"+query); after.text != before.text {
				t.Errorf("%q: the document has changed from %s to %s", query, before.text, after.text)
			}
		}
		wantRaw(t, c.get(t, path), "/data/complete", "true") // it was complete when it was sent
	})
}

// TestUnsupportedDraft checks that a draft that the adapter of the connection cannot send is incomplete wherever it is
// shown, for the reason for which its submission is refused.
func TestUnsupportedDraft(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		c.activate(t, invoices.NewConnection{Kind: "e-invoice-be", Environment: service.Sandbox,
			BaseURL: c.sandbox.Info.ProviderURL, Format: "bis3", Credential: secret.New("key")})
		profile := emiratiProfile()
		profile.TaxRegistrationNumber, profile.BuyerReference = new("AE135790246801003"), new("PO-7")
		c.setProfile(t, profile)
		body := c.numbered("")
		path := invoicesPath + "/" + c.draft(t, body)
		for _, a := range []response{c.get(t, path), c.post(t, invoicesPath+"/preflight", body)} {
			wantRaw(t, a, "/data/complete", "false")
			wantRaw(t, a, "/data/missing", `["currency"]`)
			wantRaw(t, a, "/data/warnings/currency/0/rule", `"not_supported"`)
		}
		wantRaw(t, c.get(t, invoicesPath), "/data/0/missing", `["currency"]`)
		wantRaw(t, c.post(t, invoicesPath+"/preflight?profile=pint-ae", body), "/data/warnings/currency", "")
		a := c.post(t, path+"/submit", "")
		a.want(t, http.StatusUnprocessableEntity, api.CodeInvoiceIncomplete)
		wantRaw(t, a, "/error/details/currency/0/rule", `"not_supported"`)
	})
}
