package store_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"quittance/client/api"
	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/internal/submission"
)

// decided is the result of a decision of these tests. It takes the place of an interpretation, so that [replay] returns
// the same result.
type decided struct {
	Outcome   api.Outcome
	Reference *string
	Sequence  *int64
	Words     map[invoice.Dimension]invoice.StoredState
	Write     []invoice.Dimension
	Events    []api.EventKind
}

// readAs adds the result of a decision to its evidence.
func readAs(d store.Decision) store.Decision {
	if d.Evidence == nil || d.Evidence.Report != "" {
		return d
	}
	words := map[invoice.Dimension]invoice.StoredState{}
	for _, dimension := range invoice.Dimensions {
		words[dimension] = d.States.Stored(dimension)
	}
	text, err := json.Marshal(decided{d.Outcome, d.ProviderReference, d.Sequence, words, d.WriteStates, d.Events})
	if err != nil {
		panic(err) // plain values
	}
	evidence := *d.Evidence
	evidence.Report = string(text)
	if d.Responded && d.LastSHA256 == [32]byte{} {
		d.LastStatus, d.LastSHA256 = evidence.HTTPStatus, sha256.Sum256(evidence.Body)
	}
	d.Evidence = &evidence
	return d
}

// replay returns the interpretation of these tests.
func replay() store.Replay {
	return store.Replay{
		Response: func(_ string, before store.Submission, e store.Evidence, _ []byte, _ bool) (store.Step, error) {
			if e.Report == "" || e.Early() {
				return store.Step{After: before}, nil
			}
			var d decided
			if err := json.Unmarshal([]byte(e.Report), &d); err != nil {
				return store.Step{}, fmt.Errorf("it cannot be read: %w", err)
			}
			step := store.Step{After: before, Write: d.Write, Events: d.Events}
			step.After.Outcome, step.After.ProviderReference, step.After.Sequence, step.After.States = d.Outcome, d.Reference,
				d.Sequence, invoice.RestoreStates(d.Words)
			for _, kind := range d.Events {
				if kind == api.EventTerminal {
					step.After.TerminalAt = &e.ReceivedAt
				}
			}
			return step, nil
		},
		Purchase: func(metadata []byte) (store.NewIncoming, error) {
			var entry struct{ ID, SHA256 string }
			if json.Unmarshal(metadata, &entry) != nil {
				return store.NewIncoming{ProviderDocumentID: "x"}, nil //nolint:nilerr // metadata that are none are those of x in these tests
			}
			if entry.SHA256 == "" {
				return store.NewIncoming{ProviderDocumentID: entry.ID}, nil
			}
			shown := incoming(entry.ID, "")
			shown.ClaimedSHA256 = &entry.SHA256
			return shown, nil
		},
		Sent: submission.ReadSubmitted,
	}
}
