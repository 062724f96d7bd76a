package fakeprovider

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// maxDocument bounds the body of a submission in bytes: the largest invoice that the service accepts, the seller, the
// reference, and the document in base64.
const maxDocument = 16 << 20

// submitted is the body of POST /v1/documents.
type submitted struct {
	Reference string       `json:"reference"`
	Invoice   *api.Draft   `json:"invoice"`
	Seller    *api.Profile `json:"seller"`
	// CreditNote is a credit note of the invoice, nil for the invoice itself.
	CreditNote *creditNote `json:"credit_note"`
	// Document is the regulated document, nil for a connection without a profile.
	Document *attached `json:"document"`
}

// creditNote is what the provider sandbox reads of a credit note.
type creditNote struct {
	Number      string       `json:"credit_note_number"`
	Reason      string       `json:"reason"`
	TotalAmount *api.Decimal `json:"total_amount"`
}

// validReference reports whether a reference can be part of a path and a header.
func validReference(reference string) bool {
	const visible = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"
	return reference != "" && len(reference) <= 128 && strings.Trim(reference, visible) == ""
}

// postDocument implements POST /v1/documents.
func (s *Server) postDocument(w http.ResponseWriter, r *http.Request) {
	body, ok := readJSON(w, r, maxDocument)
	if !ok {
		return
	}
	var doc submitted
	if !decode(w, body, &doc) {
		return
	}
	if key := r.Header.Values("Idempotency-Key"); len(key) > 1 || len(key) == 1 && key[0] != doc.Reference {
		writeError(w, http.StatusBadRequest, "reference_mismatch", "Idempotency-Key is not the reference.")
		return
	}
	if !validReference(doc.Reference) || doc.Invoice == nil {
		writeError(w, http.StatusUnprocessableEntity, "invalid_document",
			"A document needs a reference of 1 to 128 characters of A-Z a-z 0-9 . _ : - and an invoice.")
		return
	}
	if doc.Document != nil && !doc.Document.complete() {
		writeError(w, http.StatusUnprocessableEntity, "invalid_document",
			"document needs the media type application/xml, a body and the body's SHA-256 in hexadecimal.")
		return
	}
	if n := doc.CreditNote; n != nil && (n.Number == "" || n.TotalAmount == nil) {
		writeError(w, http.StatusUnprocessableEntity, "invalid_document",
			"credit_note needs a credit_note_number and a total_amount.")
		return
	}
	t := requestStateOf(r)
	entry, courseChanged := s.newEntry(doc, t)
	accepted, err := s.ledger.Accept(entry, body)
	switch {
	case errors.Is(err, ErrReferenceReused):
		writeError(w, http.StatusConflict, "reference_reused", "The reference was used for another document.")
	case err != nil:
		s.failed(w, r, err)
	default:
		// and not a document that was accepted before
		t.courseChanged = courseChanged && accepted.AcceptedAt.Equal(entry.AcceptedAt)
		s.writeReport(w, t, accepted, true)
	}
}

// newEntry returns the ledger entry of a document, including everything that will happen to it. courseChanged reports
// whether the misbehaviour of the request contributes to that.
func (s *Server) newEntry(doc submitted, t *requestState) (entry LedgerDocument, courseChanged bool) {
	note := creditNote{}
	if doc.CreditNote != nil {
		note = *doc.CreditNote
	}
	outline := t.scenario.course()
	if change := s.memory.misbehaviours[t.misbehaviour].edit; change != nil {
		change(&outline)
		courseChanged = true
	}
	document, faults := assess(doc)
	if len(faults) > 0 {
		arrives := outline.arrives
		outline, courseChanged = defaultCourse(), false
		outline.reject(0, faults...)
		outline.arrives = arrives
	}
	return LedgerDocument{
		Reference: doc.Reference, ProviderReference: "PSB-" + digest([]byte(doc.Reference))[:20],
		CreditNoteNumber: note.Number, InvoiceNumber: value(doc.Invoice.InvoiceNumber), Scenario: t.scenario.ID,
		AcceptedAt: s.options.Clock().UTC().Truncate(time.Microsecond), Plan: outline.plan(doc.Reference, s.options.Pace),
		ArrivesAfter: micros(outline.arrives, s.options.Pace), Document: document,
	}, courseChanged
}

// assess validates a submission: the document, if there is one, and otherwise the invoice. The attachment describes the
// document.
func assess(doc submitted) (*LedgerAttachment, []Message) {
	if doc.Document == nil {
		return nil, validate(doc.Invoice)
	}
	stated := *doc.Invoice
	if n := doc.CreditNote; n != nil {
		stated.InvoiceNumber, stated.TotalAmount = &n.Number, n.TotalAmount
	}
	profile, faults := doc.Document.judge(&stated)
	return &LedgerAttachment{MediaType: doc.Document.MediaType, SHA256: doc.Document.SHA256, Size: len(doc.Document.Body),
		Profile: profile}, faults
}

// getDocument implements GET /v1/documents/{reference}.
func (s *Server) getDocument(w http.ResponseWriter, r *http.Request) {
	doc, ok := s.ledger.Document(r.PathValue("reference"))
	if !ok {
		unknownReference(w)
		return
	}
	s.writeReport(w, requestStateOf(r), doc, false)
}

// writeReport responds with the report on the document at the time of the request. The status of a submission that is
// still processing is 202.
func (s *Server) writeReport(w http.ResponseWriter, t *requestState, doc LedgerDocument, submission bool) {
	t.reported = true
	report := doc.Report(t.at)
	status := http.StatusOK
	if submission && report.Status == invoice.Processing {
		status = http.StatusAccepted
	}
	writeJSON(w, status, report)
}

func unknownReference(w http.ResponseWriter) {
	writeError(w, http.StatusNotFound, "unknown_reference", "There is no such document.")
}

// failed responds to a request that the ledger could not serve.
func (s *Server) failed(w http.ResponseWriter, r *http.Request, err error) {
	s.options.Log.ErrorContext(r.Context(), "the provider sandbox cannot answer", "path", r.URL.Path, "error", err)
	unavailable(w)
}

func unavailable(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	writeError(w, http.StatusServiceUnavailable, "unavailable", "The provider sandbox is unavailable.")
}

// readJSON reads a JSON body of bounded size. If it cannot, it responds with the error and returns false.
func readJSON(w http.ResponseWriter, r *http.Request, limit int64) (body []byte, ok bool) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		writeError(w, http.StatusUnsupportedMediaType, "unsupported_media_type", "The body must be application/json.")
		return nil, false
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		writeError(w, http.StatusRequestEntityTooLarge, "payload_too_large", "The body is too large.")
		return nil, false
	case err != nil:
		writeError(w, http.StatusBadRequest, "malformed_request", "The body did not arrive completely.")
		return nil, false
	}
	return body, true
}

// decode reads strict JSON (RFC 8259 in UTF-8, no duplicate keys). If it cannot, it responds with the error and returns
// false.
func decode(w http.ResponseWriter, body []byte, target any, options ...json.Options) bool {
	err := json.Unmarshal(body, target, options...)
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		return true
	case errors.As(err, &syntax) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		writeError(w, http.StatusBadRequest, "malformed_request",
			"The body is not one JSON document in UTF-8 without duplicate keys.")
	default:
		writeError(w, http.StatusUnprocessableEntity, "invalid_document",
			"A field of the body has the wrong type or is unknown.")
	}
	return false
}

// value returns what p points at, or "".
func value(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
