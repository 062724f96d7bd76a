package providertest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"quittance/internal/document/ubl"
)

// EInvoiceBE is a stand-in for the API of e-invoice.be, as far as the adapter uses it, made after its OpenAPI
// description: paths, statuses and schemas are the provider's. It keeps documents in memory and sends nothing. It is
// safe for concurrent use.
type EInvoiceBE struct {
	credential string

	mu        sync.Mutex
	documents []*EInvoiceBEDocument
	faults    []*Fault
	now       time.Time
}

// EInvoiceBEDocument is a document of the stand-in.
type EInvoiceBEDocument struct {
	ID, State string
	// Sent counts how often the document was sent.
	Sent int
	// Sender and Receiver are the participants that it was sent with.
	Sender, Receiver string

	Shown map[string]any // the schema DocumentResponse
}

// Fault is what happens to calls of one operation instead of a proper response.
type Fault struct {
	// Operation names an operation as the table in ServeHTTP does; "" means all.
	Operation string
	// Times is how often it happens; 0 means always.
	Times int
	// After says that the operation takes effect before the fault.
	After bool
	// Status is the response, with a body of the schema ErrorResponse or else Body. 0 means that there is none: the
	// connection breaks, or after Hang has passed, if the caller waits so long.
	Status int
	Body   string
	Header http.Header
	Hang   time.Duration

	happened int
}

// NewEInvoiceBE returns a stand-in without documents, whose clock moves only when a document is created.
func NewEInvoiceBE(credential string, now time.Time) *EInvoiceBE {
	return &EInvoiceBE{credential: credential, now: now}
}

// Add adds a fault. The first one that applies happens.
func (s *EInvoiceBE) Add(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault)
}

// Reset replaces all faults by one.
func (s *EInvoiceBE) Reset(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = []*Fault{&fault}
}

// Move puts every document of one state into another, as the provider does in its own time.
func (s *EInvoiceBE) Move(from, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.documents {
		if d.State == from {
			d.set(to)
		}
	}
}

// Documents returns copies of the documents in the order of their creation.
func (s *EInvoiceBE) Documents() []EInvoiceBEDocument {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []EInvoiceBEDocument
	for _, d := range s.documents {
		out = append(out, *d)
	}
	return out
}

// Put adds a copy of the last document, as if somebody had created it in the provider's application, after a change.
func (s *EInvoiceBE) Put(change func(shown map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := maps.Clone(s.documents[len(s.documents)-1].Shown)
	d := &EInvoiceBEDocument{ID: s.nextID(), Shown: shown}
	d.Shown["id"] = d.ID
	d.set("DRAFT")
	change(shown)
	s.documents = append(s.documents, d)
}

func (s *EInvoiceBE) nextID() string { return fmt.Sprintf("doc-%04d", len(s.documents)+1) }

func (d *EInvoiceBEDocument) set(state string) { d.State, d.Shown["state"] = state, state }

// reply is a status and what is written as JSON.
type reply struct {
	status int
	body   any
}

// detail is a response of the schema ErrorResponse.
func detail(status int, text string) reply { return reply{status, map[string]any{"detail": text}} }

// ServeHTTP serves the operations that the adapter uses.
func (s *EInvoiceBE) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	for pattern, operation := range map[string]struct {
		name string
		do   func(*http.Request) reply
	}{
		"POST /api/documents/ubl":           {"create", s.create},
		"POST /api/documents/{id}/validate": {"validate", s.validate},
		"POST /api/documents/{id}/send":     {"send", s.send},
		"GET /api/documents/{id}":           {"get", s.get},
		"GET /api/drafts/{$}": {"drafts",
			func(r *http.Request) reply { return s.list(r, "DRAFT", "TRANSIT", "FAILED") }},
		"GET /api/outbox/{$}":         {"outbox", func(r *http.Request) reply { return s.list(r, "SENT") }},
		"GET /api/validate/peppol-id": {"participant", participant},
		"GET /api/me/{$}": {"me",
			func(*http.Request) reply { return reply{http.StatusOK, map[string]any{"name": "Atelier Maas BV"}} }},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, operation.name, operation.do) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter,
		_ *http.Request) {
		write(w, detail(http.StatusNotFound, "Not Found"))
	})
	mux.ServeHTTP(w, r)
}

// serve makes one call, or the fault that is added for it.
func (s *EInvoiceBE) serve(w http.ResponseWriter, r *http.Request, operation string, do func(*http.Request) reply) {
	// The request is read whole before anything happens, so that a broken connection is never one that sent nothing.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	s.mu.Lock()
	fault := s.fault(operation)
	var response reply
	switch {
	case fault != nil && !fault.After:
	case operation != "participant" && r.Header.Get("Authorization") != "Bearer "+s.credential:
		response = detail(http.StatusUnauthorized, "API key is missing, invalid, or inactive")
	default:
		response = do(r)
	}
	s.mu.Unlock()
	switch {
	case fault == nil:
		write(w, response)
	case fault.Status == 0:
		select {
		case <-time.After(fault.Hang):
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	default:
		maps.Copy(w.Header(), fault.Header)
		response = detail(fault.Status, "fault")
		if fault.Body != "" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(fault.Status)
			_, _ = io.WriteString(w, fault.Body) // the adapter may have given up
			return
		}
		write(w, response)
	}
}

