package fakeprovider

import (
	"encoding/json"
	"net/http"

	jsonv2 "github.com/go-json-experiment/json"
)

// maxControl bounds the body of a control request in bytes, purchase documents aside.
const maxControl = 64 << 10

// getLedger implements GET /control/ledger, which only a sandbox has: everything the ledger holds, bodies aside.
func (s *Server) getLedger(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, struct {
		Documents []LedgerDocument `json:"documents"`
		Purchases []Purchase       `json:"purchases"`
	}{s.ledger.Documents(), s.ledger.PurchaseList()})
}

// getLedgerDocument implements GET /control/ledger/{reference}, which only a sandbox has: one document with the body
// that was submitted.
func (s *Server) getLedgerDocument(w http.ResponseWriter, r *http.Request) {
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

// getReference implements GET /control/references/{reference}, which only a sandbox has: how often a reference came, and
// what became of it. One that never came has zeros.
func (s *Server) getReference(w http.ResponseWriter, r *http.Request) {
	reference := r.PathValue("reference")
	doc, _ := s.ledger.Document(reference)
	answerJSON(w, http.StatusOK, struct {
		Reference string `json:"reference"`
		Posts     int    `json:"posts"`    // since the start, those that were dropped or refused unread included
		Received  int    `json:"received"` // ever, and read
		Accepted  int    `json:"accepted"` // ever; more than 1 would be a broken promise
		Conflicts int    `json:"conflicts"`
	}{reference, s.Posts(reference), doc.Received, doc.Accepted, doc.Conflicts})
}

// chaosSetting is the chaos as the control shows and takes it. An absent seed keeps the one there is.
type chaosSetting struct {
	Level string  `json:"level"`
	Seed  *uint64 `json:"seed"`
}

// writeMisbehaviours answers with all that the control knows of misbehaviour.
func (s *Server) writeMisbehaviours(w http.ResponseWriter, status int) {
	level, seed := s.Chaos()
	answerJSON(w, status, struct {
		Chaos         chaosSetting         `json:"chaos"`
		Misbehaviours map[Misbehaviour]int `json:"misbehaviours"`
		Forced        []Rule               `json:"forced"`
	}{chaosSetting{level, &seed}, s.MisbehaviourCounts(), s.Rules()})
}

// getMisbehaviours implements GET /control/misbehaviours, which only a sandbox has: how often each misbehaviour really
// happened since the start, the level of chaos, and the rules that wait.
func (s *Server) getMisbehaviours(w http.ResponseWriter, _ *http.Request) {
	s.writeMisbehaviours(w, http.StatusOK)
}

// readControl reads the body of a control request, or answers why it does not.
func readControl(w http.ResponseWriter, r *http.Request, target any) bool {
	body, ok := readJSON(w, r, maxControl)
	return ok && decode(w, body, target, jsonv2.RejectUnknownMembers(true))
}

// postMisbehave implements POST /control/misbehave, which only a sandbox has: coming calls go wrong.
func (s *Server) postMisbehave(w http.ResponseWriter, r *http.Request) {
	var rule Rule
	if !readControl(w, r, &rule) {
		return
	}
	if err := s.AddRule(rule); err != nil {
		answerError(w, http.StatusUnprocessableEntity, "invalid_rule", err.Error())
		return
	}
	s.writeMisbehaviours(w, http.StatusCreated)
}

// deleteMisbehave implements DELETE /control/misbehave, which only a sandbox has: every rule is forgotten.
func (s *Server) deleteMisbehave(w http.ResponseWriter, _ *http.Request) {
	s.ClearRules()
	s.writeMisbehaviours(w, http.StatusOK)
}

// postChaos implements POST /control/chaos, which only a sandbox has: another level of chaos from now on.
func (s *Server) postChaos(w http.ResponseWriter, r *http.Request) {
	var setting chaosSetting
	if !readControl(w, r, &setting) {
		return
	}
	if setting.Seed == nil {
		_, seed := s.Chaos()
		setting.Seed = &seed
	}
	if err := s.SetChaos(setting.Level, *setting.Seed); err != nil {
		answerError(w, http.StatusUnprocessableEntity, "invalid_level", err.Error())
		return
	}
	s.writeMisbehaviours(w, http.StatusOK)
}
