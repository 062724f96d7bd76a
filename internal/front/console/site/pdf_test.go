package site_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
)

// receivedInvoice is a received document that can be read.
const receivedInvoice = `<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">` +
	`<cbc:ID>SUP-7/1</cbc:ID><cbc:DocumentCurrencyCode>AED</cbc:DocumentCurrencyCode></Invoice>`

// TestPDF checks that the pages of an invoice, a credit note and an incoming e-invoice have links to their PDF files,
// that the links work and that another company gets nothing; and that a document that cannot be printed gives a page
// that says what to do.
func TestPDF(t *testing.T) {
	t.Parallel()
	s := start(t, first(), false, time.Millisecond)
	v := s.loggedIn(t)
	s.purchase(t, "readable", func(d *incoming.NewIncoming) { d.Body = []byte(receivedInvoice) })
	s.purchase(t, "other", nil)
	incoming := map[string]string{}
	found, err := view.Of(s.tenant(t)).IncomingInvoices(t.Context(), view.IncomingFilter{}, 1, 100)
	kit.Must(t, err)
	for _, i := range found.Entries {
		incoming[i.ProviderDocumentID] = "/incoming/" + i.ID.String()
	}
	notes, err := view.Of(s.tenant(t)).CreditNotes(t.Context(), view.CreditNoteFilter{}, 1, 1)
	kit.Must(t, err)
	s.company(t, "other@example.com", strong)
	other := s.visitor(t)
	other.login("other@example.com", strong)
	for page, name := range map[string]string{
		"/invoices/" + v.created(complete("INV/1")):     "INV-1.pdf",
		"/credit-notes/" + notes.Entries[0].ID.String(): notes.Entries[0].Number + ".pdf",
		incoming["readable"]:                            "SUP-7-1.pdf",
	} {
		if got := v.get(page); !strings.Contains(got.body, `href="`+page+`/document.pdf"`) {
			t.Errorf("%s has no link to its PDF file", page)
		}
		got := v.get(page + "/document.pdf")
		if got.status != http.StatusOK || !strings.HasPrefix(got.body, "%PDF-1.7") ||
			got.header.Get("Content-Type") != "application/pdf" ||
			got.header.Get("Content-Disposition") != "attachment; filename="+name ||
			got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %.100q %v", page, got.status, got.body, got.header)
		}
		if got := other.get(page + "/document.pdf"); got.status != http.StatusNotFound {
			t.Errorf("%s of another company: %d", page, got.status)
		}
	}
	if got := v.get(incoming["readable"] + "/revisions/1/document.pdf"); got.status != http.StatusOK ||
		!strings.HasPrefix(got.body, "%PDF") {
		t.Errorf("the revision: %d", got.status)
	}
	if got := v.get(incoming["other"]); strings.Contains(got.body, "document.pdf") {
		t.Error("an e-invoice that cannot be read has a link to a PDF file")
	}
	if got := v.get(incoming["other"] + "/document.pdf"); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, "Download the document itself") {
		t.Errorf("a document that cannot be read: %d", got.status)
	}
}

// TestPDFOfIncompleteInvoice checks that a draft that lacks something for the format of the company's connection gives
// a page that says so.
func TestPDFOfIncompleteInvoice(t *testing.T) {
	s := start(t, first(), true, time.Millisecond)
	account := s.company(t, "other@example.com", strong)
	v := s.visitor(t)
	v.login("other@example.com", strong)
	path := v.created(complete("INV-1")) + "/document.pdf"
	if got := v.get("/invoices/" + path); got.status != http.StatusOK {
		t.Errorf("without a format: %d", got.status)
	}
	made, err := invoices.AddConnection(t.Context(), s.DB(), account.ID,
		invoices.NewConnection{Kind: "http", Environment: service.Sandbox, BaseURL: s.Info.ProviderURL,
			Format: "pint-ae", Credential: secret.New(s.Info.ProviderCredential)})
	kit.Must(t, err)
	_, err = invoices.ActivateConnection(t.Context(), s.DB(), made.ID)
	kit.Must(t, err)
	if got := v.get("/invoices/" + path); got.status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.body, "not valid for PINT AE") {
		t.Errorf("a draft that is not complete: %d", got.status)
	}
}

// emirati returns a draft that is complete for the document format pint-ae, once the company has the profile of
// emiratiSeller.
func emirati(number string) *api.Draft {
	d := draft(number, "1234567890")
	d.Items[0].GrossUnitPrice = d.Items[0].NetUnitPrice
	return d
}

