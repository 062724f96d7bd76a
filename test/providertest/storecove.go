package providertest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/envelope"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/storecove"
)

// Storecove is a service that behaves like Storecove as far as its OpenAPI document 2.0.1 describes it. Quotations are
// from there. What it leaves open, such as the texts of errors, is invented here, so that no adapter can rely on it.
type Storecove struct {
	*httptest.Server
	// Key is the API key, and LegalEntity the id of the only legal entity.
	Key         string
	LegalEntity int

	mu          sync.Mutex
	script      StorecoveScript
	refuse      int
	dropped     bool
	submissions []*storecoveSubmission
	received    []string
	evidence    int // the number of times that evidence was requested
	storecoveQueue
}

// StorecoveScript says what happens to the documents that are submitted from now on.
type StorecoveScript string

// The scripts.
const (
	// StorecoveTakes takes a document.
	StorecoveTakes StorecoveScript = ""
	// StorecoveLosesResponse takes a document, but its response is lost.
	StorecoveLosesResponse StorecoveScript = "lost"
	// StorecoveStalls takes a document, but responds only when the caller is gone.
	StorecoveStalls StorecoveScript = "stalls"
	// StorecoveInvalid judges a document invalid: 422, an array of ErrorModel.
	StorecoveInvalid StorecoveScript = "invalid"
	// StorecoveLosesRequest is a machine before the service that reads a document and does not pass it on.
	StorecoveLosesRequest StorecoveScript = "lost request"
)

// storecoveSubmission is a document that was taken.
type storecoveSubmission struct {
	guid, idempotency, receiver string
	document                    []byte
	sent                        bool
}

// StartStorecove starts a service without documents. It ends with the test.
func StartStorecove(t testing.TB, key string) *Storecove {
	t.Helper()
	s := NewStorecove(key)
	t.Cleanup(s.Close)
	return s
}

// NewStorecove starts a service without documents, which the caller closes.
func NewStorecove(key string) *Storecove {
	s := &Storecove{Key: key, LegalEntity: 4711}
	s.Server = httptest.NewServer(s)
	return s
}

// BaseURL returns the address of the API.
func (s *Storecove) BaseURL() string { return s.URL + "/api/v2" }

// Options returns the options of a connection to the service.
func (s *Storecove) Options() map[string]string {
	return map[string]string{"legal-entity-id": strconv.Itoa(s.LegalEntity)}
}

