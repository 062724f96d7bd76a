package drill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Kind is what a fact is about.
type Kind string

// The kinds of facts. All but changing and the two kinds of submitting are acknowledged: the service answered with 2xx, or
// in the case of a receipt and an event sent it.
const (
	kindDraft Kind = "draft"
	// a change of a draft that is about to be requested; without a change after it, nobody knows
	kindChanging Kind = "changing"
	kindChange   Kind = "change"
	// a submission that is about to be requested; without one of the next kind after it, the provider may have the document
	// or not
	kindSubmitting    Kind = "submitting"
	kindSubmission    Kind = "submission"
	kindCredit        Kind = "credit_note"
	kindCreditSending Kind = "credit_note_submitting"
	kindCreditSent    Kind = "credit_note_submission"
	kindHook          Kind = "subscription"
	kindEvent         Kind = "event"    // read from the feed
	kindReceipt       Kind = "receipt"  // received as a webhook and answered with 200
	kindPurchase      Kind = "purchase" // acknowledged by the provider, for all companies
)

// Fact is an entry of a journal.
type Fact struct {
	At       time.Time `json:"at"` // when it was acknowledged, by the clock of the journal's process
	Company  string    `json:"company,omitempty"`
	Kind     Kind      `json:"kind"`
	ID       string    `json:"id"`
	Key      string    `json:"key,omitempty"`      // the Idempotency-Key
	Position int64     `json:"position,omitempty"` // of an event in the feed
	// Request and Response are the bodies; of an event and a receipt only the event itself.
	Request  json.RawMessage `json:"request,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
}

// journal is an append-only file of facts, one JSON object a line.
type journal struct {
	mu   sync.Mutex
	file *os.File
	now  func() time.Time
}

// openJournal opens a journal, which it creates if it does not exist.
func openJournal(path string, now func() time.Time) (*journal, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &journal{file: file, now: now}, nil
}

// add appends facts and returns when they are on disk. It sets their time.
func (j *journal) add(facts ...Fact) error {
	at := j.now().UTC()
	var lines bytes.Buffer
	for _, fact := range facts {
		fact.At = at
		line, err := json.Marshal(fact)
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		lines.Write(append(line, '\n'))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(lines.Bytes()); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

func (j *journal) close() error { return j.file.Close() }

// readJournal returns the facts of a journal. The last line may be incomplete if the process was killed; it was not
// acted on then.
func readJournal(path string) ([]Fact, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var facts []Fact
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var fact Fact
		if err := json.Unmarshal(line, &fact); err != nil {
			return nil, fmt.Errorf("journal: line %d of %s: %w", len(facts)+1, path, err)
		}
		facts = append(facts, fact)
	}
	if len(facts) == 0 {
		return nil, errors.New("journal: " + path + " has no facts: nothing would be proven")
	}
	return facts, nil
}
