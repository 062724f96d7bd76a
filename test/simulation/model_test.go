package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"quittance/internal/document/invoice"
)

var discardLog = log.New(io.Discard, "", 0)

// model holds what a company was told, and therefore may rely on.
type model struct {
	invoices      []*invoiceModel
	keyed         []*keyedCall
	subscriptions []*subscriptionModel
	credits       []*creditModel
	purchases     int
	numbers       int
	foreign       []string // paths of rows of this company, for the other one to try
}

func newModel() model { return model{} }

// invoiceModel is an invoice that the company knows.
type invoiceModel struct {
	id          string
	number      string
	names       []string // the possible names of the recipient: several after a change without a response
	lastOutcome string   // the last outcome that the company was told
	changed     bool     // a change after a rejection may have made it a draft again
}

type keyedCall struct {
	key, number  string
	body         []byte
	acknowledged bool
	response     []byte
}

type subscriptionModel struct {
	id, path, secret string
	since            time.Time
	until            time.Time       // when a deactivation was requested; zero while it is active
	again            map[string]bool // the events whose redelivery was requested
	delivered        map[string]bool // the events that were shown as delivered
}

type creditModel struct {
	id, invoice, number string
	shown               invoiceModel // what the company was told about its submission
	voided              bool         // as far as the company was told
	asked               bool         // a void was requested
}

// response is an API response as the client received it.
type response struct {
	status int
	header http.Header
	body   []byte
}

// data decodes the data of a response.
func (r response) data(into any) error {
	return json.Unmarshal(r.body, &struct {
		Data any `json:"data"`
	}{into})
}

func (r response) code() string {
	var envelope struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(r.body, &envelope) != nil {
		return ""
	}
	return envelope.Error.Code
}

// call makes one call to a process that the seed chooses. arrived is false if the process died before it responded.
func (c *company) call(method, path string, body []byte, header map[string]string) (r response, arrived bool) {
	w := c.w
	p := w.liveProcess()
	if p == nil {
		return response{}, false
	}
	request := httptest.NewRequestWithContext(context.Background(), method, "http://quittance.example"+path,
		bytes.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+c.token)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	arrived = p.runStep(func() { p.server.ServeHTTP(recorder, request) })
	r = response{recorder.Code, recorder.Header(), recorder.Body.Bytes()}
	if !arrived {
		w.tracef("%s %s %s at %s: no answer", c.name, method, path, p.name)
		return r, false
	}
	if method != http.MethodGet || !w.areFaultsOff() {
		w.tracef("%s %s %s at %s: %d %s", c.name, method, path, p.name, r.status, r.code())
	}
	w.count(fmt.Sprintf("answered %d", r.status))
	c.checkResponse(method, path, r)
	return r, true
}

// checkResponse checks what is promised about every response.
func (c *company) checkResponse(method, path string, r response) {
	w := c.w
	switch {
	case r.header.Get("X-Request-Id") == "":
		w.violate("%s %s: no request id", method, path)
	case r.status == http.StatusInternalServerError:
		w.violate("%s %s: 500 %s", method, path, r.body)
	case !json.Valid(r.body) || !bytes.HasPrefix(r.body, []byte(`{"data"`)) &&
		!bytes.HasPrefix(r.body, []byte(`{"error"`)):
		w.violate("%s %s: not an envelope: %s", method, path, r.body)
	}
	for _, other := range w.companies {
		if other != c && bytes.Contains(r.body, []byte(other.name)) {
			w.violate("%s received data of %s from %s %s: %s", c.name, other.name, method, path, r.body)
		}
		for _, canary := range []string{other.credential, other.password, other.token} {
			if bytes.Contains(r.body, []byte(canary)) {
				w.violate("%s %s shows a secret", method, path)
			}
		}
	}
}

// readAllPages reads every page of a list.
func (c *company) readAllPages(path string, each func(json.RawMessage)) {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	for page := 1; ; page++ {
		r, arrived := c.call(http.MethodGet, fmt.Sprintf("%s%spage=%d&per_page=100", path, separator, page), nil, nil)
		if !arrived || r.status != http.StatusOK {
			c.w.violate("%s: the list %s returned status %d", c.name, path, r.status)
			return
		}
		var list struct {
			Data       []json.RawMessage `json:"data"`
			Pagination struct {
				HasMore bool `json:"has_more"`
			} `json:"pagination"`
		}
		c.w.must(json.Unmarshal(r.body, &list))
		for _, entry := range list.Data {
			each(entry)
		}
		if !list.Pagination.HasMore {
			return
		}
	}
}

