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

	"quittance/internal/invoice"
)

var quiet = log.New(io.Discard, "", 0)

// model is what a company was told, and so may rely on.
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

// invoiceModel is an invoice of which the company knows.
type invoiceModel struct {
	id      string
	number  string
	names   []string // the recipient's name, as it may be now: more than one after a change without an answer
	told    string   // the last outcome that was told
	changed bool     // a change after a rejection may have made it a draft again
}

type keyedCall struct {
	key, number string
	body        []byte
	answered    bool
	answer      []byte
}

type subscriptionModel struct {
	id, path, secret string
	since            time.Time
	until            time.Time       // when a deactivation was asked for; zero while it is active
	again            map[string]bool // the events that were asked for again
	delivered        map[string]bool // the events that were shown as delivered
}

type creditModel struct {
	id, invoice string
	voided      bool // as far as was told
	asked       bool // a void was asked for
}

// reply is an answer as a client got it.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// data decodes the data of an answer.
func (r reply) data(into any) error {
	return json.Unmarshal(r.body, &struct {
		Data any `json:"data"`
	}{into})
}

func (r reply) code() string {
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

// call makes one call at a process chosen by the seed. arrived is false when the process died before it answered.
func (c *company) call(method, path string, body []byte, header map[string]string) (r reply, arrived bool) {
	w := c.w
	p := w.living()
	if p == nil {
		return reply{}, false
	}
	request := httptest.NewRequestWithContext(context.Background(), method, "http://quittance.example"+path, bytes.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+c.token)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	arrived = p.alive(func() { p.server.ServeHTTP(recorder, request) })
	r = reply{recorder.Code, recorder.Header(), recorder.Body.Bytes()}
	if !arrived {
		w.note("%s %s %s at %s: no answer", c.name, method, path, p.name)
		return r, false
	}
	if method != http.MethodGet || !w.isCalm() {
		w.note("%s %s %s at %s: %d %s", c.name, method, path, p.name, r.status, r.code())
	}
	w.count(fmt.Sprintf("answered %d", r.status))
	c.inspect(method, path, r)
	return r, true
}

// inspect holds every answer to what is promised of all answers.
func (c *company) inspect(method, path string, r reply) {
	w := c.w
	switch {
	case r.header.Get("X-Request-Id") == "":
		w.violate("%s %s: no request id", method, path)
	case r.status == http.StatusInternalServerError:
		w.violate("%s %s: 500 %s", method, path, r.body)
	case !json.Valid(r.body) || !bytes.HasPrefix(r.body, []byte(`{"data"`)) && !bytes.HasPrefix(r.body, []byte(`{"error"`)):
		w.violate("%s %s: not an envelope: %s", method, path, r.body)
	}
	for _, other := range w.companies {
		if other != c && bytes.Contains(r.body, []byte(other.name)) {
			w.violate("%s was shown something of %s by %s %s: %s", c.name, other.name, method, path, r.body)
		}
		for _, canary := range []string{other.credential, other.password, other.token} {
			if bytes.Contains(r.body, []byte(canary)) {
				w.violate("%s %s shows a secret", method, path)
			}
		}
	}
}

// all reads every page of a list.
func (c *company) all(path string, each func(json.RawMessage)) {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	for page := 1; ; page++ {
		r, arrived := c.call(http.MethodGet, fmt.Sprintf("%s%spage=%d&per_page=100", path, separator, page), nil, nil)
		if !arrived || r.status != http.StatusOK {
			c.w.violate("%s: the list %s answered %d", c.name, path, r.status)
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

// shown is an invoice as it is answered, as far as the model looks at it.
type shown struct {
	ID            string  `json:"id"`
	Number        string  `json:"invoice_number"`
	RecipientName string  `json:"recipient_name"`
	Total         float64 `json:"total_amount"`
	Submitted     bool    `json:"submitted"`
	Submission    *struct {
		ID          string     `json:"id"`
		Outcome     string     `json:"outcome"`
		NextCheckAt *time.Time `json:"next_check_at"`
	} `json:"submission"`
	SubmissionState      *string `json:"submission_state"`
	ProviderInvoiceState *string `json:"provider_invoice_state"`
	TaxAuthorityState    *string `json:"tax_authority_state"`
	ReceiverState        *string `json:"receiver_state"`
}

// words are the four states by the names of the dimensions.
func (s *shown) words() map[string]*string {
	return map[string]*string{"submission_state": s.SubmissionState, "provider_invoice_state": s.ProviderInvoiceState,
		"tax_authority_state": s.TaxAuthorityState, "receiver_state": s.ReceiverState}
}

// holds compares an invoice as it is shown with what was told before.
func (c *company) holds(m *invoiceModel, s *shown) {
	w := c.w
	if s.ID != m.id || s.Number != m.number || s.Total != 105 || !slices.Contains(m.names, s.RecipientName) {
		w.violate("%s: invoice %s is shown as %+v, and was told to be %q of %q", c.name, m.id, *s, m.number, m.names)
		return
	}
	outcome := ""
	if s.Submission != nil {
		outcome = s.Submission.Outcome
	}
	switch {
	case s.Submitted != (s.Submission != nil):
		w.violate("%s: invoice %s is submitted without a submission, or the other way round", c.name, m.id)
	case outcome == "acknowledged":
		m.told, m.changed = outcome, false
	case outcome == "rejected":
		m.told = outcome
	case m.told == "acknowledged" && !m.changed, m.told == "rejected" && !m.changed, m.told == "unknown" && outcome == "" && !m.changed:
		w.violate("%s: invoice %s was told to be %q and is now %q", c.name, m.id, m.told, outcome)
	case outcome == "unknown":
		m.told = outcome
	}
	c.saidSo(m, s)
}

// asked returns what the provider was asked about a reference.
func (c *company) asked(reference string) []exchange {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return slices.Clone(c.exchanges[reference])
}

// saidSo checks that the provider has said every word that is shown, of the submission it is shown for.
func (c *company) saidSo(m *invoiceModel, s *shown) {
	if s.Submission != nil && (s.Submission.Outcome == "acknowledged" || s.Submission.Outcome == "rejected") {
		rejected := s.Submission.Outcome == "rejected"
		if !slices.ContainsFunc(c.asked(s.Submission.ID), func(e exchange) bool { return e.said != nil && (e.said.Status == invoice.Rejected) == rejected }) {
			c.w.violate("%s: invoice %s is %s, and the provider never said so", c.name, m.id, s.Submission.Outcome)
			return
		}
	}
	for dimension, word := range s.words() {
		if word == nil {
			continue
		}
		if s.Submission == nil {
			c.w.violate("%s: the draft %s has a %s", c.name, m.id, dimension)
			return
		}
		said := false
		for _, e := range c.asked(s.Submission.ID) {
			said = said || e.said != nil && e.said.States[invoice.Dimension(dimension)].Value == *word
		}
		if !said {
			c.w.violate("%s: %s of invoice %s is shown as %q, and the provider never said so", c.name, dimension, m.id, *word)
			return
		}
	}
}
