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

// NewEvidence is an answer of the provider as it came, to be retained.
type NewEvidence struct {
	// Call names what was asked: submit or status.
	Call string
	// HTTPStatus is the status of the answer. It is retained and shown, and nothing is derived from it.
	HTTPStatus int
	MediaType  string
	Body       []byte
	// Truncated says that the answer was longer than is retained.
	Truncated bool
	// Withheld says that the answer echoes our credential: the body is sealed and never shown.
	Withheld bool
	// StateValues are the state values in the response, by dimension.
	StateValues map[string]string
	// Report is what the answer was read as, as [invoice.Report.Retained] writes it; empty when it was no report on this
	// very submission.
	Report string
}

// Evidence is a retained answer. Its digest covers everything but the body, which SHA256 covers, and the digest of the
// entry before it, so that no entry can be altered, moved, added or removed unseen.
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
	early       bool   // it was retained before Report and events were
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

// appendEvidence adds an entry to the chain of a submission and moves the chain's head, which stands outside the table.
// document is the digest of what was sent, from which the chain begins; events are the digests of the events that follow from
// the answer.
func (t *Tenant) appendEvidence(ctx context.Context, tx *tx, s *Submission, add NewEvidence, now time.Time, document [32]byte, events []byte) (ID, error) {
	id, err := newID(now, t.db.random)
	if err != nil {
		return ID{}, err
	}
	if events == nil {
		events = []byte{}
	}
	e := Evidence{ID: id, Submission: s.ID, Ordinal: s.Evidence + 1, ReceivedAt: now, NewEvidence: add, SHA256: sha256.Sum256(add.Body), events: events}
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
	return id, tx.ExecDeferred(ctx, `insert into evidence (tenant_id, id, submission_id, ordinal, call, received_at, http_status, media_type,
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
	if err := row.Scan(append([]any{&e.ID, &e.Submission, &e.Ordinal, &e.Call, &received, &e.HTTPStatus, &e.MediaType, &sum,
		&truncated, &withheld, &e.stateValues, &report, &e.events, &noEvents, &previous, &digest}, more...)...); err != nil {
		return Evidence{}, err
	}
	e.ReceivedAt, e.Report, e.early = instant(received), report.V, !report.Valid
	if e.early != noEvents {
		return Evidence{}, fmt.Errorf("stored evidence %s: it has a report or events and not both", e.ID)
	}
	var flags [2]error
	e.Truncated, flags[0] = parseFlag(truncated)
	e.Withheld, flags[1] = parseFlag(withheld)
	if err := errors.Join(flags[0], flags[1], parseDigest(&e.SHA256, sum), parseDigest(&e.Previous, previous), parseDigest(&e.Digest, digest),
		json.Unmarshal([]byte(e.stateValues), &e.StateValues)); err != nil {
		return Evidence{}, fmt.Errorf("stored evidence %s: %w", e.ID, err)
	}
	return e, nil
}

// Evidence returns the chain of a submission, oldest first, without the bodies.
func (t *Tenant) Evidence(ctx context.Context, submission ID) ([]Evidence, error) {
	if _, err := t.Submission(ctx, submission); err != nil {
		return nil, err
	}
	return t.evidenceWhere(ctx, `submission_id = $2 order by ordinal`, submission)
}

// InvoiceEvidence returns the chains of all submissions of an invoice, oldest first, without the bodies.
func (t *Tenant) InvoiceEvidence(ctx context.Context, invoiceID ID) ([]Evidence, error) {
	if _, err := t.Invoice(ctx, invoiceID); err != nil {
		return nil, err
	}
	return t.evidenceWhere(ctx, ofInvoice, invoiceID)
}

// ofInvoice chooses the evidence of all submissions of the invoice $2, oldest first, and newestOfInvoice the same newest first.
const (
	ofInvoice = `submission_id in (select id from submissions where tenant_id = $1 and invoice_id = $2)
		order by (select ordinal from submissions where tenant_id = $1 and id = submission_id), ordinal`
	newestOfInvoice = `submission_id in (select id from submissions where tenant_id = $1 and invoice_id = $2)
		order by (select ordinal from submissions where tenant_id = $1 and id = submission_id) desc, ordinal desc`
)

func (t *Tenant) evidenceWhere(ctx context.Context, where string, args ...any) ([]Evidence, error) {
	var out []Evidence
	err := t.read(func(q querier) error {
		var err error
		out, err = collect(ctx, q, func(row scanner) (Evidence, error) { return scanEvidence(row) },
			`select `+evidenceColumns+` from evidence where tenant_id = $1 and `+where, append([]any{t.id}, args...)...)
		return err
	})
	return out, err
}

// EvidenceBody returns an entry with its body; a body that is withheld stays sealed and is not returned.
func (t *Tenant) EvidenceBody(ctx context.Context, id ID) (Evidence, error) {
	var out Evidence
	err := t.read(func(q querier) error {
		var body []byte
		var err error
		out, err = scanEvidence(q.QueryRowContext(ctx, `select `+evidenceColumns+`, body from evidence where tenant_id = $1 and id = $2`, t.id, id), &body)
		if err == nil && !out.Withheld {
			out.Body = body
		}
		return err
	})
	return out, err
}