// Adapter returns an adapter to the service.
func (s *Storecove) Adapter(t testing.TB) *storecove.Adapter {
	t.Helper()
	adapter, err := storecove.New(provider.Config{BaseURL: s.BaseURL(), Credential: secret.New(s.Key),
		Options: s.Options(), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(adapter.Close)
	return adapter
}

// Control controls the service.
func (s *Storecove) Control(t testing.TB) Control {
	return Control{
		Advance:  s.Advance,
		Refusals: []int{401, 403},
		Refuse:   func(status int) { s.set(func() { s.refuse = status }) },
		Break:    func() { s.set(func() { s.dropped = true }) },
		Unreach:  s.Close,
		Document: func(name string) provider.Document { return StorecoveDocument(t, name) },
		Silent:   true,
	}
}

// StorecoveDocument returns the document of a reference that follows from a name.
func StorecoveDocument(t testing.TB, name string) provider.Document {
	sum := sha256.Sum256([]byte(name))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80
	reference := fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	return edited(t, Rendered(t, document.BIS3, reference), func(e *envelope.Envelope) { Norwegian(e.Invoice) })
}

// Norwegian addresses an invoice to a company in Oslo.
func Norwegian(draft *api.Draft) {
	draft.BuyerEndpointScheme, draft.RecipientNetworkID = new("0192"), new("987654325")
	draft.BuyerCity, draft.BuyerSubdivision, draft.BuyerCountry = new("Oslo"), nil, new("NO")
}

// edited returns a document with another envelope.
func edited(t testing.TB, doc provider.Document, edit func(e *envelope.Envelope)) provider.Document {
	t.Helper()
	sent, err := envelope.Read(doc.Body)
	if err != nil {
		t.Fatal(err)
	}
	edit(&sent)
	if doc.Body, err = sent.Marshal(); err != nil {
		t.Fatal(err)
	}
	return doc
}

func (s *Storecove) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Play says what happens to the documents that are submitted from now on.
func (s *Storecove) Play(script StorecoveScript) { s.set(func() { s.script = script }) }

// Advance sends every document.
func (s *Storecove) Advance() {
	s.set(func() {
		for _, submission := range s.submissions {
			submission.sent = true
		}
	})
}

// Taken returns the documents that were taken under an idempotencyGuid.
func (s *Storecove) Taken(idempotency string) (documents [][]byte) {
	s.set(func() {
		for _, submission := range s.submissions {
			if submission.idempotency == idempotency {
				documents = append(documents, submission.document)
			}
		}
	})
	return documents
}

// Received returns the requests that it has read, as METHOD URI.
func (s *Storecove) Received() (received []string) {
	s.set(func() { received = append(received, s.received...) })
	return received
}

// ServeHTTP implements [http.Handler].
func (s *Storecove) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var refuse int
	var dropped bool
	s.set(func() {
		refuse, dropped = s.refuse, s.dropped
		s.received = append(s.received, r.Method+" "+r.RequestURI)
	})
	path, _ := strings.CutPrefix(r.URL.Path, "/api/v2")
	switch {
	case s.intercepted(w, r):
	case dropped:
		panic(http.ErrAbortHandler)
	case refuse != 0:
		w.WriteHeader(refuse)
	case r.Header.Get("Authorization") != "Bearer "+s.Key:
		w.WriteHeader(http.StatusUnauthorized) // "Unauthorized", without content
	case r.Method == http.MethodPost && path == "/document_submissions":
		s.submit(w, r, body)
	case r.Method == http.MethodGet && strings.HasPrefix(path, "/document_submissions/") &&
		strings.HasSuffix(path, "/evidence/sending"):
		s.sendingEvidence(w, strings.TrimSuffix(strings.TrimPrefix(path, "/document_submissions/"), "/evidence/sending"))
	case r.Method == http.MethodPost && path == "/discovery/receives":
		s.receives(w, body)
	case r.Method == http.MethodGet && path == "/legal_entities/"+strconv.Itoa(s.LegalEntity):
		// The schema LegalEntity contains the "api_keys" of the account.
		writeJSON(w, http.StatusOK, map[string]any{"id": s.LegalEntity, "party_name": "Gulf Works LLC", "country": "AE",
			"api_keys": []string{"another-key"}})
	default:
		s.serveQueue(w, r, path)
	}
}

// submit is create_document_submission.
func (s *Storecove) submit(w http.ResponseWriter, r *http.Request, body []byte) {
	var request struct {
		LegalEntityID   int    `json:"legalEntityId"`
		IdempotencyGUID string `json:"idempotencyGuid"`
		Routing         struct {
			EIdentifiers []struct{ Scheme, ID string }
			Emails       []string
		}
		Document struct {
			DocumentType    string
			RawDocumentData struct {
				Document, ParseStrategy string
				Parse                   bool
			}
		}
	}
	err := json.Unmarshal(body, &request)
	text, wrong := base64.StdEncoding.DecodeString(request.Document.RawDocumentData.Document)
	raw := request.Document.RawDocumentData
	var script StorecoveScript
	s.set(func() { script = s.script })
	switch {
	case script == StorecoveLosesRequest:
		panic(http.ErrAbortHandler)
	case err != nil || wrong != nil || request.LegalEntityID != s.LegalEntity || len(request.IdempotencyGUID) != 36 ||
		len(request.Routing.EIdentifiers) != 1 ||
		request.Document.DocumentType != "invoice" || !raw.Parse || raw.ParseStrategy != "ubl" || script == StorecoveInvalid:
		writeStorecoveErrors(w, "document", "is invalid")
		return
	}
	taken := &storecoveSubmission{idempotency: request.IdempotencyGUID, document: text,
		receiver: request.Routing.EIdentifiers[0].ID}
	var repeated bool
	s.set(func() {
		for _, earlier := range s.submissions {
			repeated = repeated || earlier.idempotency == taken.idempotency
		}
		if !repeated {
			s.submissions = append(s.submissions, taken)
			taken.guid = fmt.Sprintf("8a4b0c6e-1111-4222-8333-%012d", len(s.submissions))
		}
	})
	switch {
	case repeated: // "any subsequent ones will trigger an HTTP 422"
		writeStorecoveErrors(w, "idempotencyGuid", "was used before")
	case script == StorecoveLosesResponse:
		panic(http.ErrAbortHandler)
	case script == StorecoveStalls:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	default:
		writeJSON(w, http.StatusOK, map[string]string{"guid": taken.guid})
	}
}

// writeStorecoveErrors writes the response 422: an array of ErrorModel.
func writeStorecoveErrors(w http.ResponseWriter, source, details string) {
	writeJSON(w, http.StatusUnprocessableEntity, []map[string]string{{"source": source, "details": details}})
}

// sendingEvidence is show_document_submission_evidence. Its addresses are "the URL where the document can be
// retrieved", with "the datetime the URL expires": they are other ones each time.
func (s *Storecove) sendingEvidence(w http.ResponseWriter, guid string) {
	var sent *storecoveSubmission
	var n int
	s.set(func() {
		for _, submission := range s.submissions {
			if submission.guid == guid && submission.sent {
				sent = submission
			}
		}
		s.evidence++
		n = s.evidence
	})
	if sent == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"network": "peppol", "sender": "135790246801003", "receiver": sent.receiver,
		"documents": []map[string]string{{"document": fmt.Sprintf("https://files.example/%s?signature=%d", guid, n),
			"mime_type":  "application/xml",
			"expires_at": "2026-03-01 10:00:00"}},
		"evidence": map[string]string{"message_id": "1f0c@storecove.example", "transmission_id": "c2a9",
			"receiving_accesspoint": "CN=POP000001", "xml": "<Receipt/>"},
	})
}

// receives is discovery_receives. One participant receives invoices: that of [Norwegian].
func (s *Storecove) receives(w http.ResponseWriter, body []byte) {
	var request struct {
		DocumentTypes                           []string
		Network, MetaScheme, Scheme, Identifier string
	}
	if err := json.Unmarshal(body, &request); err != nil || len(request.Scheme) < 3 || request.Identifier == "" ||
		request.Network != "peppol" {
		writeStorecoveErrors(w, "scheme", "is invalid")
		return
	}
	code := "NOK"
	if request.Scheme == "NO:ORG" && request.Identifier == "987654325" && len(request.DocumentTypes) == 1 &&
		request.DocumentTypes[0] == "invoice" {
		code = "OK"
	}
	writeJSON(w, http.StatusOK, map[string]any{"code": code, "email": false})
}
