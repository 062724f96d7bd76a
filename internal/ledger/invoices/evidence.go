package invoices

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
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
	ID         base.ID
	Submission base.ID
	Ordinal    int64 // from 1, without gaps
	ReceivedAt time.Time
	NewEvidence
	SHA256   [32]byte
	Previous [32]byte // zero for the first
	Digest   [32]byte

	StateText    string // the JSON of StateValues, which the digest covers
	EventDigests []byte // digests of the events that it caused, 32 bytes each
	// Early says that a version retained the response that did not retain its interpretation and events.
	Early bool
}

// ComputeDigest computes the digest of the entry.
func (e *Evidence) ComputeDigest() [32]byte {
	kind := "quittance/evidence/v2"
	if e.Early {
		kind = "quittance/evidence/v1"
	}
	hash := base.NewDigester(kind)
	hash.Field(e.Previous[:])
	hash.Field(e.Submission[:])
	hash.Field(e.ID[:])
	hash.Number(e.Ordinal)
	hash.Number(base.Micros(e.ReceivedAt))
	hash.Field([]byte(e.Call))
	hash.Number(int64(e.HTTPStatus))
	hash.Field([]byte(e.MediaType))
	hash.Field(e.SHA256[:])
	hash.Number(base.Flag(e.Truncated))
	hash.Number(base.Flag(e.Withheld))
	hash.Field([]byte(e.StateText))
	if !e.Early {
		hash.Field([]byte(e.Report))
		hash.Field(e.EventDigests)
	}
	return hash.Sum()
}

// EvidenceBinding is where a withheld response stands.
func EvidenceBinding(tenant, id base.ID) secret.Binding {
	return secret.Binding{Tenant: tenant[:], Table: "evidence", Column: "body", Row: id[:]}
}

// appendEvidence adds an entry to the chain of a submission and updates the chain's head in s. document is the digest
// of the document that was sent, with which the chain begins; events are the digests of the events that follow from the
// response.
func appendEvidence(ctx context.Context, t *base.Tenant, tx *base.Tx, s *Submission, add NewEvidence, now time.Time,
	document [32]byte, events []byte) (base.ID, error) {
	id, err := base.NewID(now, t.DB().Random())
	if err != nil {
		return base.ID{}, err
	}
	if events == nil {
		events = []byte{}
	}
	e := Evidence{ID: id, Submission: s.ID, Ordinal: s.Evidence + 1, ReceivedAt: now, NewEvidence: add,
		SHA256: sha256.Sum256(add.Body), EventDigests: events}
	if copy(e.Previous[:], s.Head); s.Evidence == 0 { //planted:chain-not-continued
		e.Previous = DocumentLink(s.ID, document)
	}
	words, err := json.Marshal(add.StateValues)
	if err != nil {
		return base.ID{}, fmt.Errorf("evidence words: %w", err)
	}
	e.StateText = string(words)
	e.Digest = e.ComputeDigest()
	body := add.Body
	if body == nil {
		body = []byte{}
	}
	if add.Withheld {
		if body, err = t.DB().Sealer().Seal(add.Body, EvidenceBinding(t.ID(), id)); err != nil {
			return base.ID{}, err
		}
	}
	s.Evidence, s.Head = e.Ordinal, e.Digest[:]
	statement, args := base.Insert("evidence", evidenceRow{Tenant: t.ID(), ID: id, Submission: s.ID, Ordinal: e.Ordinal,
		Call: e.Call, ReceivedAt: base.Micros(e.ReceivedAt), HTTPStatus: e.HTTPStatus, MediaType: e.MediaType,
		SHA256: e.SHA256[:], Body: body, Truncated: base.Flag(e.Truncated), Withheld: base.Flag(e.Withheld),
		Words: e.StateText, Report: e.Report, Events: e.EventDigests, Previous: e.Previous[:], Digest: e.Digest[:]})
	return id, tx.ExecDeferred(ctx, statement, args...)
}

// evidenceRow is a new entry of the evidence.
type evidenceRow struct {
	Tenant     base.ID `db:"tenant_id"`
	ID         base.ID `db:"id"`
	Submission base.ID `db:"submission_id"`
	Ordinal    int64   `db:"ordinal"`
	Call       string  `db:"call"`
	ReceivedAt int64   `db:"received_at"`
	HTTPStatus int     `db:"http_status"`
	MediaType  string  `db:"media_type"`
	SHA256     []byte  `db:"sha256"`
	Body       []byte  `db:"body"`
	Truncated  int64   `db:"truncated"`
	Withheld   int64   `db:"withheld"`
	Words      string  `db:"words"`
	Report     string  `db:"report"`
	Events     []byte  `db:"events"`
	Previous   []byte  `db:"previous"`
	Digest     []byte  `db:"digest"`
}

