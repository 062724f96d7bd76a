package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"quittance/internal/secret"
)

// NewEvidence is a provider response that will be retained.
type NewEvidence struct {
	// Call is the kind of the request: submit or status.
	Call string
	// HTTPStatus is the status code. It is retained and shown, but nothing is derived from it.
	HTTPStatus int
	MediaType  string
	Body       []byte
	// Truncated says that the response was longer than the part that is retained.
	Truncated bool
	// Withheld says that the response contains our credential, so the body is sealed and never shown.
	Withheld bool
	// StateValues are the state values in the response, by dimension.
	StateValues map[string]string
	// Report is the interpretation of the response, as [invoice.Report.Retained] writes it; empty if the response is
	// not a report about this submission.
	Report string
}

// Evidence is a retained provider response, an entry of a chain. Its digest covers all its fields and the digest of the
// previous entry, and the body through SHA256, so that any altered, moved, added or removed entry is detected.
type Evidence struct {
	ID         ID
	Submission ID
	Ordinal    int64 // from 1, without gaps
	ReceivedAt time.Time
	NewEvidence
	SHA256   [32]byte
	Previous [32]byte // zero for the first
	Digest   [32]byte

	stateValues string // the JSON of StateValues, which the digest covers
	events      []byte // digests of the events that it caused, 32 bytes each
	early       bool   // a version retained it that did not retain Report and events
}

// computeDigest computes the digest of the entry.
func (e *Evidence) computeDigest() [32]byte {
	kind := "quittance/evidence/v2"
	if e.early {
		kind = "quittance/evidence/v1"
	}
	hash := newDigester(kind)
	hash.field(e.Previous[:])
	hash.field(e.Submission[:])
	hash.field(e.ID[:])
	hash.number(e.Ordinal)
	hash.number(micros(e.ReceivedAt))
	hash.field([]byte(e.Call))
	hash.number(int64(e.HTTPStatus))
	hash.field([]byte(e.MediaType))
	hash.field(e.SHA256[:])
	hash.number(flag(e.Truncated))
	hash.number(flag(e.Withheld))
	hash.field([]byte(e.stateValues))
	if !e.early {
		hash.field([]byte(e.Report))
		hash.field(e.events)
	}
	return hash.sum()
}

func evidenceBinding(tenant, id ID) secret.Binding {
	return secret.Binding{Tenant: tenant[:], Table: "evidence", Column: "body", Row: id[:]}
}

// appendEvidence adds an entry to the chain of a submission and updates the chain's head in s. document is the digest
// of the document that was sent, with which the chain begins; events are the digests of the events that follow from the
// response.
func (t *Tenant) appendEvidence(ctx context.Context, tx *tx, s *Submission, add NewEvidence, now time.Time,
	document [32]byte, events []byte) (ID, error) {
	id, err := newID(now, t.db.random)
	if err != nil {
		return ID{}, err
	}
	if events == nil {
		events = []byte{}
	}
	e := Evidence{ID: id, Submission: s.ID, Ordinal: s.Evidence + 1, ReceivedAt: now, NewEvidence: add,
		SHA256: sha256.Sum256(add.Body), events: events}
	if copy(e.Previous[:], s.head); s.Evidence == 0 { //planted:chain-not-continued
		e.Previous = documentLink(s.ID, document)
	}
	words, err := json.Marshal(add.StateValues)
	if err != nil {
		return ID{}, fmt.Errorf("evidence words: %w", err)
	}
	e.stateValues = string(words)
	e.Digest = e.computeDigest()
	body := add.Body
	if body == nil {
		body = []byte{}
	}
	if add.Withheld {
		if body, err = t.db.keys.Seal(add.Body, evidenceBinding(t.id, id)); err != nil {
			return ID{}, err
		}
	}
	s.Evidence, s.head = e.Ordinal, e.Digest[:]
	return id, tx.ExecDeferred(ctx,
		`insert into evidence (tenant_id, id, submission_id, ordinal, call, received_at, http_status, media_type,
		sha256, body, truncated, withheld, words, report, events, previous, digest)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
		t.id, id, s.ID, e.Ordinal, e.Call, micros(e.ReceivedAt), e.HTTPStatus, e.MediaType, e.SHA256[:], body,
		flag(e.Truncated), flag(e.Withheld), e.stateValues, e.Report, e.events, e.Previous[:], e.Digest[:])
}

const evidenceColumns = `id, submission_id, ordinal, call, received_at, http_status, media_type, sha256, truncated, withheld, words, report, events, events is null, previous, digest`

func scanEvidence(row scanner, more ...any) (Evidence, error) {
	var e Evidence
	var received, truncated, withheld int64
	var sum, previous, digest []byte
	var report sql.Null[string]
	var noEvents bool
	if err := row.Scan(append([]any{&e.ID, &e.Submission, &e.Ordinal, &e.Call, &received, &e.HTTPStatus, &e.MediaType,
		&sum, &truncated, &withheld, &e.stateValues, &report, &e.events, &noEvents, &previous, &digest},
		more...)...); err != nil {
		return Evidence{}, err
	}
	e.ReceivedAt, e.Report, e.early = instant(received), report.V, !report.Valid
	if e.early != noEvents {
		return Evidence{}, fmt.Errorf("stored evidence %s: it has a report or events and not both", e.ID)
	}
	var flags [2]error
	e.Truncated, flags[0] = parseFlag(truncated)
	e.Withheld, flags[1] = parseFlag(withheld)
	if err := errors.Join(flags[0], flags[1], parseDigest(&e.SHA256, sum), parseDigest(&e.Previous, previous),
		parseDigest(&e.Digest, digest), json.Unmarshal([]byte(e.stateValues), &e.StateValues)); err != nil {
		return Evidence{}, fmt.Errorf("stored evidence %s: %w", e.ID, err)
	}
	return e, nil
}

// EvidenceBody returns an entry with its body, unless the body is withheld.
func (t *Tenant) EvidenceBody(ctx context.Context, id ID) (Evidence, error) {
	return readValue(t, func(q querier) (Evidence, error) {
		var body []byte
		out, err := scanEvidence(q.QueryRowContext(ctx,
			`select `+evidenceColumns+`, body from evidence where tenant_id = $1 and id = $2`, t.id, id), &body)
		if err == nil && !out.Withheld {
			out.Body = body
		}
		return out, err
	})
}
