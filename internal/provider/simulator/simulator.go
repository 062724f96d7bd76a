// Package simulator is the transport simulator for research on one machine: nothing leaves the process.
package simulator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"quittance/internal/document/invoice"
	"quittance/internal/provider"
	"quittance/internal/provider/httpcall"
)

// Adapter is the legacy transport simulator. It runs in this process, without a network, and loses its documents when
// the process ends. It exists for local research; in any other environment the caller refuses to start with it. Its
// reports have a form of their own, so nothing above [provider.Adapter] can depend on the form of the provider
// protocol.
//
// It is deterministic: a response depends on the reference, the time of the first submission and the clock. It accepts
// every well-formed document, completes one dimension per step, and has no purchase documents.
type Adapter struct {
	provider.SendOnly
	clock func() time.Time
	step  time.Duration

	mu          sync.Mutex
	submittedAt map[string]time.Time // by reference: the time of the first submission
}

var _ provider.Adapter = (*Adapter)(nil)

// New returns a simulator without documents. step is the time between two changes; 0 makes all states of a
// document terminal immediately.
func New(clock func() time.Time, step time.Duration) *Adapter {
	return &Adapter{clock: clock, step: step, submittedAt: map[string]time.Time{}}
}

// Profile returns the simulator's profile. Its references are idempotent.
func (s *Adapter) Profile() provider.Profile {
	return provider.Profile{Vocabulary: publishedVocabulary(), Idempotent: true}
}

// Submit implements [provider.Adapter]. The response to a body without the reference is Ambiguous.
func (s *Adapter) Submit(ctx context.Context, doc provider.Document) provider.Response {
	if ctx.Err() != nil {
		return provider.CancelledResponse(ctx)
	}
	fields, unique, err := httpcall.ReadObject(doc.Body)
	reference, ok := httpcall.ReadString(fields["reference"])
	if err != nil || !unique || !ok || reference != doc.Reference || reference == "" ||
		fields["invoice"].Kind() != jsontext.KindBeginObject {
		return provider.Response{Kind: provider.Ambiguous, ErrorClass: provider.ClassProtocol}
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

// Status implements [provider.Adapter].
func (s *Adapter) Status(ctx context.Context, query provider.Query) provider.Response {
	if ctx.Err() != nil {
		return provider.CancelledResponse(ctx)
	}
	s.mu.Lock()
	at, known := s.submittedAt[query.Reference]
	s.mu.Unlock()
	if !known {
		return provider.UnknownResponse()
	}
	return s.report(query.Reference, at, s.clock())
}

// Recipient implements [provider.Adapter]: the simulator cannot say.
func (s *Adapter) Recipient(ctx context.Context, _ provider.Participant) (provider.Recipient, provider.Response) {
	return provider.Recipient{}, s.Check(ctx)
}

// Check implements [provider.Adapter].
func (s *Adapter) Check(ctx context.Context) provider.Response {
	if ctx.Err() != nil {
		return provider.CancelledResponse(ctx)
	}
	return provider.OKResponse([]byte(`{}`))
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
func (s *Adapter) report(reference string, at, now time.Time) provider.Response {
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
		return provider.Response{Kind: provider.Ambiguous, ErrorClass: provider.ClassProtocol}
	}
	return provider.OKResponse(body)
}

// stepTime is the time between two changes of a simulated document.
const stepTime = time.Second

// Describe returns the description of the simulator.
func Describe() provider.Description {
	return provider.Description{
		Kind: "simulator", Summary: "The transport simulator for research on one machine. Nothing leaves the process.",
		LocalOnly: true, Idempotent: true,
		Lookup: "The simulator knows its documents until the process ends.",
		Vocabularies: func() []invoice.Vocabulary {
			return []invoice.Vocabulary{publishedVocabulary(), provider.WithoutMeanings(publishedVocabulary(), "simulator/1")}
		},
		Open: func(config provider.Config) (provider.Adapter, error) { return New(config.Clock, stepTime), nil },
	}
}