// fault returns the fault that happens to a call, or nil.
func (s *EInvoiceBE) fault(operation string) *Fault {
	for _, f := range s.faults {
		if (f.Operation == "" || f.Operation == operation) && (f.Times == 0 || f.happened < f.Times) {
			f.happened++
			return f
		}
	}
	return nil
}

func write(w http.ResponseWriter, response reply) {
	text, err := json.Marshal(response.body)
	if err != nil {
		panic(err) // the stand-in's own maps and texts
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(response.status)
	_, _ = w.Write(text) // the adapter may have given up
}

func (s *EInvoiceBE) create(r *http.Request) reply {
	file, _, err := r.FormFile("file")
	if err != nil {
		return reply{http.StatusUnprocessableEntity, map[string]any{"detail": "Field required: body.file"}}
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return detail(http.StatusInternalServerError, "Unexpected server error")
	}
	parsed, err := ubl.Read(text)
	if err != nil {
		return detail(http.StatusUnsupportedMediaType, "UBL file is not valid or empty")
	}
	s.now = s.now.Add(time.Second)
	d := &EInvoiceBEDocument{ID: s.nextID(), Shown: map[string]any{
		"document_type": strings.ToUpper(parsed.Type), "direction": "OUTBOUND", "invoice_id": parsed.Number,
		"invoice_date": parsed.IssueDate, "currency": parsed.Currency, "invoice_total": string(*parsed.Totals.Total),
		"customer_name": parsed.Buyer.Name, "customer_peppol_id": *parsed.Buyer.EndpointScheme + ":" +
			*parsed.Buyer.NetworkID, "vendor_name": parsed.Seller.Name,
		"created_at": s.now.UTC().Format(time.RFC3339Nano),
	}}
	d.Shown["id"] = d.ID
	d.set("DRAFT")
	s.documents = append(s.documents, d)
	return reply{http.StatusCreated, d.Shown}
}

// document returns the document that a request names, or nil and the response to the request.
func (s *EInvoiceBE) document(r *http.Request) (*EInvoiceBEDocument, reply) {
	for _, d := range s.documents {
		if d.ID == r.PathValue("id") {
			return d, reply{}
		}
	}
	return nil, detail(http.StatusNotFound, "Document with the specified ID doesn't exist")
}

func (s *EInvoiceBE) get(r *http.Request) reply {
	d, missing := s.document(r)
	if d == nil {
		return missing
	}
	return reply{http.StatusOK, d.Shown}
}

// validate finds a document invalid whose buyer is named Invalid.
func (s *EInvoiceBE) validate(r *http.Request) reply {
	d, missing := s.document(r)
	if d == nil {
		return missing
	}
	valid := *d.Shown["customer_name"].(*string) != "Invalid"
	return reply{http.StatusOK, map[string]any{"id": "validation-" + d.ID, "file_name": nil, "is_valid": valid,
		"issues": []any{}}}
}

func (s *EInvoiceBE) send(r *http.Request) reply {
	d, missing := s.document(r)
	if d == nil {
		return missing
	}
	if d.State != "DRAFT" {
		return detail(http.StatusMethodNotAllowed, "Document is not in draft state")
	}
	query := r.URL.Query()
	d.Sender = query.Get("sender_peppol_scheme") + ":" + query.Get("sender_peppol_id")
	d.Receiver = query.Get("receiver_peppol_scheme") + ":" + query.Get("receiver_peppol_id")
	d.Sent++
	d.set("TRANSIT")
	return reply{http.StatusOK, d.Shown}
}

// list is a list with the filter search, newest first.
func (s *EInvoiceBE) list(r *http.Request, states ...string) reply {
	search, matching := strings.ToLower(r.URL.Query().Get("search")), []any{}
	for _, d := range slices.Backward(s.documents) {
		number, _ := json.Marshal(d.Shown["invoice_id"])
		if strings.Contains(strings.ToLower(string(number)), search) && strings.Contains(strings.Join(states, " "), d.State) {
			matching = append(matching, d.Shown)
		}
	}
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	size, _ := strconv.Atoi(r.URL.Query().Get("page_size"))
	if page < 1 || size < 1 || size > 100 {
		return detail(http.StatusUnprocessableEntity, "Validation Error")
	}
	first, last := min((page-1)*size, len(matching)), min(page*size, len(matching))
	return reply{http.StatusOK, map[string]any{"items": matching[first:last], "total": len(matching), "page": page,
		"page_size": size, "pages": (len(matching) + size - 1) / size, "has_next_page": last < len(matching)}}
}

// participant knows the participants of the scheme 0208, enterprise numbers of Belgium.
func participant(r *http.Request) reply {
	found, types := strings.HasPrefix(r.URL.Query().Get("peppol_id"), "0208:"), []string{}
	if found {
		types = append(types, "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##"+
			"urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1")
	}
	return reply{http.StatusOK, map[string]any{"is_valid": found, "dns_valid": found, "business_card_valid": found,
		"supported_document_types": types, "business_card": nil}}
}
