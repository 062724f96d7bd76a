package base

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	sqldb "quittance/internal/platform/db"
	"quittance/internal/platform/secret"
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
	// Name is the operating system user and host of an administrator, the e-mail address of a user, or the identifier of a
	// key.
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

	Chain            ID    // the account; zero for the chain of acts that belong to none
	Ordinal          int64 // position in its chain, from 1
	Previous, Digest [32]byte
}

// ComputeDigest computes the digest of the entry over its fields and the digest of the entry before it.
func (e *AuditEntry) ComputeDigest() [32]byte {
	c := NewDigester("quittance/audit/v1")
	c.Field(e.Previous[:])
	c.Field(e.Chain[:])
	c.Number(e.Ordinal)
	c.Field(e.ID[:])
	c.Number(Micros(e.At))
	for _, text := range e.texts() {
		c.Field([]byte(text))
	}
	if e.Account == nil {
		c.Number(0)
	} else {
		c.Number(1)
		c.Field(e.Account[:])
	}
	return c.Sum()
}

// AuditEnd is the end of a chain of the audit log. chains is the number of the accounts' chains; only the chain of no
// account counts them.
type AuditEnd struct {
	ChainEnd
	chains int64
}

// AuditSealBinding is where the sealed end of a chain of the audit log stands.
func AuditSealBinding(chain ID) secret.Binding {
	return secret.Binding{Tenant: chain[:], Table: "audit_heads", Column: "seal", Row: chain[:]}
}

func (e AuditEnd) seal(keys *Sealer, chain ID) ([]byte, error) {
	text := binary.BigEndian.AppendUint64(nil, uint64(e.Count))  //nolint:gosec // entries count from 0
	text = binary.BigEndian.AppendUint64(text, uint64(e.chains)) //nolint:gosec // chains count from 0
	return keys.Seal(append(text, e.Head[:]...), AuditSealBinding(chain))
}

// UnsealAuditEnd opens the sealed end of a chain of the audit log.
func UnsealAuditEnd(keys *Sealer, sealed []byte, chain ID) (AuditEnd, error) {
	text, err := keys.Open(sealed, AuditSealBinding(chain))
	if err != nil {
		return AuditEnd{}, err
	}
	var e AuditEnd
	if len(text) != 16+len(e.Head) {
		return AuditEnd{}, fmt.Errorf("a sealed end of %d bytes", len(text))
	}
	e.Count = int64(binary.BigEndian.Uint64(text))      //nolint:gosec // it was sealed from an int64
	e.chains = int64(binary.BigEndian.Uint64(text[8:])) //nolint:gosec // it was sealed from an int64
	copy(e.Head[:], text[16:])
	return e, nil
}

// Audit records an act of the transaction's actor in the audit log. The entry is written at the end of the transaction;
// see [Tx.writeAudit].
func (t *Tx) Audit(act Act) error {
	_, err := t.AuditAs(t.Actor, act)
	return err
}

// AuditAs is [Tx.Audit] for a given actor. It returns the entry.
func (t *Tx) AuditAs(actor Actor, act Act) (*AuditEntry, error) {
	if !slices.Contains(acts[:], act.Name) {
		return nil, fmt.Errorf("audit: %q is not one of the acts in acts.go", act.Name)
	}
	details := []byte("{}")
	if len(act.Details) > 0 {
		var err error
		if details, err = json.Marshal(act.Details); err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
	}
	e := &AuditEntry{Actor: actor, At: t.Now(), Act: act.Name, SubjectType: act.SubjectType, Subject: act.Subject,
		Details: string(details), Chain: act.Account}
	if act.Reason != "" {
		e.Reason = act.Reason
	}
	if !act.Account.IsZero() {
		e.Account = &act.Account
	}
	var err error
	if e.ID, err = NewID(e.At, t.DB.random); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	t.Defer(deferredEntry{e})
	return e, nil
}

// deferredEntry is an entry that is written at the end of the transaction.
type deferredEntry struct{ *AuditEntry }

// Rank returns [RankAudit].
func (deferredEntry) Rank() Rank { return RankAudit }

