package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"time"

	"quittance/client/api"
	"quittance/internal/secret"
)

const (
	whatSealNone    = "it has no seal"
	whatSealBroken  = "its seal does not open"
	whatSealEnd     = "its seal has the old form, which covers only the end of its chain"
	whatSealAltered = "it was not what was sealed when something was added to it"
	whatRow         = "its row is not what was sealed"
	whatHead        = "the head in its row is not where its chain ends"
	whatUnreadable  = "it cannot be read"
)

// ignoreUnknownKey returns nil for [secret.ErrUnknownKey]: a seal that names an unknown key counts as broken, because
// anybody can make one.
func ignoreUnknownKey(err error) error {
	if errors.Is(err, secret.ErrUnknownKey) {
		return nil
	}
	return err
}

// sealFault describes what is wrong with a seal, or returns "".
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

// readOne reads the row of a query. malformed is the error of scan; err is a failure of the query, or [sql.ErrNoRows].
func readOne[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string,
	args ...any) (value T, malformed error, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return value, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if !rows.Next() {
		return value, nil, errors.Join(rows.Err(), sql.ErrNoRows)
	}
	value, malformed = scan(rows)
	return value, malformed, errors.Join(rows.Err(), ctx.Err())
}

// provenSubmission is a submission with the other values that a verification compares.
type provenSubmission struct {
	Submission
	document []byte
	kind     string // of its connection
	states   int64  // how many rows of states it has
	frozen   bool   // its tenant is frozen: nothing is due any more
}

func scanProven(row scanner) (provenSubmission, error) {
	var p provenSubmission
	var kind sql.Null[string]
	var frozen sql.Null[int64]
	s, err := scanSubmissionWith(row, &p.document, &kind, &p.states, &frozen)
	p.Submission, p.kind, p.frozen = s, kind.V, frozen.Valid
	return p, err
}

// provenSubmission reads a submission; see [readOne].
func (t *Tenant) provenSubmission(ctx context.Context, q querier, id ID) (s provenSubmission, malformed, err error) {
	return readOne(ctx, q, scanProven, `select `+t.db.submissionColumns()+`, document,
		(select kind from connections c where c.account_id = submissions.account_id and c.id = submissions.connection_id),
		(select count(*) from states w where w.tenant_id = submissions.tenant_id and w.submission_id = submissions.id),
		(select frozen_at from tenants t where t.id = submissions.tenant_id)
		from submissions where tenant_id = $1 and id = $2`, t.id, id)
}

// submission verifies one submission.
func (v *verification) submission(ctx context.Context, id ID) (*EvidenceError, error) {
	s, malformed, err := v.t.provenSubmission(ctx, v.q, id)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	if malformed != nil {
		return v.at(KindSubmission, id, 0, flaw{what: whatUnreadable}), nil
	}
	sealed, form, err := openSeal(v.t.db.keys, s.sealed, submissionSealBinding(v.t.id, id))
	if err := ignoreUnknownKey(err); err != nil {
		return nil, err
	}
	v.setSeal(sealed, form)
	want := s.end()
	if form >= sealEnd {
		want = sealed.chainEnd
	}
	events, err := v.t.eventsOf(ctx, v.q, id)
	if err != nil {
		return nil, err
	}
	check := &submissionCheck{replay: v.replay, s: &s, expected: newReplayed(&s.Submission),
		events: &eventCheck{v: v, events: events, resourceType: api.ResourceSubmission}}
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
	read := func(row scanner) chainLink {
		e, body, what := v.t.readEvidence(row)
		if what != "" {
			return chainLink{flaw: flaw{what: what}}
		}
		return check.link(&e, body, true)
	}
	at, f, err := v.walk(ctx, `select `+evidenceColumns+`, `+withheldBody+
		` from evidence where tenant_id = $1 and submission_id = $2 order by ordinal`, id, begin, want, read)
	if err != nil {
		return nil, err
	}
	if v.entries = at.count; f.found() {
		return v.at(KindSubmission, id, at.count+1, f), nil
	}
	if at.count == 0 {
		at.head = [32]byte{} // a chain without entries has no head
	}
	if f := check.conclude(sealed, form, at); f.found() {
		return v.at(KindSubmission, id, 0, f), nil
	}
	if f := s.scheduleFault(v.t.db.Now()); f.found() {
		return v.at(KindSubmission, id, 0, f), nil
	}
	if s.Current && s.MaybeSent() {
		return v.shown(ctx, &s)
	}
	return nil, nil
}

// clockTolerance is how far the clock of the verification may be behind those that set the times.
const clockTolerance = time.Hour

