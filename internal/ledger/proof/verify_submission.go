package proof

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
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
func sealFault(s base.Seal, form base.SealForm) string {
	switch {
	case form == base.SealNone:
		return whatSealNone
	case form == base.SealBroken:
		return whatSealBroken
	case form == base.SealState:
		return whatSealEnd
	case s.History&base.SealAltered != 0:
		return whatSealAltered
	}
	return ""
}

// readOne reads the row of a query. malformed is the error of scan; err is a failure of the query, or [sql.ErrNoRows].
func readOne[T any](ctx context.Context, q base.Querier, scan func(base.Row) (T, error), query string,
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
	invoices.Submission
	document []byte
	kind     string // of its connection
	states   int64  // how many rows of states it has
	frozen   bool   // its tenant is frozen: nothing is due any more
}

func scanProven(row base.Row) (provenSubmission, error) {
	var p provenSubmission
	var kind sql.Null[string]
	var frozen sql.Null[int64]
	s, err := invoices.ScanSubmissionWith(row, &p.document, &kind, &p.states, &frozen)
	p.Submission, p.kind, p.frozen = s, kind.V, frozen.Valid
	return p, err
}

// proveSubmission reads a submission; see [readOne].
func proveSubmission(ctx context.Context, t *base.Tenant, q base.Querier,
	id base.ID) (s provenSubmission, malformed, err error) {
	return readOne(ctx, q, scanProven, `select `+invoices.SubmissionColumns(t.DB())+`, document,
		(select kind from connections c where c.account_id = submissions.account_id and c.id = submissions.connection_id),
		(select count(*) from states w where w.tenant_id = submissions.tenant_id and w.submission_id = submissions.id),
		(select frozen_at from tenants t where t.id = submissions.tenant_id)
		from submissions where tenant_id = $1 and id = $2`, t.ID(), id)
}

