package provider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Simulator is the legacy transport simulator (specification, part 1): in this process, without a network, and
// forgotten with it. It exists for local research; in any other environment the caller refuses to start with it. Its
// documents have a form of their own, so nothing above the seam can rely on that of the provider protocol.
//
// It is deterministic: what it answers depends on the reference, the time of the first submission and the clock. It
// takes every well-formed document, moves one dimension a step, and has no purchase documents.
type Simulator struct {
	clock func() time.Time
	step  time.Duration

	mu    sync.Mutex
	taken map[string]time.Time // by reference: when it was first submitted
}

var _ Adapter = (*Simulator)(nil)

// NewSimulator makes a simulator without documents. step is the time between two changes; 0 makes every document
// final at once.
func NewSimulator(clock func() time.Time, step time.Duration) *Simulator {
	return &Simulator{clock: clock, step: step, taken: map[string]time.Time{}}
}

// Profile declares the simulator's own vocabulary. A repeat of a reference is answered with the document it has.
func (s *Simulator) Profile() Profile {
	return Profile{Vocabulary: simulatorVocabulary(), Idempotent: true}
}

// Submit implements [Adapter]. A body that does not carry the reference is answered like garbage: Ambiguous.
func (s *Simulator) Submit(ctx context.Context, doc Document) Response {
	if ctx.Err() != nil {
		return notAsked(ctx)
	}
	fields, whole, err := members(doc.Body)
	reference, ok := text(fields["reference"])
	if err != nil || !whole || !ok || reference != doc.Reference || reference == "" || fields["invoice"].Kind() != jsontext.KindBeginObject {
		return Response{Kind: Ambiguous, ErrorClass: ClassProtocol}
	}
	now := s.clock()
	s.mu.Lock()
	at, known := s.taken[reference]
	if !known {
		at = now
		s.taken[reference] = at
	}
	s.mu.Unlock()
	return s.report(reference, at, now)
}

// Status implements [Adapter].
func (s *Simulator) Status(ctx context.Context, reference string) Response {
	if ctx.Err() != nil {
		return notAsked(ctx)
	}
	s.mu.Lock()
	at, known := s.taken[reference]
	s.mu.Unlock()
	if !known {
		return nothing()
	}
	return s.report(reference, at, s.clock())
}

// Purchases implements [Adapter]: there are none.
func (s *Simulator) Purchases(ctx context.Context, cursor string, _ int) (PurchasePage, Response) {
	if ctx.Err() != nil {
		return PurchasePage{}, notAsked(ctx)
	}
	return PurchasePage{NextCursor: cursor}, answered([]byte(`{"purchases":[]}`))
}

// PurchaseDocument implements [Adapter]: there are none.
func (s *Simulator) PurchaseDocument(ctx context.Context, _ string) Response {
	if ctx.Err() != nil {
		return notAsked(ctx)
	}
	return nothing()
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

// report renders the document of a reference as it stands at now.
func (s *Simulator) report(reference string, at, now time.Time) Response {
	finals := [...]string{simulatedValid, simulatedIssued, simulatedReported, simulatedReceived}
	words := [len(finals)]string{}
	done := 0
	for i, final := range finals {
		words[i] = simulatedPending
		if now.Sub(at) >= time.Duration(i+1)*s.step {
			words[i] = final
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
		Dimensions: simulatedDimensions{Submission: words[0], Invoice: words[1], Authority: words[2], Receiver: words[3]},
	})
	if err != nil {
		return Response{Kind: Ambiguous, ErrorClass: ClassProtocol}
	}
	return answered(body)
}

// answered is an answer with a whole JSON body. It has the status that a provider would have sent, for an answer
// without a status is none.
func answered(body []byte) Response {
	digest := sha256.Sum256(body)
	return Response{
		Kind: Answered, HTTPStatus: http.StatusOK, MediaType: "application/json", Body: body,
		Size: int64(len(body)), SHA256: hex.EncodeToString(digest[:]),
	}
}

// nothing is the answer about a document that was never submitted.
func nothing() Response {
	answer := answered([]byte(`{"error":{"code":"` + codeUnknownReference + `"}}`))
	answer.Kind, answer.HTTPStatus = UnknownReference, http.StatusNotFound
	return answer
}

// notAsked is the answer to a call whose caller has already given up.
func notAsked(ctx context.Context) Response {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Response{Kind: NotSent, ErrorClass: ClassTimeout}
	}
	return Response{Kind: NotSent, ErrorClass: ClassCanceled}
}