// invoiceView is the part of an invoice in a response that the model checks.
type invoiceView struct {
	ID     string `json:"id"`
	Number string `json:"invoice_number"`
	// CreditNoteNumber is "" in an invoice.
	CreditNoteNumber string `json:"credit_note_number"`
	// RecipientNetworkID and Reason may be scenarios of the provider.
	RecipientNetworkID string  `json:"recipient_network_id"`
	Reason             string  `json:"reason"`
	RecipientName      string  `json:"recipient_name"`
	Total              float64 `json:"total_amount"`
	Submitted          bool    `json:"submitted"`
	Submission         *struct {
		ID          string     `json:"id"`
		Outcome     string     `json:"outcome"`
		NextCheckAt *time.Time `json:"next_check_at"`
	} `json:"submission"`
	SubmissionState      *string `json:"submission_state"`
	ProviderInvoiceState *string `json:"provider_invoice_state"`
	TaxAuthorityState    *string `json:"tax_authority_state"`
	ReceiverState        *string `json:"receiver_state"`
}

// states returns the four states by the names of the dimensions.
func (s *invoiceView) states() map[string]*string {
	return map[string]*string{"submission_state": s.SubmissionState, "provider_invoice_state": s.ProviderInvoiceState,
		"tax_authority_state": s.TaxAuthorityState, "receiver_state": s.ReceiverState}
}

// checkInvoice compares an invoice in a response with what the company was told before.
func (c *company) checkInvoice(m *invoiceModel, s *invoiceView) {
	w := c.w
	if s.ID != m.id || s.Number != m.number || s.Total != 105 || !slices.Contains(m.names, s.RecipientName) {
		w.violate("%s: invoice %s is shown as %+v, and should be %q of %q", c.name, m.id, *s, m.number, m.names)
		return
	}
	c.checkOutcome(m, s)
}

// checkCredit compares a credit note in a response with what the company was told before.
func (c *company) checkCredit(k *creditModel, s *invoiceView) {
	if s.ID != k.id || s.CreditNoteNumber != k.number {
		c.w.violate("%s: credit note %s is shown as %+v, and should be %q", c.name, k.id, *s, k.number)
		return
	}
	c.checkOutcome(&k.shown, s)
}

// checkOutcome checks the outcome and the states of an invoice or a credit note.
func (c *company) checkOutcome(m *invoiceModel, s *invoiceView) {
	w := c.w
	outcome := ""
	if s.Submission != nil {
		outcome = s.Submission.Outcome
	}
	switch {
	case s.Submitted != (s.Submission != nil):
		w.violate("%s: invoice %s is submitted without a submission, or has a submission and is not submitted", c.name, m.id)
	case outcome == "acknowledged":
		m.lastOutcome, m.changed = outcome, false
	case outcome == "rejected":
		m.lastOutcome = outcome
	case m.lastOutcome == "acknowledged" && !m.changed, m.lastOutcome == "rejected" && !m.changed,
		m.lastOutcome == "unknown" && outcome == "" && !m.changed:
		w.violate("%s: invoice %s had the outcome %q and now has %q", c.name, m.id, m.lastOutcome, outcome)
	case outcome == "unknown":
		m.lastOutcome = outcome
	}
	c.checkReported(m, s)
}

// callsAbout returns the calls that the provider received about a reference.
func (c *company) callsAbout(reference string) []providerCall {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return slices.Clone(c.providerCalls[reference])
}

// checkReported checks that the provider has reported every state value that is shown, for that submission.
func (c *company) checkReported(m *invoiceModel, s *invoiceView) {
	if s.Submission != nil && (s.Submission.Outcome == "acknowledged" || s.Submission.Outcome == "rejected") {
		rejected := s.Submission.Outcome == "rejected"
		if !slices.ContainsFunc(c.callsAbout(s.Submission.ID),
			func(e providerCall) bool { return e.report != nil && (e.report.Status == invoice.Rejected) == rejected }) {
			c.w.violate("%s: invoice %s is %s, and the provider never reported it", c.name, m.id, s.Submission.Outcome)
			return
		}
	}
	for dimension, word := range s.states() {
		if word == nil {
			continue
		}
		if s.Submission == nil {
			c.w.violate("%s: the draft %s has a %s", c.name, m.id, dimension)
			return
		}
		said := false
		for _, e := range c.callsAbout(s.Submission.ID) {
			said = said || e.report != nil && e.report.States[invoice.Dimension(dimension)].Value == *word
		}
		if !said {
			c.w.violate("%s: %s of invoice %s is shown as %q, and the provider never reported it", c.name, dimension, m.id,
				*word)
			return
		}
	}
}
