package sandbox

import (
	"encoding/json"
	"net/http"
)

// getLedger implements GET /control/ledger, which only a sandbox has: everything the ledger holds, bodies aside.
func (s *ProviderServer) getLedger(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, struct {
		Documents []LedgerDocument `json:"documents"`
		Purchases []Purchase       `json:"purchases"`
	}{s.ledger.Documents(), s.ledger.PurchaseList()})
}

// getLedgerDocument implements GET /control/ledger/{reference}, which only a sandbox has: one document with the body
// that was submitted.
func (s *ProviderServer) getLedgerDocument(w http.ResponseWriter, r *http.Request) {
	reference := r.PathValue("reference")
	body, found, err := s.ledger.Body(reference)
	if !found {
		unknownReference(w)
		return
	}
	if err != nil {
		s.failed(w, r, err)
		return
	}
	doc, _ := s.ledger.Document(reference)
	answerJSON(w, http.StatusOK, struct {
		LedgerDocument
		Body json.RawMessage `json:"body"`
	}{doc, body})
}
