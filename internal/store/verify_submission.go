package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"

	"quittance/internal/secret"
	"quittance/sdk/go/api"
)

const (
	whatSealNone    = "it has no seal"
	whatSealBroken  = "its seal does not open"
	whatSealEnd     = "its seal is one of before, which covers the end of its chain alone"
	whatSealAltered = "it was not what was sealed when something was added to it"
	whatRow         = "its row is not what was sealed"
	whatHead        = "the head in its row is not where its chain ends"
	whatUnreadable  = "it cannot be read"
)

// ownKeys leaves out that a seal stands under a key which is not at hand: nobody can tell that it is one.
func ownKeys(err error) error {
	if errors.Is(err, secret.ErrUnknownKey) {
		return nil
	}
	return err
}

// sealFault says what is wrong with a seal, "" when nothing is.
func sealFault(s seal, form sealForm) string {
	switch {
	case form == sealNone:
		return whatSealNone
	case form == sealBroken:
		return whatSealBroken
	case form == sealEnd:
		return whatSealEnd
	case s.history&sealAltered != 0:
		return whatSealAltered
	}
	return ""
}

// readOne scans the row of a query. What makes no sense in it is told apart from what keeps it from being read.
func readOne[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) (value T, senseless error, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return value, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if !rows.Next() {
		return value, nil, errors.Join(rows.Err(), sql.ErrNoRows)
	}
	value, senseless = scan(rows)
	return value, senseless, errors.Join(rows.Err(), ctx.Err())
}

// provenSubmission is a submission with what is proven about it.
type provenSubmission struct {
	Submission
	document []byte
	kind     string // of its connection
	states   int64  // how many rows of states it has
}

func scanProven(row scanner) (provenSubmission, error) {
	var p provenSubmission
	var kind sql.Null[string]
	s, err := scanSubmissionWith(row, &p.document, &kind, &p.states)
	p.Submission, p.kind = s, kind.V
	return p, err
}

func (t *Tenant) provenSubmission(ctx context.Context, q querier, id ID) (provenSubmission, error, error) {
	return readOne(ctx, q, scanProven, `select `+t.db.submissionColumns()+`, document,
		(select kind from connections c where c.account_id = submissions.account_id and c.id = submissions.connection_id),
		(select count(*) from states w where w.tenant_id = submissions.tenant_id and w.submission_id = submissions.id)
		from submissions where tenant_id = $1 and id = $2`, t.id, id)
}

// submission verifies one submission.
func (v *verification) submission(ctx context.Context, id ID) (*EvidenceError, error) {
	s, senseless, err := v.t.provenSubmission(ctx, v.q, id)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	if senseless != nil {
		return v.at(KindSubmission, id, 0, "", whatUnreadable), nil
	}
	sealed, form, err := openSeal(v.t.db.keys, s.sealed, submissionSealBinding(v.t.id, id))
	if err := ownKeys(err); err != nil {
		return nil, err
	}
	v.take(sealed, form)
	want := s.end()
	if form >= sealEnd {
		want = sealed.chainEnd
	}
	events, err := v.t.eventsOf(ctx, v.q, id)
	if err != nil {
		return nil, err
	}
	check := &submissionCheck{replay: v.replay, s: &s, expected: newReplayed(&s.Submission), events: eventCheck{v: v, events: events, type_: api.ResourceSubmission, of: id}}
	early, err := v.startsEarly(ctx, id)
	if err != nil {
		return nil, err
	}
	var begin [32]byte
	if document := sha256.Sum256(s.document); !early {
		if form == sealWhole {
			document = sealed.subject
		}
		begin = documentLink(id, document)
	}
	read := func(row scanner, _ chainEnd) chainLink { return check.read(v.t, row) }
	at, what, err := v.walk(ctx, `select `+evidenceColumns+`, `+withheldBody+` from evidence where tenant_id = $1 and submission_id = $2 order by ordinal`, id, begin, want, read)
	if err != nil {
		return nil, err
	}
	if v.entries = at.count; what != "" {
		return v.at(KindSubmission, id, at.count+1, check.field, what), nil
	}
	if at.count == 0 {
		at.head = [32]byte{} // a chain without entries has no head
	}
	if field, what := check.conclude(sealed, form, at); what != "" {
		return v.at(KindSubmission, id, 0, field, what), nil
	}
	if s.Current && s.MaybeSent() {
		return v.shown(ctx, &s)
	}
	return nil, nil
}

