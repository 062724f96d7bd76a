package fakeprovider

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// call is one request of the provider protocol, and what is known about its subject.
type call struct {
	method, path string
	kind         callKinds
	at           time.Time
	reference    string          // of a submission or status query; "" for other requests and when it cannot be read
	recipient    string          // the recipient's network identifier, which may be magic
	subject      string          // identifies the random draws: the same in every run
	document     *LedgerDocument // the ledger's entry of the reference; nil if there is none
	lastReport   time.Time       // see conversation
}

// hidden reports whether the provider pretends not to have the document yet.
func (c *call) hidden() bool {
	return c.kind == statusQuery && c.document != nil &&
		c.at.Before(c.document.AcceptedAt.Add(time.Duration(c.document.ArrivesAfter)*time.Microsecond))
}

// reportedBefore reports whether a report on the document was given before.
func (c *call) reportedBefore() bool { return c.document != nil && !c.lastReport.IsZero() }

// requestState is what a handler learns about its request, and what it reports back.
type requestState struct {
	at            time.Time    // the time that the response describes
	misbehaviour  Misbehaviour // how the response will be distorted
	scenario      Scenario     // what happens to the document of a submission
	courseChanged bool         // the document got the course of the misbehaviour
	reported      bool         // the response is a report
}

type requestStateKey struct{}

// requestStateOf returns the state of a request of the protocol, all of which pass through misbehaving.
func requestStateOf(r *http.Request) *requestState {
	return r.Context().Value(requestStateKey{}).(*requestState)
}

// misbehaving makes requests go wrong. It wraps the handlers of the protocol, which know nothing about it except the
// course that a new document takes.
func (s *Server) misbehaving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/control/") {
			next.ServeHTTP(w, r)
			return
		}
		if s.options.Latency > 0 && !s.wait(r, s.options.Latency) {
			unavailable(w) // the server closes, or the client has disconnected
			return
		}
		c := s.inspect(r)
		t := &requestState{at: c.at}
		t.misbehaviour, t.scenario = s.memory.choose(c, s.scenarioFor)
		r = r.WithContext(context.WithValue(r.Context(), requestStateKey{}, t))
		if t.misbehaviour != NoMisbehaviour && !s.memory.misbehaviours[t.misbehaviour].courseOnly {
			s.misbehave(next, w, r, c, t)
			return
		}
		next.ServeHTTP(w, r)
		if t.courseChanged {
			s.recordMisbehaviour(r, t.misbehaviour)
		}
		if t.reported {
			s.memory.recordReport(c.reference, c.at)
		}
	})
}

// recordMisbehaviour counts and logs a misbehaviour that is about to happen, and returns how often it happened before.
func (s *Server) recordMisbehaviour(r *http.Request, wrong Misbehaviour) (before int) {
	s.options.Log.InfoContext(r.Context(), "the provider sandbox misbehaves", "misbehaviour", string(wrong),
		"method", r.Method, "path", r.URL.Path)
	return s.memory.countMisbehaviour(wrong)
}

// misbehave responds wrongly: before anything is done, or with a distorted response.
func (s *Server) misbehave(next http.Handler, w http.ResponseWriter, r *http.Request, c *call, t *requestState) {
	switch t.misbehaviour {
	case TooMany, TooManyAlways:
		s.recordMisbehaviour(r, t.misbehaviour)
		w.Header().Set("Retry-After", "1")
		if t.misbehaviour == TooManyAlways {
			w.Header().Set("Retry-After", strings.Repeat("9", 30))
		}
		writeError(w, http.StatusTooManyRequests, "rate_limited", "Too many requests.")
	case Unauthorized:
		s.recordMisbehaviour(r, t.misbehaviour)
		unauthenticated(w)
	case UnavailableBefore:
		s.recordMisbehaviour(r, t.misbehaviour)
		unavailable(w)
	case DropBefore:
		s.recordMisbehaviour(r, t.misbehaviour)
		panic(http.ErrAbortHandler) // net/http's way to drop a connection
	case Redirect, RedirectToService:
		s.recordMisbehaviour(r, t.misbehaviour)
		to := "https://elsewhere.invalid"
		if t.misbehaviour == RedirectToService {
			to = s.serviceAddress(r)
		}
		w.Header().Set("Location", to+r.URL.EscapedPath())
		writeError(w, http.StatusTemporaryRedirect, "moved", "The provider has moved.")
	default:
		response := &capture{header: http.Header{}, status: http.StatusOK}
		next.ServeHTTP(response, r)
		s.respondWrongly(response, w, r, c, t)
	}
}

// SetServiceAddress sets the base address of the service, which is the target of redirect_to_service. Until it is set,
// the target is the provider's own address.
func (s *Server) SetServiceAddress(address string) { s.service.Store(&address) }

func (s *Server) serviceAddress(r *http.Request) string {
	if address := s.service.Load(); address != nil {
		return *address
	}
	return "http://" + r.Host
}

// inspect reads what a request is about and restores the body.
func (s *Server) inspect(r *http.Request) *call {
	c := &call{method: r.Method, path: r.URL.Path, at: s.options.Clock()}
	reference, isDocument := strings.CutPrefix(c.path, "/v1/documents/")
	switch {
	case r.Method == http.MethodPost && c.path == "/v1/documents":
		c.kind = submission
		s.inspectDocument(r, c)
	case r.Method == http.MethodPost && c.path == "/v1/recipients/lookup":
		c.kind = recipientLookup
	case r.Method != http.MethodGet:
	case isDocument:
		c.kind, c.reference = statusQuery, reference
	case c.path == "/v1/purchases":
		c.kind = purchasePages
	case strings.HasPrefix(c.path, "/v1/purchases/") && strings.HasSuffix(c.path, "/document"):
		c.kind, c.subject = purchaseDocument, c.path
	}
	if c.kind&documents == 0 {
		return c
	}
	if doc, found := s.ledger.Document(c.reference); found {
		c.document, c.subject = &doc, cmp.Or(doc.CreditNoteNumber, doc.InvoiceNumber)
		if c.kind == statusQuery {
			c.recipient = doc.Scenario
		}
	}
	return c
}

// inspectDocument reads what a submission is about.
func (s *Server) inspectDocument(r *http.Request, c *call) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxDocument))
	// The handler meets the same error, or reads the rest of the body after this part.
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	if err != nil {
		return
	}
	var doc struct {
		Reference string `json:"reference"`
		Invoice   struct {
			Number    string `json:"invoice_number"`
			Recipient string `json:"recipient_network_id"`
		} `json:"invoice"`
		CreditNote struct {
			Number string `json:"credit_note_number"`
			Reason string `json:"reason"`
		} `json:"credit_note"`
	}
	if json.Unmarshal(body, &doc) == nil {
		c.reference, c.recipient = doc.Reference, s.subject(doc.Invoice.Recipient, doc.CreditNote.Reason)
		c.subject = cmp.Or(doc.CreditNote.Number, doc.Invoice.Number)
	}
}