// WriteAll writes all entries.
func (deferredEntry) WriteAll(ctx context.Context, t *Tx, all []Deferred) error {
	var entries []*AuditEntry
	for _, d := range all {
		if e, ok := d.(deferredEntry); ok {
			entries = append(entries, e.AuditEntry)
		}
	}
	return t.writeAudit(ctx, entries)
}

// Audit is [Tx.Audit] for an act on the tenant's data. The entry counts towards the quota of the company.
func (t *Tenant) Audit(tx *Tx, act Act) error {
	if t.DB() == nil {
		return ErrNoTenant
	}
	act.Account = t.account
	e, err := tx.AuditAs(tx.Actor, act)
	if err == nil {
		tx.Use(t.id, Usage{Bytes: e.Size()})
	}
	return err
}

// ChangedFields returns the names of the members in which two JSON objects differ, separated by commas.
func ChangedFields(before, after []byte) (string, error) {
	var old, fresh map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(before, &old), json.Unmarshal(after, &fresh)); err != nil {
		return "", fmt.Errorf("audit: %w", err)
	}
	maps.DeleteFunc(old, func(name string, value json.RawMessage) bool {
		if !bytes.Equal(value, fresh[name]) {
			return false
		}
		delete(fresh, name)
		return true
	})
	maps.Copy(fresh, old)
	return strings.Join(slices.Sorted(maps.Keys(fresh)), ","), nil
}

// Size returns the number of bytes of the texts of an entry.
func (e *AuditEntry) Size() (sum int64) {
	for _, text := range e.texts() {
		sum += int64(len(text))
	}
	return sum
}

func (e *AuditEntry) texts() [10]string {
	return [...]string{string(e.Kind), e.Name, e.Means, e.Source, e.RequestID, e.Act, e.SubjectType, e.Subject, e.Reason,
		e.Details}
}

// writeAudit appends the entries of a transaction to the audit log. The ends of chains are locked last of all, the
// latest account first and the chain of no account, which counts the others, at the end.
func (t *Tx) writeAudit(ctx context.Context, all []*AuditEntry) error {
	entries := map[ID][]*AuditEntry{}
	for _, e := range all {
		entries[e.Chain] = append(entries[e.Chain], e)
	}
	chains := slices.SortedFunc(maps.Keys(entries), func(a, b ID) int { return bytes.Compare(b[:], a[:]) })
	ends, err := t.lockAuditEnds(ctx, chains)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	for _, chain := range chains {
		if err := t.appendAudit(ctx, chain, ends[chain], entries[chain]); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
	}
	return nil
}

// appendAudit appends entries to a chain whose end is locked. If the chain was tampered with, appendAudit appends them
// too, but does not update the seal, so that a verification still finds the fault.
func (t *Tx) appendAudit(ctx context.Context, chain ID, at *lockedAuditEnd, entries []*AuditEntry) error {
	end, rows := at.ChainEnd, make([][]any, len(entries))
	if !at.intact {
		end.Count = max(end.Count, at.last)
	}
	for n, e := range entries {
		e.Ordinal, e.Previous = end.Count+1, end.Head
		e.Digest = e.ComputeDigest()
		end = ChainEnd{e.Ordinal, e.Digest}
		var account any
		if e.Account != nil {
			account = *e.Account
		}
		rows[n] = []any{chain[:], e.Ordinal, e.ID, Micros(e.At), e.Kind, e.Name, e.Means, e.Source, e.RequestID, e.Act,
			account, e.SubjectType, e.Subject, e.Reason, e.Details, e.Previous[:], e.Digest[:]}
	}
	if err := t.Insert(ctx, `insert into audit (`+AuditColumns+`) values`, rows, ``); err != nil {
		return err
	}
	if !at.intact {
		return nil
	}
	return t.setAuditEnd(ctx, chain, AuditEnd{end, at.chains})
}

func (t *Tx) setAuditEnd(ctx context.Context, chain ID, to AuditEnd) error {
	sealed, err := to.seal(t.DB.keys, chain)
	if err != nil {
		return err
	}
	return t.ExecDeferred(ctx, `update audit_heads set count = $2, head = $3, chains = $4, seal = $5 where chain = $1`,
		chain[:], to.Count, to.Head[:], to.chains, sealed)
}