// EvidenceColumns are what [ScanEvidence] reads.
const EvidenceColumns = `id, submission_id, ordinal, call, received_at, http_status, media_type, sha256, truncated, withheld, words, report, events, events is null, previous, digest`

// ScanEvidence reads an entry, and further columns into more.
func ScanEvidence(row base.Row, more ...any) (Evidence, error) {
	var e Evidence
	var received, truncated, withheld int64
	var sum, previous, digest []byte
	var report sql.Null[string]
	var noEvents bool
	if err := row.Scan(append([]any{&e.ID, &e.Submission, &e.Ordinal, &e.Call, &received, &e.HTTPStatus, &e.MediaType,
		&sum, &truncated, &withheld, &e.StateText, &report, &e.EventDigests, &noEvents, &previous, &digest},
		more...)...); err != nil {
		return Evidence{}, err
	}
	e.ReceivedAt, e.Report, e.Early = base.Instant(received), report.V, !report.Valid
	if e.Early != noEvents {
		return Evidence{}, fmt.Errorf("stored evidence %s: it has a report or events and not both", e.ID)
	}
	var flags [2]error
	e.Truncated, flags[0] = base.ParseFlag(truncated)
	e.Withheld, flags[1] = base.ParseFlag(withheld)
	if err := errors.Join(flags[0], flags[1], base.ParseDigest(&e.SHA256, sum), base.ParseDigest(&e.Previous, previous),
		base.ParseDigest(&e.Digest, digest), json.Unmarshal([]byte(e.StateText), &e.StateValues)); err != nil {
		return Evidence{}, fmt.Errorf("stored evidence %s: %w", e.ID, err)
	}
	return e, nil
}

// EvidenceBody returns an entry with its body, unless the body is withheld.
func EvidenceBody(ctx context.Context, t *base.Tenant, id base.ID) (Evidence, error) {
	return base.ReadValue(t, func(q base.Querier) (Evidence, error) {
		var body []byte
		out, err := ScanEvidence(q.QueryRowContext(ctx,
			`select `+EvidenceColumns+`, body from evidence where tenant_id = $1 and id = $2`, t.ID(), id), &body)
		if err == nil && !out.Withheld {
			out.Body = body
		}
		return out, err
	})
}

// WithheldBody selects the current value of the body of evidence: for a withheld one, that in the table resealed if
// there is one. The rows of evidence never change.
const WithheldBody = `case when evidence.withheld = 1 then coalesce((select n.value from resealed n where n.tenant_id = evidence.tenant_id
		and n.table_name = 'evidence' and n.column_name = 'body' and n.row_id = evidence.id and n.ordinal = 0), evidence.body) else evidence.body end`

// ErrNotAtHand says that a response cannot be interpreted without its body, because it was retained without an
// interpretation.
var ErrNotAtHand = errors.New("the response is withheld")

// EvidenceSize returns an entry of the evidence without its body, and how many bytes that has; 0 for one that is
// withheld.
func EvidenceSize(ctx context.Context, t *base.Tenant, id base.ID) (Evidence, int64, error) {
	var out Evidence
	var size int64
	err := t.Read(func(q base.Querier) (err error) {
		out, err = ScanEvidence(q.QueryRowContext(ctx,
			`select `+EvidenceColumns+`, case when withheld = 0 then length(body) else 0 end
			from evidence where tenant_id = $1 and id = $2`, t.ID(), id), &size)
		return err
	})
	return out, size, err
}

// EvidenceChunk returns at most size bytes of the body of an entry from offset on. Evidence is never changed: chunks
// that are read one after the other are the body. What is withheld is [base.ErrNotFound].
func EvidenceChunk(ctx context.Context, t *base.Tenant, id base.ID, offset int64, size int) ([]byte, error) {
	var chunk []byte
	err := t.Read(func(q base.Querier) error {
		return q.QueryRowContext(ctx,
			`select substr(body, $3, $4) from evidence where tenant_id = $1 and id = $2 and withheld = 0`, t.ID(), id, offset+1,
			size).Scan(&chunk)
	})
	return chunk, err
}