// submission verifies one submission.
func (v *verification) submission(ctx context.Context, id base.ID) (*EvidenceError, error) {
	s, malformed, err := proveSubmission(ctx, v.t, v.q, id)
	if err != nil {
		return nil, base.IgnoreMissing(err)
	}
	if malformed != nil {
		return v.at(KindSubmission, id, 0, base.Flaw{What: whatUnreadable}), nil
	}
	sealed, form, err := base.OpenSeal(v.t.DB().Sealer(), s.Sealed, base.SubmissionSealBinding(v.t.ID(), id))
	if err := ignoreUnknownKey(err); err != nil {
		return nil, err
	}
	v.setSeal(sealed, form)
	want := s.End()
	if form >= base.SealState {
		want = sealed.ChainEnd
	}
	events, err := eventsOf(ctx, v.t, v.q, id)
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
		if form == base.SealWhole {
			document = sealed.Subject
		}
		begin = invoices.DocumentLink(id, document)
	}
	read := func(row base.Row) base.ChainLink {
		e, body, what := readEvidence(v.t, row)
		if what != "" {
			return base.ChainLink{Flaw: base.Flaw{What: what}}
		}
		return check.link(&e, body, true)
	}
	at, f, err := v.walk(ctx, `select `+invoices.EvidenceColumns+`, `+invoices.WithheldBody+
		` from evidence where tenant_id = $1 and submission_id = $2 order by ordinal`, id, begin, want, read)
	if err != nil {
		return nil, err
	}
	if v.entries = at.Count; f.Found() {
		return v.at(KindSubmission, id, at.Count+1, f), nil
	}
	if at.Count == 0 {
		at.Head = [32]byte{} // a chain without entries has no head
	}
	if f := check.conclude(sealed, form, at); f.Found() {
		return v.at(KindSubmission, id, 0, f), nil
	}
	if f := s.scheduleFault(v.t.DB().Now()); f.Found() {
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
func (p *provenSubmission) scheduleFault(now time.Time) base.Flaw {
	if p.Outcome == invoices.OutcomeNotSent || p.States.AllTerminal() {
		return base.Flaw{}
	}
	late := func(at *time.Time) bool { return at == nil || at.Sub(now) > longestWait }
	switch {
	case late(p.NextCheckAt):
		return base.Flaw{Field: "next_check_at", What: "the provider will not be asked about it"}
	case late(p.DueAt) && !(p.frozen && p.DueAt == nil):
		return base.Flaw{Field: "due_at", What: "the provider will not be asked about it"}
	}
	return base.Flaw{}
}

// startsEarly reports whether the chain of a submission is from a version whose chains did not begin with the document.
func (v *verification) startsEarly(ctx context.Context, id base.ID) (bool, error) {
	var early bool
	err := v.q.QueryRowContext(ctx,
		`select report is null from evidence where tenant_id = $1 and submission_id = $2 order by ordinal limit 1`, v.t.ID(),
		id).Scan(&early)
	return early, base.IgnoreMissing(err)
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
func (c *submissionCheck) link(e *invoices.Evidence, body []byte, present bool) base.ChainLink {
	out := base.ChainLink{Ordinal: e.Ordinal, Previous: e.Previous, Digest: e.Digest}
	switch {
	case present && sha256.Sum256(body) != e.SHA256:
		out.Flaw.What = "its body is not what was retained"
	case e.ComputeDigest() != e.Digest:
		out.Flaw.What = "it is not what was retained"
	default:
		out.Flaw = c.follow(e, body, present)
	}
	return out
}

// follow verifies the interpretation of an entry with correct digests, and the events that it caused.
func (c *submissionCheck) follow(e *invoices.Evidence, body []byte, present bool) base.Flaw {
	kinds, what := c.expected.add(c.replay, c.s.kind, e, body, present)
	switch {
	case what != "":
		return base.Flaw{Field: "report", What: what}
	case e.Early || c.expected.unread:
		return base.Flaw{}
	case c.events == nil && len(e.EventDigests) != sha256.Size*len(kinds):
		return base.Flaw{Field: "events", What: whatEventForeign}
	case c.events == nil:
		return base.Flaw{}
	}
	payload := c.s.Payload(c.expected.States)
	return c.events.verify(e.EventDigests, kinds, base.Micros(e.ReceivedAt), func(stored events.Event) ([]byte, error) {
		return events.Body(stored.ID, stored.Kind, e.ReceivedAt, api.ResourceSubmission, c.s.ID, payload)
	})
}

// conclude verifies what is outside of the chain, which is intact and ends at at.
func (c *submissionCheck) conclude(sealed base.Seal, form base.SealForm, at base.ChainEnd) base.Flaw {
	if f := c.events.conclude(c.s.EarlierEvents); f.Found() {
		return f
	}
	accept := c.events.v.accepting
	if form == base.SealWhole && sealed.Subject != sha256.Sum256(c.s.document) {
		return base.Flaw{Field: "document", What: "it is not what was sent"}
	}
	if c.s.Account != c.events.v.t.Account() {
		return base.Flaw{Field: "account_id", What: "it is not that of the tenant"}
	}
	if f := c.expected.differs(&c.s.Submission, sealed.History&base.SealFound != 0 || accept); f.Found() {
		return f
	}
	reported := 0
	for _, from := range c.s.Origins {
		if !from.Evidence.IsZero() {
			reported++
		}
	}
	if c.s.states != int64(reported) {
		return base.Flaw{Field: "states", What: "there is a state of an unknown dimension"}
	}
	if what := sealFault(sealed, form); what != "" && !accept {
		return base.Flaw{Field: "evidence_seal", What: what}
	}
	if c.s.End() != at || len(c.s.Head) != sha256.Size && (at.Count > 0 || len(c.s.Head) > 0) {
		return base.Flaw{Field: "evidence_head", What: whatHead}
	}
	if form == base.SealWhole && (sealed.ChainEnd != at || sealed.Row != c.s.Row()) {
		return base.Flaw{What: whatRow}
	}
	return base.Flaw{}
}

// readEvidence reads an entry of a submission's chain with its body. what describes why it cannot, or is "".
func readEvidence(t *base.Tenant, row base.Row) (e invoices.Evidence, body []byte, what string) {
	e, err := invoices.ScanEvidence(row, &body)
	if err != nil {
		return e, nil, whatUnreadable
	}
	if e.Withheld {
		if body, err = t.DB().Sealer().Open(body, invoices.EvidenceBinding(t.ID(), e.ID)); err != nil {
			return e, nil, "its sealed body does not open"
		}
	}
	return e, body, ""
}