func emiratiSeller() api.Profile {
	return api.Profile{LegalName: new("Gulf Works LLC"), Street: new("Sheikh Zayed Road 1"), City: new("Dubai"),
		Subdivision: new("DXB"), Country: new("AE"), EndpointScheme: new("0235"), EndpointID: new("1357902468"),
		TaxRegistrationNumber: new("135790246801003"), LegalRegistration: new("CN-1234567"), LegalRegistrationType: new("TL"),
		LegalRegistrationAuthority: new("Department of Economy and Tourism"), PayeeAccount: new("AE070331234567890123456")}
}

// TestXMLWithoutFormat checks that the user of a company without a connected format chooses one: a complete invoice is
// downloaded in it, one that is not complete gives the fields that it lacks with links to them, and an unknown format
// is refused.
func TestXMLWithoutFormat(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), true, time.Millisecond)
		id, err := base.ParseID(s.Info.AccountID)
		kit.Must(t, err)
		kit.Must(t, identity.SetProfile(t.Context(), s.DB(), id, emiratiSeller()))
		var made api.Invoice
		s.api(t, s.token(t, s.email, s.password), http.MethodPost, "/api/v1/client/invoices", emirati("INV-1"), &made)
		v, path := s.loggedIn(t), "/invoices/"+made.ID
		if got := v.get(path + "/document.xml?profile=pint-ae"); got.status != http.StatusOK ||
			got.header.Get("Content-Disposition") != "attachment; filename=INV-1.xml" ||
			!strings.Contains(got.body, "urn:peppol:pint:billing-1@ae-1") {
			t.Errorf("a complete invoice: %d %v %.300s", got.status, got.header, got.body)
		}
		if got := v.get(path + "/document.xml?profile=ubl"); got.status != http.StatusBadRequest ||
			!strings.Contains(got.body, "This document format is not known") {
			t.Errorf("an unknown format: %d", got.status)
		}
		wantCreditXML(t, s, v, made.ID)
		kit.Must(t, identity.SetProfile(t.Context(), s.DB(), id, api.Profile{}))
		b := newBrowser(t, s.base)
		b.login(s.email, s.password)
		b.open(path)
		b.click("#xml > summary")
		b.until(`document.querySelector("#xml").open`)
		b.inspect("invoice-xml-menu")
		b.open(path)
		b.click("#xml > summary")
		b.click("#xml-bis3")
		b.until(
			`document.querySelector("#needs") && document.querySelector("h1").innerText === "INV-1 is not complete for this format"`)
		for _, want := range []string{"not valid for Peppol BIS Billing 3.0", "Your company: Legal name"} {
			if text := b.text("#needs"); !strings.Contains(text, want) {
				t.Errorf("the page lacks %q: %s", want, text)
			}
		}
		b.allow("422")
		b.inspect("invoice-needs")
		b.click(`#needs a[href^="/account#"]`)
		b.until(`location.pathname === "/account"`)
	})
}

// wantCreditXML checks that a credit note of an invoice is offered in each document format, downloaded in one, and
// refused in one that needs more.
func wantCreditXML(t *testing.T, s *system, v *visitor, invoice string) {
	t.Helper()
	var note api.CreditNote
	s.api(t, s.token(t, s.email, s.password), http.MethodPost,
		"/api/v1/client/credit-notes", api.CreditNoteRequest{InvoiceID: &invoice, CreditNoteNumber: new("CN-1"),
			IssueDate: new("2026-03-15"), Reason: new("Returned goods"), ReasonCode: new("DL8.61.1.C"),
			Kind: new(api.CreditFull)}, &note)
	path := "/credit-notes/" + note.ID
	if page := v.read(path); !strings.Contains(page.body, `href="`+path+`/document.xml?profile=bis3"`) ||
		!strings.Contains(page.body, "Tax summary") {
		t.Error("the page of the credit note lacks a link to its XML file or its tax summary")
	}
	if got := v.get(path + "/document.xml?profile=pint-ae"); got.status != http.StatusOK ||
		got.header.Get("Content-Disposition") != "attachment; filename=CN-1.xml" ||
		!strings.Contains(got.body, "<CreditNote ") {
		t.Errorf("a complete credit note: %d %v %.300s", got.status, got.header, got.body)
	}
	for query, want := range map[string]int{"?profile=ubl": http.StatusBadRequest,
		"?profile=bis3": http.StatusUnprocessableEntity, "": http.StatusNotFound} {
		if got := v.get(path + "/document.xml" + query); got.status != want {
			t.Errorf("%q: %d, want %d", query, got.status, want)
		}
	}
}
