package providertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// storecoveQueue is the webhook queue of the account, and the received documents that its events announce.
type storecoveQueue struct {
	events    []storecoveEvent
	made      int // the number of events
	deleted   []string
	documents map[string]map[string]any // by guid: PurchaseInvoiceUbl
	// intercept responds to a request instead of the service, or returns false.
	intercept func(w http.ResponseWriter, r *http.Request) bool
}

// storecoveEvent is a WebhookInstance.
type storecoveEvent struct{ guid, body string }

// Intercept makes a function respond to requests, unless it returns false.
func (s *Storecove) Intercept(respond func(w http.ResponseWriter, r *http.Request) bool) {
	s.set(func() { s.intercept = respond })
}

func (s *Storecove) intercepted(w http.ResponseWriter, r *http.Request) bool {
	var respond func(w http.ResponseWriter, r *http.Request) bool
	s.set(func() { respond = s.intercept })
	return respond != nil && respond(w, r)
}

// Push adds an event with a body to the queue, and returns its guid.
func (s *Storecove) Push(body string) (guid string) {
	s.set(func() {
		s.made++
		guid = fmt.Sprintf("E1b0c6e5-2222-4333-8444-%012d", s.made)
		s.events = append(s.events, storecoveEvent{guid, body})
	})
	return guid
}

// Report adds an event with a word about the document that was taken under an idempotencyGuid.
func (s *Storecove) Report(idempotency, word string) string {
	event := map[string]any{"event_type": "document_submission", "event_group": "invoice", "event": word, "details": "",
		"response_document": nil, "idempotencyGuid": idempotency, "tenant_id": "gulf-works"}
	s.set(func() {
		for _, submission := range s.submissions {
			if submission.idempotency == idempotency {
				event["guid"] = submission.guid
			}
		}
	})
	return s.Push(marshalled(event))
}

// Receive gives a legal entity a document, with an event that announces it. It returns the guid of the document.
func (s *Storecove) Receive(legalEntity int, document []byte) (guid string) {
	s.set(func() {
		if s.documents == nil {
			s.documents = map[string]map[string]any{}
		}
		guid = fmt.Sprintf("d0c0c6e5-3333-4444-8555-%012d", len(s.documents)+1)
		s.documents[guid] = map[string]any{"guid": guid, "legal_entity_id": legalEntity,
			"ubl": base64.StdEncoding.EncodeToString(document)}
	})
	s.Push(marshalled(map[string]any{"event_type": "received_document", "document_guid": guid, "tenant_id": "gulf-works"}))
	return guid
}

// Waiting returns the guids of the events in the queue, and Deleted those that were deleted, oldest first.
func (s *Storecove) Waiting() (guids []string) {
	s.set(func() {
		for _, event := range s.events {
			guids = append(guids, event.guid)
		}
	})
	return guids
}

// Deleted returns the guids of the events that were deleted, oldest first.
func (s *Storecove) Deleted() (guids []string) {
	s.set(func() { guids = slices.Clone(s.deleted) })
	return guids
}

// serveQueue responds to the operations of the queue and of received documents.
func (s *Storecove) serveQueue(w http.ResponseWriter, r *http.Request, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	guid, isEvent := strings.CutPrefix(path, "/webhook_instances/")
	document, isDocument := strings.CutSuffix(path, "/ubl/original")
	switch {
	case r.Method == http.MethodGet && isEvent && guid == "" && len(s.events) == 0:
		w.WriteHeader(http.StatusNoContent) // "When a 204 is received, the queue is empty"
	case r.Method == http.MethodGet && isEvent && guid == "":
		writeJSON(w, http.StatusOK, map[string]string{"guid": s.events[0].guid, "body": s.events[0].body})
	case r.Method == http.MethodDelete && isEvent:
		s.deleteEvent(w, guid)
	case r.Method == http.MethodGet && isDocument &&
		s.documents[strings.TrimPrefix(document, "/purchase_invoices/")] != nil:
		writeJSON(w, http.StatusOK, s.documents[strings.TrimPrefix(document, "/purchase_invoices/")])
	default:
		w.WriteHeader(http.StatusNotFound) // "Not Found", without content
	}
}

// deleteEvent is delete_webhook_instance.
func (s *Storecove) deleteEvent(w http.ResponseWriter, guid string) {
	at := slices.IndexFunc(s.events, func(e storecoveEvent) bool { return e.guid == guid })
	if at < 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s.events = slices.Delete(s.events, at, at+1)
	s.deleted = append(s.deleted, guid)
	w.WriteHeader(http.StatusNoContent)
}

func marshalled(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts and numbers
	}
	return string(text)
}
