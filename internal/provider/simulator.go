package provider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Simulator is the legacy transport simulator. It runs in this process, without a network, and loses its documents when
// the process ends. It exists for local research; in any other environment the caller refuses to start with it. Its
// reports have a form of their own, so nothing above [Adapter] can depend on the form of the provider protocol.
//
// It is deterministic: a response depends on the reference, the time of the first submission and the clock. It accepts
// every well-formed document, completes one dimension per step, and has no purchase documents.
type Simulator struct {
	sendOnly
	clock func() time.Time
	step  time.Duration

	mu          sync.Mutex
	submittedAt map[string]time.Time // by reference: the time of the first submission
}

var _ Adapter = (*Simulator)(nil)

// NewSimulator returns a simulator without documents. step is the time between two changes; 0 makes all states of a
// document terminal immediately.
func NewSimulator(clock func() time.Time, step time.Duration) *Simulator {
	return &Simulator{clock: clock, step: step, submittedAt: map[string]time.Time{}}
}

// Profile returns the simulator's profile. Its references are idempotent.
func (s *Simulator) Profile() Profile {
	return Profile{Vocabulary: simulatorVocabulary(), Idempotent: true}
}

// Submit implements [Adapter]. The response to a body without the reference is Ambiguous.
func (s *Simulator) Submit(ctx context.Context, doc Document) Response {
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	fields, unique, err := readObject(doc.Body)
	reference, ok := readString(fields["reference"])
	if err != nil || !unique || !ok || reference != doc.Reference || reference == "" ||
		fields["invoice"].Kind() != jsontext.KindBeginObject {
		return Response{Kind: Ambiguous, ErrorClass: ClassProtocol}
	}
	now := s.clock()
	s.mu.Lock()
	at, known := s.submittedAt[reference]
	if !known {
		at = now
		s.submittedAt[reference] = at
	}
	s.mu.Unlock()
	return s.report(reference, at, now)
}

// Status implements [Adapter].
func (s *Simulator) Status(ctx context.Context, query Query) Response {
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	s.mu.Lock()
	at, known := s.submittedAt[query.Reference]
	s.mu.Unlock()
	if !known {
		return unknownReference()
	}
	return s.report(query.Reference, at, s.clock())
}

// Recipient implements [Adapter]: the simulator cannot say.
func (s *Simulator) Recipient(ctx context.Context, _ Participant) (Recipient, Response) {
	return Recipient{}, s.Check(ctx)
}

// Check implements [Adapter].
func (s *Simulator) Check(ctx context.Context) Response {
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	return okResponse([]byte(`{}`))
}

// The simulator's own document.
type (
	simulated struct {
		Simulation simulatedHead       `json:"simulation"`
		Dimensions simulatedDimensions `json:"dimensions"`
	}
	simulatedHead struct {
		Ref    string `json:"ref"`
		Number string `json:"number"`
		Result string `json:"result"`
		Round  int    `json:"round"`
		At     string `json:"at"`
	}
	simulatedDimensions struct {
		Submission string `json:"submission"`
		Invoice    string `json:"invoice"`
		Authority  string `json:"authority"`
		Receiver   string `json:"receiver"`
	}
)

// report returns the report on a reference at the time now.
func (s *Simulator) report(reference string, at, now time.Time) Response {
	terminals := [...]string{simulatedValid, simulatedIssued, simulatedReported, simulatedReceived}
	values := [len(terminals)]string{}
	done := 0
	for i, terminal := range terminals {
		values[i] = simulatedPending
		if now.Sub(at) >= time.Duration(i+1)*s.step {
			values[i] = terminal
			done++
		}
	}
	digest := sha256.Sum256([]byte(reference))
	body, err := json.Marshal(simulated{
		Simulation: simulatedHead{
			Ref:    reference,
			Number: "SIM-" + hex.EncodeToString(digest[:8]),
			Result: simulatedTaken,
			Round:  1 + done,
			At:     at.Add(time.Duration(done) * s.step).UTC().Format(time.RFC3339Nano),
		},
		Dimensions: simulatedDimensions{Submission: values[0], Invoice: values[1], Authority: values[2], Receiver: values[3]},
	})
	if err != nil {
		return Response{Kind: Ambiguous, ErrorClass: ClassProtocol}
	}
	return okResponse(body)
}
