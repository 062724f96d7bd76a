package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
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
	// Words are the states the answer carried, by dimension.
	Words map[string]string
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
}

// chain computes the digest of an entry: SHA-256 over its fields, each preceded by its length in eight bytes.
func (e *Evidence) chain(words []byte) [32]byte {
	hash := sha256.New()
	var size [8]byte
	field := func(part []byte) {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		hash.Write(size[:])
		hash.Write(part)
	}
	number := func(n int64) { field(binary.BigEndian.AppendUint64(nil, uint64(n))) } //nolint:gosec // the bits are hashed
	field([]byte("quittance/evidence/v1"))
	field(e.Previous[:])
	field(e.Submission[:])
	field(e.ID[:])
	number(e.Ordinal)
	number(micros(e.ReceivedAt))
	field([]byte(e.Call))
	number(int64(e.HTTPStatus))
	field([]byte(e.MediaType))
	field(e.SHA256[:])
	number(flag(e.Truncated))
	number(flag(e.Withheld))
	field(words)
	return [32]byte(hash.Sum(nil))
}

func evidencePlace(tenant, id ID) secret.Place {
	return secret.Place{Tenant: tenant[:], Table: "evidence", Column: "body", Row: id[:]}
}

// appendEvidence adds an entry to the chain of a submission and moves the chain's head, which stands outside the table.
func (t *Tenant) appendEvidence(ctx context.Context, tx *tx, s *Submission, add NewEvidence) (ID, error) {
	id, err := newID(t.db.now(), t.db.random)
	if err != nil {
		return ID{}, err
	}
	e := Evidence{ID: id, Submission: s.ID, Ordinal: s.Evidence + 1, ReceivedAt: t.db.now(), NewEvidence: add, SHA256: sha256.Sum256(add.Body)}
	copy(e.Previous[:], s.head)
	words, err := json.Marshal(add.Words)
	if err != nil {
		return ID{}, fmt.Errorf("evidence words: %w", err)
	}
	e.Digest = e.chain(words)
	body := add.Body
	if body == nil {
		body = []byte{}
	}
	if add.Withheld {
		if body, err = t.db.keys.Seal(add.Body, evidencePlace(t.id, id)); err != nil {
			return ID{}, err
		}
	}
	if _, err := tx.exec(ctx, `insert into evidence (tenant_id, id, submission_id, ordinal, call, received_at, http_status, media_type,
		sha256, body, truncated, withheld, words, previous, digest)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		t.id, id, s.ID, e.Ordinal, e.Call, micros(e.ReceivedAt), e.HTTPStatus, e.MediaType, e.SHA256[:], body,
		flag(e.Truncated), flag(e.Withheld), string(words), e.Previous[:], e.Digest[:]); err != nil {
		return ID{}, err
	}
	s.Evidence, s.head = e.Ordinal, e.Digest[:]
	return id, nil
}

const evidenceColumns = `id, submission_id, ordinal, call, received_at, http_status, media_type, sha256, truncated, withheld, words, previous, digest`

func scanEvidence(row scanner, more ...any) (Evidence, error) {
	var e Evidence
	var received, truncated, withheld int64
	var words string
	var sum, previous, digest []byte
	if err := row.Scan(append([]any{&e.ID, &e.Submission, &e.Ordinal, &e.Call, &received, &e.HTTPStatus, &e.MediaType, &sum,
		&truncated, &withheld, &words, &previous, &digest}, more...)...); err != nil {
		return Evidence{}, err
	}
	copy(e.SHA256[:], sum)
	copy(e.Previous[:], previous)
	copy(e.Digest[:], digest)
	e.ReceivedAt, e.Truncated, e.Withheld = instant(received), truncated == 1, withheld == 1
	if err := json.Unmarshal([]byte(words), &e.Words); err != nil {
		return Evidence{}, fmt.Errorf("stored words of evidence %s: %w", e.ID, err)
	}
	return e, nil
}

// Evidence returns the chain of a submission, oldest first, without the bodies.
func (t *Tenant) Evidence(ctx context.Context, submission ID) ([]Evidence, error) {
	var out []Evidence
	err := t.read(ctx, func(q querier) error {
		var found ID
		err := q.QueryRowContext(ctx, `select id from submissions where tenant_id = $1 and id = $2`, t.id, submission).Scan(&found)
		if err != nil {
			return err
		}
		out, err = collect(ctx, q, func(row scanner) (Evidence, error) { return scanEvidence(row) },
			`select `+evidenceColumns+` from evidence where tenant_id = $1 and submission_id = $2 order by ordinal`, t.id, submission)
		return err
	})
	return out, err
}