// ignoreMissing is for a row that was there a moment ago: what is left of it is found by itself.
func ignoreMissing(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// startsEarly tells whether the chain of a submission began before chains began with the document.
func (v *verification) startsEarly(ctx context.Context, id ID) (bool, error) {
	var early bool
	err := v.q.QueryRowContext(ctx, `select report is null from evidence where tenant_id = $1 and submission_id = $2 order by ordinal limit 1`, v.t.id, id).Scan(&early)
	return early, ignoreMissing(err)
}

// submissionCheck is what the verification of one submission knows while it goes along its chain.
type submissionCheck struct {
	replay   Replay
	s        *provenSubmission
	expected replayed
	events   eventCheck
	field    string // of the fault of an entry
}

// read reads an entry with its body, and reads its answer again.
func (c *submissionCheck) read(t *Tenant, row scanner) chainLink {
	c.field = ""
	e, body, fault := t.readEvidence(row)
	if fault != "" {
		return chainLink{fault: fault}
	}
	out := e.link(body, true)
	if out.fault != "" {
		return out
	}
	if c.field, out.fault = c.follow(&e, body, true); out.fault == "" {
		c.field = ""
	}
	return out
}

// follow takes an entry whose digests are right: what it was read as, and the events that it gave rise to.
func (c *submissionCheck) follow(e *Evidence, body []byte, atHand bool) (field, fault string) {
	kinds, what := c.expected.take(c.replay, c.s.kind, e, body, atHand)
	if what != "" || e.early || c.expected.unread {
		return "report", what
	}
	payload := api.SubmissionPayload{States: c.expected.States.Wire(), InvoiceID: c.s.Invoice.String(), InvoiceNumber: c.s.Number}
	return "events", c.events.take(e.events, kinds, micros(e.ReceivedAt), func(told Event) ([]byte, error) {
		return eventBody(told.ID, told.Kind, e.ReceivedAt, api.ResourceSubmission, c.s.ID, payload)
	})
}

// reread is follow for an entry of a file, which has the digests of the events alone.
func (c *submissionCheck) reread(e *Evidence, body []byte, atHand bool) (field, fault string) {
	kinds, what := c.expected.take(c.replay, c.s.kind, e, body, atHand)
	if what == "" && !e.early && !c.expected.unread && len(e.events) != sha256.Size*len(kinds) {
		return "events", whatEventForeign
	}
	return "report", what
}

// conclude compares what stands outside of the chain, which is whole and ends at end.
func (c *submissionCheck) conclude(sealed seal, form sealForm, at chainEnd) (field, what string) {
	if what := c.events.conclude(c.s.earlierEvents); what != "" {
		return "events", what
	}
	accept := c.events.v.accepting
	if form == sealWhole && sealed.subject != sha256.Sum256(c.s.document) {
		return "document", "it is not what was sent"
	}
	if c.s.account != c.events.v.t.account {
		return "account_id", "it is not that of the tenant"
	}
	if field, what := c.expected.differs(&c.s.Submission, sealed.history&sealFound != 0 || accept); what != "" {
		return field, what
	}
	reported := 0
	for _, from := range c.s.Origins {
		if !from.Evidence.IsZero() {
			reported++
		}
	}
	if c.s.states != int64(reported) {
		return "states", "there is a state of no dimension"
	}
	if what := sealFault(sealed, form); what != "" && !accept {
		return "evidence_seal", what
	}
	if c.s.end() != at || len(c.s.head) != sha256.Size && (at.count > 0 || len(c.s.head) > 0) {
		return "evidence_head", whatHead
	}
	if form == sealWhole && (sealed.chainEnd != at || sealed.row != c.s.row()) {
		return "", whatRow
	}
	return "", ""
}

// readEvidence reads an entry of a submission's chain with its body. fault says why it cannot, "" when it can.
func (t *Tenant) readEvidence(row scanner) (e Evidence, body []byte, fault string) {
	e, err := scanEvidence(row, &body)
	if err != nil {
		return e, nil, whatUnreadable
	}
	if e.Withheld {
		if body, err = t.db.keys.Open(body, evidenceBinding(t.id, e.ID)); err != nil {
			return e, nil, "its sealed body does not open"
		}
	}
	return e, body, ""
}

// link recomputes the digests of an entry. body counts when it is at hand.
func (e *Evidence) link(body []byte, atHand bool) chainLink {
	out := chainLink{ordinal: e.Ordinal, previous: e.Previous, digest: e.Digest}
	switch {
	case atHand && sha256.Sum256(body) != e.SHA256:
		out.fault = "its body is not what was retained"
	case e.computeDigest() != e.Digest:
		out.fault = "it is not what was retained"
	}
	return out
}