// lockedAuditEnd is the end of a chain that the transaction has locked.
type lockedAuditEnd struct {
	AuditEnd
	// last is the ordinal of the last entry, which differs from count in a chain that was tampered with.
	last int64
	// intact is false if the chain was tampered with.
	intact bool
}

// lockAuditEnds locks and reads the ends of chains, in their order. It begins those that do not exist, and then counts
// them in the chain of no account.
func (t *Tx) lockAuditEnds(ctx context.Context, chains []ID) (map[ID]*lockedAuditEnd, error) {
	ends := map[ID]*lockedAuditEnd{}
	if err := t.readAuditEnds(ctx, ends, chains); err != nil {
		return nil, err
	}
	begun := int64(0)
	for _, chain := range chains {
		if ends[chain] != nil {
			continue
		}
		counted, err := t.beginAuditChain(ctx, ends, chain)
		if err != nil {
			return nil, err
		}
		if counted && !chain.IsZero() {
			begun++
		}
	}
	if begun == 0 {
		return ends, nil
	}
	if ends[ID{}] == nil {
		if err := t.readAuditEnds(ctx, ends, []ID{{}}); err != nil {
			return nil, err
		}
	}
	if ends[ID{}] == nil {
		if _, err := t.beginAuditChain(ctx, ends, ID{}); err != nil {
			return nil, err
		}
	}
	all := ends[ID{}]
	if !all.intact {
		return ends, nil // the fault is in that chain
	}
	all.chains += begun
	return ends, t.setAuditEnd(ctx, ID{}, all.AuditEnd)
}

// readAuditEnds locks and reads the ends of those chains that exist, in the order of chains.
func (t *Tx) readAuditEnds(ctx context.Context, into map[ID]*lockedAuditEnd, chains []ID) error {
	args, parameters := make([]any, len(chains)), make([]string, len(chains))
	for n, chain := range chains {
		args[n], parameters[n] = chain[:], sqldb.Parameter(n+1)
	}
	in := `h.chain in (` + strings.Join(parameters, ", ") + `)`
	if lock := t.DB.dialect.ForUpdate(); lock != "" {
		// A statement of its own, so that the next one reads what was committed before the rows were locked.
		if err := t.ExecDeferred(ctx, `select 1 from audit_heads h where `+in+` order by h.chain desc`+lock,
			args...); err != nil {
			return err
		}
	}
	_, err := Collect(ctx, t, func(row Row) (struct{}, error) {
		var head AuditHead
		end := &lockedAuditEnd{}
		head.Readable = row.Scan(append(head.Fields(), &end.last)...) == nil
		sealed, err := UnsealAuditEnd(t.DB.keys, head.Seal, head.Chain)
		end.AuditEnd = head.AuditEnd
		end.intact = head.Readable && err == nil && sealed == head.AuditEnd && end.last == head.Count
		into[head.Chain] = end
		return struct{}{}, nil
	}, `select `+AuditHeadColumns+
		`, coalesce((select max(a.ordinal) from audit a where a.chain = h.chain), 0) from audit_heads h where `+in, args...)
	return err
}

// beginAuditChain begins a chain that does not exist, unless another transaction has begun it meanwhile, and reports
// whether it did.
func (t *Tx) beginAuditChain(ctx context.Context, ends map[ID]*lockedAuditEnd, chain ID) (begun bool, err error) {
	var none [32]byte
	inserted, err := t.Exec(ctx,
		`insert into audit_heads (chain, count, head, chains) values ($1, 0, $2, 0) on conflict (chain) do nothing`, chain[:],
		none[:])
	if err != nil {
		return false, err
	}
	if err := t.readAuditEnds(ctx, ends, []ID{chain}); err != nil || inserted == 0 {
		return false, err
	}
	end := ends[chain]
	end.intact = end.last == 0 // otherwise its end was removed
	if !end.intact || !chain.IsZero() {
		return end.intact, nil
	}
	// If the time is recorded already, the whole audit log was removed.
	recorded, err := t.Exec(ctx, `insert into settings (key, value) values ($1, $2) on conflict (key) do nothing`,
		SettingAuditBegun, strconv.FormatInt(Micros(t.Now()), 10))
	end.intact = recorded == 1
	return end.intact, err
}
