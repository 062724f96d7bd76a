package store

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"quittance/internal/secret"
)

// ActorKind says what somebody who acts is.
type ActorKind string

// The kinds of actors.
const (
	ActorAdministrator ActorKind = "administrator"
	ActorUser          ActorKind = "user"
	ActorKey           ActorKind = "key"
	ActorSystem        ActorKind = "system"
)

// The means by which an actor acts.
const (
	MeansCommandLine = "command line"
	MeansAPI         = "API"
	MeansConsole     = "console"
	MeansService     = "service"
)

// Actor is who acts, as the audit log names it. It travels in the context of the act: see [WithActor].
type Actor struct {
	Kind ActorKind
	// Name is the operating system's user and host for an administrator, the e-mail address of a user, the identifier of a
	// key.
	Name string
	// Means is one of the Means constants.
	Means string
	// Source is the network address that the act came from; empty for an act on this machine.
	Source string
	// RequestID is the X-Request-Id of the call; empty when there was none.
	RequestID string
	// Reason is why, in the actor's own words; empty when none was given.
	Reason string
}

type actorKey struct{}

// WithActor returns a context in which every write is the act of actor.
func WithActor(ctx context.Context, actor Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// ActorOf returns the actor of a context, and the service itself when it names none.
func ActorOf(ctx context.Context) Actor {
	if actor, ok := ctx.Value(actorKey{}).(Actor); ok {
		return actor
	}
	return SystemActor()
}

// SystemActor is the service itself, acting on nobody's behalf.
func SystemActor() Actor { return Actor{Kind: ActorSystem, Name: "quittance", Means: MeansService} }

// Act is something that was done, for the audit log.
type Act struct {
	// Name is what was done, such as account.suspend.
	Name string
	// Account is whose account it was done to; zero when it belongs to none.
	Account ID
	// SubjectType and Subject name what it was done to, such as a connection and its identifier.
	SubjectType, Subject string
	// Reason overrides that of the actor when it is not empty.
	Reason string
	// Details are what else there is to know. They never hold a secret.
	Details map[string]string
}

// AuditEntry is an act as it stands in the audit log.
type AuditEntry struct {
	Actor
	ID                   ID
	At                   time.Time
	Act                  string
	Account              *ID
	SubjectType, Subject string
	// Details is a JSON object of texts.
	Details string

	chain            ID    // the account, zero for what belongs to none
	place            int64 // in its chain, from 1
	previous, digest [32]byte
}

// sum is the digest of an entry: SHA-256 over its fields and the digest of the entry before it.
func (e *AuditEntry) sum() [32]byte {
	c := newDigester("quittance/audit/v1")
	c.field(e.previous[:])
	c.field(e.chain[:])
	c.number(e.place)
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

// auditEnd is where a chain of the audit log ends. chains is how many chains there are beside the one of no account, which
// alone counts them.
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

// audit appends an act of the transaction's actor to the audit log. What was tampered with neither refuses the act nor is
// healed by it: the entry is appended, and the fault stays for a verification to find.
func (t *tx) audit(ctx context.Context, act Act) error {
	details, err := json.Marshal(act.Details)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if act.Details == nil {
		details = []byte("{}")
	}
	e := AuditEntry{Actor: t.actor, At: t.now(), Act: act.Name, SubjectType: act.SubjectType, Subject: act.Subject, Details: string(details), chain: act.Account}
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
	e.place, e.previous = at.count+1, at.head
	if !intact {
		var last int64
		if err := t.QueryRowContext(ctx, `select coalesce(max(ordinal), 0) from audit where chain = $1`, e.chain[:]).Scan(&last); err != nil {
			return err
		}
		e.place = max(e.place, last+1)
	}
	e.digest = e.sum()
	var account any
	if e.Account != nil {
		account = *e.Account
	}
	if _, err := t.exec(ctx, `insert into audit (`+auditColumns+`) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
		e.chain[:], e.place, e.ID, micros(e.At), e.Kind, e.Name, e.Means, e.Source, e.RequestID, e.Act, account, e.SubjectType, e.Subject,
		e.Reason, e.Details, e.previous[:], e.digest[:]); err != nil {
		return err
	}
	if !intact {
		return nil
	}
	return t.setAuditEnd(ctx, e.chain, auditEnd{chainEnd{e.place, e.digest}, at.chains})
}

func (t *tx) setAuditEnd(ctx context.Context, chain ID, to auditEnd) error {
	sealed, err := to.seal(t.db.keys, chain)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, `update audit_heads set count = $2, head = $3, chains = $4, seal = $5 where chain = $1`, chain[:], to.count, to.head[:], to.chains, sealed)
	return err
}

// auditEnd locks and reads where a chain ends; a chain that is new begins here. intact is false when that was tampered
// with.
func (t *tx) auditEnd(ctx context.Context, chain ID) (at auditEnd, intact bool, err error) {
	begun, err := t.exec(ctx, `insert into audit_heads (chain, count, head, chains) values ($1, 0, $2, 0) on conflict (chain) do nothing`, chain[:], at.head[:])
	if err != nil {
		return at, false, err
	}
	heads, err := collect(ctx, t, scanAuditHead, `select h.chain, `+auditEndColumns+` from audit_heads h where h.chain = $1`+t.db.forUpdate, chain[:])
	if err != nil {
		return at, false, err
	}
	stored := heads[0] // it was there, or has just been inserted
	at = stored.auditEnd
	var last int64
	if err := t.QueryRowContext(ctx, `select coalesce(max(ordinal), 0) from audit where chain = $1`, chain[:]).Scan(&last); err != nil {
		return at, false, err
	}
	if begun == 0 {
		sealed, err := unsealAuditEnd(t.db.keys, stored.seal, chain)
		return at, stored.readable && err == nil && sealed == at && last == at.count, nil
	}
	if last > 0 {
		return at, false, nil
	}
	intact, err = t.beginAuditChain(ctx, chain)
	return at, intact, err
}

const auditEndColumns = `h.count, h.head, h.chains, h.seal`

// storedAuditEnd is what the row of a chain says of its end.
type storedAuditEnd struct {
	auditEnd
	seal []byte
}

func (s *storedAuditEnd) fields() []any {
	return []any{&s.count, (*digestColumn)(&s.head), &s.chains, &s.seal}
}

// scanAuditEnd reads auditEndColumns, after what is before them in the row.
func scanAuditEnd(row scanner, before ...any) (out storedAuditEnd, err error) {
	err = row.Scan(append(before, out.fields()...)...)
	return out, err
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

// settingAuditBegun is when the audit log of a database began, in microseconds since 1970.
const settingAuditBegun = "audit_begun_at"

// beginAuditChain counts a chain that is new. It is not intact when the audit log had begun before and is gone.
func (t *tx) beginAuditChain(ctx context.Context, chain ID) (intact bool, err error) {
	if chain.IsZero() {
		begun, err := t.exec(ctx, `insert into settings (key, value) values ($1, $2) on conflict (key) do nothing`, settingAuditBegun, strconv.FormatInt(micros(t.now()), 10))
		return begun == 1, err
	}
	all, intact, err := t.auditEnd(ctx, ID{})
	if err != nil || !intact {
		return true, err // the fault is in the other chain, and stays there
	}
	all.chains++
	return true, t.setAuditEnd(ctx, ID{}, all)
}

const auditColumns = `chain, ordinal, id, at, actor_kind, actor, means, source, request_id, act, account_id, subject_type, subject, reason, details, previous, digest`

func scanAudit(row scanner) (e AuditEntry, err error) {
	err = e.scan(row)
	return e, err
}

// scanAuditWithEnd reads auditEndColumns and auditColumns.
func scanAuditWithEnd(row scanner) (e AuditEntry, at storedAuditEnd, err error) {
	err = e.scan(row, at.fields()...)
	return e, at, err
}

// scan reads auditColumns, after what is before them in the row.
func (e *AuditEntry) scan(row scanner, before ...any) error {
	var at int64
	var account []byte
	if err := row.Scan(append(before, &e.chain, &e.place, &e.ID, &at, &e.Kind, &e.Name, &e.Means, &e.Source, &e.RequestID, &e.Act, &account,
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

// RecordAudit appends an act to the audit log that is no write of this database, such as an export. An act that is a
// write records itself, in its own transaction.
func (db *DB) RecordAudit(ctx context.Context, act Act) error {
	return db.write(ctx, "record audit", func(ctx context.Context, t *tx) error { return t.audit(ctx, act) })
}

// AuditFilter says which entries of the audit log are wanted.
type AuditFilter struct {
	// Account is whose; nil for all, those of no account included.
	Account *ID
	// Since is the earliest time; zero for any.
	Since time.Time
	// Act is the name of the act, or its beginning up to a dot, such as account; empty for any.
	Act string
	// Limit is how many entries at most, the latest; positive.
	Limit int
}

// Audit returns entries of the audit log, oldest first.
func (db *DB) Audit(ctx context.Context, filter AuditFilter) ([]AuditEntry, error) {
	var args []any
	next := func(value any) string {
		args = append(args, value)
		return parameter(len(args))
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