// longestWait is longer than any wait between two queries, which is at most a day.
const longestWait = 24*time.Hour + clockTolerance

// scheduleFault returns a flaw if the provider will not be asked about an open submission, or not within [longestWait].
// The seal does not cover the schedule, because each claim changes it. This check finds a submission that somebody has
// made the workers forget.
func (p *provenSubmission) scheduleFault(now time.Time) flaw {
	if p.Outcome == OutcomeNotSent || p.States.AllTerminal() {
		return flaw{}
	}
	late := func(at *time.Time) bool { return at == nil || at.Sub(now) > longestWait }
	switch {
	case late(p.NextCheckAt):
		return flaw{"next_check_at", "the provider will not be asked about it"}
	case late(p.DueAt) && !(p.frozen && p.DueAt == nil):
		return flaw{"due_at", "the provider will not be asked about it"}
	}
	return flaw{}
}

// ignoreMissing returns nil for [sql.ErrNoRows]: the row was removed meanwhile, and [verification.findOrphans] finds
// what is left of it.
func ignoreMissing(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// startsEarly reports whether the chain of a submission is from a version whose chains did not begin with the document.
func (v *verification) startsEarly(ctx context.Context, id ID) (bool, error) {
	var early bool
	err := v.q.QueryRowContext(ctx,
		`select report is null from evidence where tenant_id = $1 and submission_id = $2 order by ordinal limit 1`, v.t.id,
		id).Scan(&early)
	return early, ignoreMissing(err)
}

// submissionCheck is the state of the verification of one submission along its chain.
type submissionCheck struct {
	replay   Replay
	s        *provenSubmission
	expected replayed
	events   *eventCheck // nil for an exported file, which has only the digests of events
}

// link verifies an entry: its digests, the interpretation of its response, and its events. present reports that body is
// available.
func (c *submissionCheck) link(e *Evidence, body []byte, present bool) chainLink {
	out := chainLink{ordinal: e.Ordinal, previous: e.Previous, digest: e.Digest}
	switch {
	case present && sha256.Sum256(body) != e.SHA256:
		out.flaw.what = "its body is not what was retained"
	case e.computeDigest() != e.Digest:
		out.flaw.what = "it is not what was retained"
	default:
		out.flaw = c.follow(e, body, present)
	}
	return out
}

// follow verifies the interpretation of an entry with correct digests, and the events that it caused.
func (c *submissionCheck) follow(e *Evidence, body []byte, present bool) flaw {
	kinds, what := c.expected.add(c.replay, c.s.kind, e, body, present)
	switch {
	case what != "":
		return flaw{"report", what}
	case e.early || c.expected.unread:
		return flaw{}
	case c.events == nil && len(e.events) != sha256.Size*len(kinds):
		return flaw{"events", whatEventForeign}
	case c.events == nil:
		return flaw{}
	}
	payload := c.s.payload(c.expected.States)
	return c.events.verify(e.events, kinds, micros(e.ReceivedAt), func(stored Event) ([]byte, error) {
		return eventBody(stored.ID, stored.Kind, e.ReceivedAt, api.ResourceSubmission, c.s.ID, payload)
	})
}

// conclude verifies what is outside of the chain, which is intact and ends at at.
func (c *submissionCheck) conclude(sealed seal, form sealForm, at chainEnd) flaw {
	if f := c.events.conclude(c.s.earlierEvents); f.found() {
		return f
	}
	accept := c.events.v.accepting
	if form == sealWhole && sealed.subject != sha256.Sum256(c.s.document) {
		return flaw{"document", "it is not what was sent"}
	}
	if c.s.account != c.events.v.t.account {
		return flaw{"account_id", "it is not that of the tenant"}
	}
	if f := c.expected.differs(&c.s.Submission, sealed.history&sealFound != 0 || accept); f.found() {
		return f
	}
	reported := 0
	for _, from := range c.s.Origins {
		if !from.Evidence.IsZero() {
			reported++
		}
	}
	if c.s.states != int64(reported) {
		return flaw{"states", "there is a state of an unknown dimension"}
	}
	if what := sealFault(sealed, form); what != "" && !accept {
		return flaw{"evidence_seal", what}
	}
	if c.s.end() != at || len(c.s.head) != sha256.Size && (at.count > 0 || len(c.s.head) > 0) {
		return flaw{"evidence_head", whatHead}
	}
	if form == sealWhole && (sealed.chainEnd != at || sealed.row != c.s.row()) {
		return flaw{what: whatRow}
	}
	return flaw{}
}

// readEvidence reads an entry of a submission's chain with its body. what describes why it cannot, or is "".
func (t *Tenant) readEvidence(row scanner) (e Evidence, body []byte, what string) {
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
