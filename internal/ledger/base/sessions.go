package base

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"

	"quittance/internal/ledger/access"
	sqldb "quittance/internal/platform/db"
)

// Authenticate returns the session of a valid token. It returns [ErrNotFound] if the token is unknown, expired or
// revoked, its user disabled, its account suspended or its tenant frozen; callers do not learn which. It reads the role
// with every call, so that a changed one takes effect at once, on every replica.
func (db *DB) Authenticate(ctx context.Context, digest [32]byte) (Session, error) {
	session, err := db.actingSession(ctx, db.sessions, digest)
	if err != nil {
		return Session{}, err
	}
	if now := db.Now(); useDue(session.lastUsedAt, now) {
		db.sessionUses.note(digest, Micros(now))
	}
	return session.withProfile()
}

// withProfile returns the session with the profile of its account. Look-ups that share a statement do not parse it.
func (s Session) withProfile() (Session, error) {
	if err := jsonv2.Unmarshal([]byte(s.profile), &s.Account.Profile); err != nil {
		return Session{}, fmt.Errorf("stored profile: %w", err)
	}
	return s, nil
}

// sessionColumns are what a session has of its account a and its active connection c, and what the seals of a and the
// tenant n cover; see [DB.scanSession]. Every further column costs each call, so the columns that seals cover are read
// once.
//
//nolint:gochecknoglobals // a constant text
var sessionColumns = `a.profile, c.kind, c.format, c.options, c.credit_notes_at, ` +
	SealedAccounts.Columns("a", "id") + `, ` + SealedTenants.Columns("n", "frozen_at")

// actingSession finds a session. It returns [ErrNotFound] if one of the rows that it was made from does not act.
func (db *DB) actingSession(ctx context.Context, in *sqldb.Lookups[[32]byte, Session],
	digest [32]byte) (Session, error) {
	session, err := in.Find(ctx, digest)
	if err == nil && !db.Acts(ctx, session.records...) {
		err = ErrNotFound
	}
	if err != nil {
		return Session{}, err
	}
	session.records = nil
	return session, nil
}

// scanSession reads sessionColumns and the columns that more receives.
func (db *DB) scanSession(row Row, more ...any) (Session, error) {
	s := Session{Tenant: &Tenant{db: db}}
	var kind, format, options sql.Null[string]
	var confirmed sql.Null[int64]
	account, tenant := SealedAccounts.Record(), SealedTenants.Record()
	s.records = []*SealedRecord{account, tenant}
	columns := append(account.Into("id"), tenant.Into("frozen_at")...)
	err := row.Scan(append(append([]any{&s.profile, &kind, &format, &options, &confirmed}, columns...), more...)...)
	if err != nil {
		return Session{}, err
	}
	s.Tenant.id, s.Tenant.account = tenant.id("id"), tenant.id("account_id")
	account.set("id", s.Tenant.account[:])
	s.Account = Account{ID: s.Tenant.account, Company: account.text("company"), Status: account.text("status"),
		LoginPolicy: LoginPolicy(account.text("login_policy")),
		Kind:        kind.V, Format: format.V, CreditNotes: confirmed.Valid, CreatedAt: Instant(account.number("created_at"))}
	s.Account.Options, err = ReadOptions(options)
	return s, err
}

// collectSessions returns the sessions that a query of digests finds; $2 is the time.
func (db *DB) collectSessions(ctx context.Context, scan func(Row) (Session, error), query string,
	digests [][32]byte) (map[[32]byte]Session, error) {
	found, err := Collect(ctx, db.reader, scan, query,
		RowArgs(db, digests, func(digest [32]byte) []any { return []any{digest[:]} }, Micros(db.Now()))...)
	sessions := make(map[[32]byte]Session, len(found))
	for _, s := range found {
		sessions[s.Digest] = s
	}
	return sessions, err
}

// findSessions returns the sessions of those tokens that are valid.
func (db *DB) findSessions(ctx context.Context, digests [][32]byte) (map[[32]byte]Session, error) {
	return db.collectSessions(ctx, func(row Row) (Session, error) {
		var used int64
		var factorRequired bool
		token, user := SealedTokens.Record(), SealedUsers.Record()
		more := append([]any{&used, &factorRequired}, token.Into()...)
		s, err := db.scanSession(row, append(more, user.Into(enabledUser...)...)...)
		if err != nil {
			return Session{}, err
		}
		user.set("account_id", *token.value("account_id"))
		user.set("id", *token.value("user_id"))
		s.records = append(s.records, token, user)
		s.Digest, err = readDigest(token)
		s.User, s.PasswordChangeRequired = token.id("user_id"), token.number("password_change_required") != 0
		s.Means = LoginMeans(token.text("means"))
		s.Email, s.Role = user.text("email"), access.Role(user.text("role"))
		s.Permissions, s.lastUsedAt, s.FactorRequired = s.Role.Permissions(), Instant(used), factorRequired
		return s, err
	}, `select `+sessionColumns+`, coalesce(t.last_used_at, t.created_at),
			a.login_policy = 'second_factor' and coalesce(t.means, '') <> 'single_sign_on' and not exists (
				select 1 from second_factors f where f.account_id = t.account_id and f.user_id = t.user_id and `+IsEnrolled+`),
			`+SealedTokens.Columns("t")+`, `+SealedUsers.Columns("u", enabledUser...)+`
		from tokens t
		join accounts a on a.id = t.account_id
		join tenants n on n.id = t.tenant_id
		join users u on u.account_id = t.account_id and u.id = t.user_id
		left join connections c on c.account_id = t.account_id and c.state = 'active'
		where t.digest in (`+db.dialect.Values("bytea")+`) and t.revoked_at is null and t.expires_at > $2 and a.status = 'active' and n.frozen_at is null and u.disabled_at is null`, digests)
}

// readDigest returns the digest by which a session is looked up.
func readDigest(of *SealedRecord) ([32]byte, error) {
	digest, ok := (*of.value("digest")).([]byte)
	if !ok || len(digest) != 32 {
		return [32]byte{}, fmt.Errorf("the digest of %s %s is none", of.table.Name, of.Name())
	}
	return [32]byte(digest), nil
}

// ReadOptions is the reverse of [invoices.optionsText].
func ReadOptions(text sql.Null[string]) (options map[string]string, err error) {
	if !text.Valid {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text.V), &options); err != nil {
		return nil, fmt.Errorf("stored options of a connection: %w", err)
	}
	return options, nil
}

// LoginMeans is how a user proved who he is when the session began.
type LoginMeans string

// RecordID returns the identifier of the session's record; zero for that of an API key.
func (s Session) RecordID() ID {
	if s.Key != nil {
		return ID{}
	}
	return RecordIDOf(s.Digest[:])
}

// RecordPrefix is how many bytes of a digest the identifier of a session shows unchanged.
const RecordPrefix = 6

// RecordIDOf returns the identifier of the session with a digest: its first half, as a UUID of version 7. The secret
// has 256 random bits, so that half of its digest helps nobody to guess it.
func RecordIDOf(digest []byte) ID {
	id := ID(digest[:len(ID{})])
	id[RecordPrefix] = id[RecordPrefix]&0x0f | 0x70 // version 7
	id[8] = id[8]&0x3f | 0x80                       // variant 10
	return id
}
