package fakeprovider

import (
	"encoding/json"
	"net/http"

	jsonv2 "github.com/go-json-experiment/json"
)

// maxControl bounds the body of a control request in bytes, except for purchase documents.
const maxControl = 64 << 10

// getLedger implements GET /control/ledger, which only a sandbox has. It returns the whole ledger without the bodies.
func (s *Server) getLedger(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, struct {
		Documents []LedgerDocument `json:"documents"`
		Purchases []Purchase       `json:"purchases"`
	}{s.ledger.Documents(), s.ledger.PurchaseList()})
}

// getLedgerDocument implements GET /control/ledger/{reference}, which only a sandbox has. It returns one document with
// the body that was submitted.
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
	writeJSON(w, http.StatusOK, struct {
		LedgerDocument
		Body json.RawMessage `json:"body"`
	}{doc, body})
}

// getReference implements GET /control/references/{reference}, which only a sandbox has. It returns how often a
// reference was submitted and what the provider did with it. A reference that was never submitted has zeros.
func (s *Server) getReference(w http.ResponseWriter, r *http.Request) {
	reference := r.PathValue("reference")
	doc, _ := s.ledger.Document(reference)
	writeJSON(w, http.StatusOK, struct {
		Reference string `json:"reference"`
		Posts     int    `json:"posts"`    // since the start, including those that were dropped or refused without being read
		Received  int    `json:"received"` // submissions that were read, including those before a restart
		Accepted  int    `json:"accepted"` // including those before a restart; more than 1 would break the promise of the ledger
		Conflicts int    `json:"conflicts"`
	}{reference, s.Posts(reference), doc.Received, doc.Accepted, doc.Conflicts})
}

// chaosSetting is the chaos in control requests and responses. Without a seed, the current one is kept.
type chaosSetting struct {
	Level string  `json:"level"`
	Seed  *uint64 `json:"seed"`
}

// writeMisbehaviours responds with the state of all misbehaviours.
func (s *Server) writeMisbehaviours(w http.ResponseWriter, status int) {
	level, seed := s.Chaos()
	writeJSON(w, status, struct {
		Chaos         chaosSetting         `json:"chaos"`
		Misbehaviours map[Misbehaviour]int `json:"misbehaviours"`
		Forced        []Rule               `json:"forced"`
	}{chaosSetting{level, &seed}, s.MisbehaviourCounts(), s.Rules()})
}

// getMisbehaviours implements GET /control/misbehaviours, which only a sandbox has. It returns how often each
// misbehaviour has happened since the start, the level of chaos, and the pending rules.
func (s *Server) getMisbehaviours(w http.ResponseWriter, _ *http.Request) {
	s.writeMisbehaviours(w, http.StatusOK)
}

// readControl reads the body of a control request. If it cannot, it responds with the error and returns false.
func readControl(w http.ResponseWriter, r *http.Request, target any) bool {
	body, ok := readJSON(w, r, maxControl)
	return ok && decode(w, body, target, jsonv2.RejectUnknownMembers(true))
}

// postMisbehave implements POST /control/misbehave, which only a sandbox has. It makes future calls go wrong.
func (s *Server) postMisbehave(w http.ResponseWriter, r *http.Request) {
	var rule Rule
	if !readControl(w, r, &rule) {
		return
	}
	if err := s.AddRule(rule); err != nil {
		writeError(w, http.StatusUnprocessableEntity, "invalid_rule", err.Error())
		return
	}
	s.writeMisbehaviours(w, http.StatusCreated)
}

// deleteMisbehave implements DELETE /control/misbehave, which only a sandbox has. It removes all rules.
func (s *Server) deleteMisbehave(w http.ResponseWriter, _ *http.Request) {
	s.ClearRules()
	s.writeMisbehaviours(w, http.StatusOK)
}

// postChaos implements POST /control/chaos, which only a sandbox has. It changes the level of chaos.
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
		writeError(w, http.StatusUnprocessableEntity, "invalid_level", err.Error())
		return
	}
	s.writeMisbehaviours(w, http.StatusOK)
}
