package store

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	base "quittance/internal/db"
	"quittance/internal/secret"
)

// ActorKind is the kind of an actor.
type ActorKind string

// The kinds of actors.
const (
	ActorAdministrator ActorKind = "administrator"
	ActorUser          ActorKind = "user"
	ActorKey           ActorKind = "key"
	ActorSystem        ActorKind = "system"
)

// The means that an actor uses.
const (
	MeansCommandLine = "command line"
	MeansAPI         = "API"
	MeansConsole     = "console"
	MeansService     = "service"
)

// Actor is the author of an act, as the audit log names it. The context of the act carries it; see [WithActor].
type Actor struct {
	Kind ActorKind
	// Name is the operating system user and host of an administrator, the e-mail address of a user, or the identifier of a key.
	Name string
	// Means is one of the Means constants.
	Means string
	// Source is the network address of the caller; empty for an act on this machine.
	Source string
	// RequestID is the X-Request-Id of the request; empty if there was none.
	RequestID string
	// Reason is the reason that the actor gave; may be empty.
	Reason string
}

type actorKey struct{}

// WithActor returns a context whose writes are acts of actor.
func WithActor(ctx context.Context, actor Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// ActorOf returns the actor of a context, or [SystemActor] if it has none.
func ActorOf(ctx context.Context) Actor {
	if actor, ok := ctx.Value(actorKey{}).(Actor); ok {
		return actor
	}
	return SystemActor()
}

// SystemActor returns the service itself as the actor.
func SystemActor() Actor { return Actor{Kind: ActorSystem, Name: "quittance", Means: MeansService} }

// Act describes an act for the audit log.
type Act struct {
	// Name is the name of the act, such as account.suspend.
	Name string
	// Account is the account that it belongs to; zero if it belongs to none.
	Account ID
	// SubjectType and Subject name the object of the act, such as a connection and its identifier.
	SubjectType, Subject string
	// Reason replaces the actor's reason unless it is empty.
	Reason string
	// Details has further information, but no secrets.
	Details map[string]string
}

// AuditEntry is an entry of the audit log.
type AuditEntry struct {
	Actor
	ID                   ID
	At                   time.Time
	Act                  string
	Account              *ID
	SubjectType, Subject string
	// Details is a JSON object with string values.
	Details string

	chain            ID    // the account; zero for the chain of acts that belong to none
	ordinal          int64 // position in its chain, from 1
	previous, digest [32]byte
}

// computeDigest computes the digest of the entry over its fields and the digest of the entry before it.
func (e *AuditEntry) computeDigest() [32]byte {
	c := newDigester("quittance/audit/v1")
	c.field(e.previous[:])
	c.field(e.chain[:])
	c.number(e.ordinal)
	c.field(e.ID[:])
	c.number(micros(e.At))
	for _, text := range []string{string(e.Kind), e.Name, e.Means, e.Source, e.RequestID, e.Act, e.SubjectType, e.Subject, e.Reason, e.Details} {
		c.field([]byte(text))
	}
	if e.Account == nil {
		c.number(0)
	} else {
		c.number(1)
		c.field(e.Account[:])
	}
	return c.sum()
}

// auditEnd is the end of a chain of the audit log. chains is the number of the accounts' chains; only the chain of no account counts
// them.
type auditEnd struct {
	chainEnd
	chains int64
}

func auditSealBinding(chain ID) secret.Binding {
	return secret.Binding{Tenant: chain[:], Table: "audit_heads", Column: "seal", Row: chain[:]}
}

func (e auditEnd) seal(keys *sealer, chain ID) ([]byte, error) {
	text := binary.BigEndian.AppendUint64(nil, uint64(e.count))  //nolint:gosec // entries count from 0
	text = binary.BigEndian.AppendUint64(text, uint64(e.chains)) //nolint:gosec // chains count from 0
	return keys.Seal(append(text, e.head[:]...), auditSealBinding(chain))
}

func unsealAuditEnd(keys *sealer, sealed []byte, chain ID) (auditEnd, error) {
	text, err := keys.Open(sealed, auditSealBinding(chain))
	if err != nil {
		return auditEnd{}, err
	}
	var e auditEnd
	if len(text) != 16+len(e.head) {
		return auditEnd{}, fmt.Errorf("a sealed end of %d bytes", len(text))
	}
	e.count = int64(binary.BigEndian.Uint64(text))      //nolint:gosec // it was sealed from an int64
	e.chains = int64(binary.BigEndian.Uint64(text[8:])) //nolint:gosec // it was sealed from an int64
	copy(e.head[:], text[16:])
	return e, nil
}

// audit appends an act of the transaction's actor to the audit log. If the log was tampered with, audit appends the entry too, but
// does not update the seal, so that a verification still finds the fault.
func (t *tx) audit(ctx context.Context, act Act) error {
	details, err := json.Marshal(act.Details)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if act.Details == nil {
		details = []byte("{}")
	}
	e := AuditEntry{Actor: t.actor, At: t.Now(), Act: act.Name, SubjectType: act.SubjectType, Subject: act.Subject, Details: string(details), chain: act.Account}
	if e.Kind == "" {
		e.Actor = ActorOf(ctx)
	}
	if act.Reason != "" {
		e.Reason = act.Reason
	}
	if !act.Account.IsZero() {
		e.Account = &act.Account
	}
	if e.ID, err = newID(e.At, t.db.random); err != nil {
		return err
	}
	if err := t.appendAudit(ctx, &e); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

func (t *tx) appendAudit(ctx context.Context, e *AuditEntry) error {
	at, intact, err := t.auditEnd(ctx, e.chain)
	if err != nil {
		return err
	}
	e.ordinal, e.previous = at.count+1, at.head
	if !intact {
		var last int64
		if err := t.QueryRowContext(ctx, `select coalesce(max(ordinal), 0) from audit where chain = $1`, e.chain[:]).Scan(&last); err != nil {
			return err
		}
		e.ordinal = max(e.ordinal, last+1)
	}
	e.digest = e.computeDigest()
	var account any
	if e.Account != nil {
		account = *e.Account
	}
	if _, err := t.Exec(ctx, `insert into audit (`+auditColumns+`) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
		e.chain[:], e.ordinal, e.ID, micros(e.At), e.Kind, e.Name, e.Means, e.Source, e.RequestID, e.Act, account, e.SubjectType, e.Subject,
		e.Reason, e.Details, e.previous[:], e.digest[:]); err != nil {
		return err
	}
	if !intact {
		return nil
	}
	return t.setAuditEnd(ctx, e.chain, auditEnd{chainEnd{e.ordinal, e.digest}, at.chains})
}

func (t *tx) setAuditEnd(ctx context.Context, chain ID, to auditEnd) error {
	sealed, err := to.seal(t.db.keys, chain)
	if err != nil {
		return err
	}
	_, err = t.Exec(ctx, `update audit_heads set count = $2, head = $3, chains = $4, seal = $5 where chain = $1`, chain[:], to.count, to.head[:], to.chains, sealed)
	return err
}

// auditEnd locks and reads the end of a chain. It begins the chain if it does not exist. intact is false if the chain was tampered
// with.
func (t *tx) auditEnd(ctx context.Context, chain ID) (at auditEnd, intact bool, err error) {
	begun, err := t.Exec(ctx, `insert into audit_heads (chain, count, head, chains) values ($1, 0, $2, 0) on conflict (chain) do nothing`, chain[:], at.head[:])
	if err != nil {
		return at, false, err
	}
	heads, err := collect(ctx, t, scanAuditHead, `select `+auditHeadColumns+` from audit_heads h where h.chain = $1`+t.db.dialect.ForUpdate(), chain[:])
	if err != nil {
		return at, false, err
	}
	head := heads[0] // the row was just inserted if it did not exist
	var last int64
	if err := t.QueryRowContext(ctx, `select coalesce(max(ordinal), 0) from audit where chain = $1`, chain[:]).Scan(&last); err != nil {
		return at, false, err
	}
	switch {
	case begun == 0:
		sealed, err := unsealAuditEnd(t.db.keys, head.seal, chain)
		intact = head.readable && err == nil && sealed == head.auditEnd && last == head.count
	case last == 0:
		intact, err = t.beginAuditChain(ctx, chain)
	}
	return head.auditEnd, intact, err
}

// auditHead is a row of audit_heads: the end of a chain, and its seal.
type auditHead struct {
	chain ID
	auditEnd
	seal     []byte
	readable bool
}

const auditHeadColumns = `h.chain, h.count, h.head, h.chains, h.seal`

func (h *auditHead) fields() []any {
	return []any{&h.chain, &h.count, (*digestColumn)(&h.head), &h.chains, &h.seal}
}

// scanAuditHead reads auditHeadColumns. A row that cannot be read is a fault of its chain only, so it sets readable to false instead
// of failing.
func scanAuditHead(row scanner) (h auditHead, err error) {
	h.readable = row.Scan(h.fields()...) == nil
	return h, nil
}

// digestColumn reads a digest from its column.
type digestColumn [32]byte

// Scan implements [sql.Scanner].
func (d *digestColumn) Scan(value any) error {
	raw, ok := value.([]byte)
	if !ok {
		return fmt.Errorf("a stored digest is a %T", value)
	}
	return parseDigest((*[32]byte)(d), raw)
}

// settingAuditBegun is the key of the time at which the audit log began, in microseconds since 1970.
const settingAuditBegun = "audit_begun_at"

// beginAuditChain counts a new chain. intact is false if the whole audit log was removed: then settingAuditBegun is set.
func (t *tx) beginAuditChain(ctx context.Context, chain ID) (intact bool, err error) {
	if chain.IsZero() {
		begun, err := t.Exec(ctx, `insert into settings (key, value) values ($1, $2) on conflict (key) do nothing`, settingAuditBegun, strconv.FormatInt(micros(t.Now()), 10))
		return begun == 1, err
	}
	all, intact, err := t.auditEnd(ctx, ID{})
	if err != nil || !intact {
		return true, err // the fault is in the other chain
	}
	all.chains++
	return true, t.setAuditEnd(ctx, ID{}, all)
}

const auditColumns = `chain, ordinal, id, at, actor_kind, actor, means, source, request_id, act, account_id, subject_type, subject, reason, details, previous, digest`

func scanAudit(row scanner) (e AuditEntry, err error) {
	err = e.scan(row)
	return e, err
}

// scan reads auditColumns, which follow the columns that before receives.
func (e *AuditEntry) scan(row scanner, before ...any) error {
	var at int64
	var account []byte
	if err := row.Scan(append(before, &e.chain, &e.ordinal, &e.ID, &at, &e.Kind, &e.Name, &e.Means, &e.Source, &e.RequestID, &e.Act, &account,
		&e.SubjectType, &e.Subject, &e.Reason, &e.Details, (*digestColumn)(&e.previous), (*digestColumn)(&e.digest))...); err != nil {
		return err
	}
	e.At = instant(at)
	if account == nil {
		return nil
	}
	e.Account = new(ID)
	return e.Account.Scan(account)
}

// RecordAudit appends an act to the audit log that does not write to the database, such as an export. Acts that do are recorded in
// their own transactions.
func (db *DB) RecordAudit(ctx context.Context, act Act) error {
	return db.write(ctx, "record audit", func(ctx context.Context, t *tx) error { return t.audit(ctx, act) })
}

// AuditFilter selects entries of the audit log.
type AuditFilter struct {
	// Account selects one account; nil selects all entries, including those of no account.
	Account *ID
	// Since is the earliest time; zero for any.
	Since time.Time
	// Act is the name of an act, or a prefix that ends before a dot, such as account; empty for any.
	Act string
	// Limit is the maximum number of entries, from 1; the latest ones are returned.
	Limit int
}

// Audit returns the selected entries of the audit log, oldest first.
func (db *DB) Audit(ctx context.Context, filter AuditFilter) ([]AuditEntry, error) {
	var args []any
	next := func(value any) string {
		args = append(args, value)
		return base.Parameter(len(args))
	}
	var since int64
	if !filter.Since.IsZero() {
		since = micros(filter.Since)
	}
	where := `at >= ` + next(since)
	if filter.Account != nil {
		where += ` and account_id = ` + next(*filter.Account)
	}
	if filter.Act != "" {
		act := next(filter.Act)
		where += ` and (act = ` + act + ` or substr(act, 1, length(` + act + `) + 1) = ` + act + ` || '.')`
	}
	entries, err := collect(ctx, db.reader, scanAudit, `select `+auditColumns+` from (select * from audit where `+where+
		` order by at desc, chain desc, ordinal desc limit `+next(filter.Limit)+`) latest order by at, chain, ordinal`, args...)
	return entries, db.classify(err)
}
