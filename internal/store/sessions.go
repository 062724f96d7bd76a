package store

import (
	"context"
	"database/sql"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"

	"quittance/internal/access"
	base "quittance/internal/db"
)

// Authenticate returns the session of a valid token. It returns [ErrNotFound] if the token is unknown, expired or revoked, its
// user disabled, its account suspended or its tenant frozen; callers do not learn which. It reads the role with every call, so that a
// changed one takes effect at once, on every replica.
func (db *DB) Authenticate(ctx context.Context, digest [32]byte) (Session, error) {
	session, err := db.actingSession(ctx, db.sessions, digest)
	if err != nil {
		return Session{}, err
	}
	if now := db.Now(); useDue(session.lastUsedAt, now) {
		db.sessionUses.note(digest, micros(now))
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

// sessionColumns are what a session has of its account a and its active connection c, and what the seals of a and the tenant n cover; see
// [DB.scanSession].
//
//nolint:gochecknoglobals // a constant text
var sessionColumns = `a.company, a.status, a.login_policy, a.profile, a.created_at, c.kind, c.format, c.options, c.credit_notes_at, ` +
	sealedAccounts.columns("a") + `, ` + sealedTenants.columns("n")

// actingSession finds a session. It returns [ErrNotFound] if one of the rows that it was made from does not act.
func (db *DB) actingSession(ctx context.Context, in *base.Lookups[[32]byte, Session], digest [32]byte) (Session, error) {
	session, err := in.Find(ctx, digest)
	if err == nil && !db.acts(ctx, session.records...) {
		err = ErrNotFound
	}
	if err != nil {
		return Session{}, err
	}
	session.records = nil
	return session, nil
}

// scanSession reads a digest, a tenant, an account, sessionColumns, and the columns that more receives.
func (db *DB) scanSession(row scanner, more ...any) (Session, error) {
	s := Session{Tenant: &Tenant{db: db}}
	var digest []byte
	var created int64
	var kind, format, options sql.Null[string]
	var confirmed sql.Null[int64]
	account, tenant := sealedAccounts.record(), sealedTenants.record()
	s.records = []*sealedRecord{account, tenant}
	columns := append(account.into(), tenant.into()...)
	err := row.Scan(append(append([]any{&digest, &s.Tenant.id, &s.Tenant.account, &s.Account.Company, &s.Account.Status, &s.Account.LoginPolicy, &s.profile, &created, &kind, &format, &options, &confirmed}, columns...), more...)...)
	if err != nil {
		return Session{}, err
	}
	s.Account.Kind, s.Account.Format, s.Account.CreditNotes = kind.V, format.V, confirmed.Valid
	if s.Account.Options, err = readOptions(options); err != nil {
		return Session{}, err
	}
	s.Digest = [32]byte(digest)
	s.Account.ID, s.Account.CreatedAt = s.Tenant.account, instant(created)
	return s, nil
}

// collectSessions returns the sessions that a query of digests finds; $2 is the time.
func (db *DB) collectSessions(ctx context.Context, scan func(scanner) (Session, error), query string, digests [][32]byte) (map[[32]byte]Session, error) {
	found, err := collect(ctx, db.reader, scan, query, rowArgs(db, digests, func(digest [32]byte) []any { return []any{digest[:]} }, micros(db.Now()))...)
	sessions := make(map[[32]byte]Session, len(found))
	for _, s := range found {
		sessions[s.Digest] = s
	}
	return sessions, err
}

// findSessions returns the sessions of those tokens that are valid.
func (db *DB) findSessions(ctx context.Context, digests [][32]byte) (map[[32]byte]Session, error) {
	return db.collectSessions(ctx, func(row scanner) (Session, error) {
		var user ID
		var change, used int64
		var factorRequired bool
		var email string
		var role access.Role
		var means LoginMeans
		token, person := sealedTokens.record(), sealedUsers.record()
		s, err := db.scanSession(row, append(append([]any{&user, &change, &email, &role, &means, &used, &factorRequired}, token.into()...), person.into()...)...)
		s.records = append(s.records, token, person)
		s.User, s.PasswordChangeRequired, s.Email, s.Role, s.Permissions = user, change != 0, email, role, role.Permissions()
		s.Means, s.lastUsedAt, s.FactorRequired = means, instant(used), factorRequired
		return s, err
	}, `select t.digest, t.tenant_id, t.account_id, `+sessionColumns+`, t.user_id, t.password_change_required, u.email, u.role, coalesce(t.means, ''), coalesce(t.last_used_at, t.created_at),
			a.login_policy = 'second_factor' and coalesce(t.means, '') <> 'single_sign_on' and not exists (
				select 1 from second_factors f where f.account_id = t.account_id and f.user_id = t.user_id and `+isEnrolled+`),
			`+sealedTokens.columns("t")+`, `+sealedUsers.columns("u")+`
		from tokens t
		join accounts a on a.id = t.account_id
		join tenants n on n.id = t.tenant_id
		join users u on u.account_id = t.account_id and u.id = t.user_id
		left join connections c on c.account_id = t.account_id and c.state = 'active'
		where t.digest in (`+db.dialect.Values("bytea")+`) and t.revoked_at is null and t.expires_at > $2 and a.status = 'active' and n.frozen_at is null and u.disabled_at is null`, digests)
}
