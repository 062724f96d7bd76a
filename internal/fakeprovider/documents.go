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

	"quittance/internal/invoice"
	"quittance/sdk/go/api"
)

// maxDocument bounds the body of a submission in bytes: the largest invoice that the service accepts, the seller and
// the reference.
const maxDocument = 2 << 20

// submitted is the body of POST /v1/documents.
type submitted struct {
	Reference string       `json:"reference"`
	Invoice   *api.Draft   `json:"invoice"`
	Seller    *api.Profile `json:"seller"`
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
		writeError(w, http.StatusUnprocessableEntity, "invalid_document", "A document needs a reference of 1 to 128 characters of A-Z a-z 0-9 . _ : - and an invoice.")
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
		t.courseChanged = courseChanged && accepted.AcceptedAt.Equal(entry.AcceptedAt) // and not a document that was accepted before
		s.writeReport(w, t, accepted, true)
	}
}

// newEntry returns the ledger entry of a document, including everything that will happen to it. courseChanged reports
// whether the misbehaviour of the request contributes to that.
func (s *Server) newEntry(doc submitted, t *requestState) (entry LedgerDocument, courseChanged bool) {
	scenario := s.scenarioFor(value(doc.Invoice.RecipientNetworkID))
	outline := defaultCourse()
	if scenario.edit != nil {
		scenario.edit(&outline)
	}
	if change := s.memory.misbehaviours[t.misbehaviour].edit; change != nil {
		change(&outline)
		courseChanged = true
	}
	if faults := validate(doc.Invoice); len(faults) > 0 {
		arrives := outline.arrives
		outline, courseChanged = defaultCourse(), false
		outline.reject(0, faults...)
		outline.arrives = arrives
	}
	return LedgerDocument{
		Reference: doc.Reference, ProviderReference: "PSB-" + digest([]byte(doc.Reference))[:20],
		InvoiceNumber: value(doc.Invoice.InvoiceNumber), Scenario: scenario.ID,
		AcceptedAt: s.options.Clock().UTC().Truncate(time.Microsecond), Plan: outline.plan(doc.Reference, s.options.Pace),
		ArrivesAfter: micros(outline.arrives, s.options.Pace),
	}, courseChanged
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
		writeError(w, http.StatusBadRequest, "malformed_request", "The body is not one JSON document in UTF-8 without duplicate keys.")
	default:
		writeError(w, http.StatusUnprocessableEntity, "invalid_document", "A field of the body has the wrong type or is unknown.")
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
