package store

import (
	"context"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
)

// Authenticate returns the session of a valid token. It returns [ErrNotFound] if the token is unknown, expired or revoked, its
// account is suspended or its tenant frozen; callers do not learn which.
func (db *DB) Authenticate(ctx context.Context, digest [32]byte) (Session, error) {
	session, err := db.sessions.Find(ctx, digest)
	if err != nil {
		return Session{}, err
	}
	if err := jsonv2.Unmarshal([]byte(session.profile), &session.Account.Profile); err != nil {
		return Session{}, fmt.Errorf("stored profile: %w", err)
	}
	return session, nil
}

// findSessions returns the sessions of those tokens that are valid.
func (db *DB) findSessions(ctx context.Context, digests [][32]byte) (map[[32]byte]Session, error) {
	found, err := collect(ctx, db.reader, func(row scanner) (Session, error) {
		s := Session{Tenant: &Tenant{db: db}}
		var digest []byte
		var created, change int64
		err := row.Scan(&digest, &s.Tenant.id, &s.Tenant.account, &s.User, &s.Account.Company, &s.Account.Status, &s.profile, &created, &change)
		if err != nil {
			return Session{}, err
		}
		s.Digest, s.PasswordChangeRequired = [32]byte(digest), change != 0
		s.Account.ID, s.Account.CreatedAt = s.Tenant.account, instant(created)
		return s, nil
	}, `select t.digest, t.tenant_id, t.account_id, t.user_id, a.company, a.status, a.profile, a.created_at, t.password_change_required
		from tokens t
		join accounts a on a.id = t.account_id
		join tenants n on n.id = t.tenant_id
		where t.digest in (`+db.dialect.Values("bytea")+`) and t.revoked_at is null and t.expires_at > $2 and a.status = 'active' and n.frozen_at is null`,
		rowArgs(db, digests, func(digest [32]byte) []any { return []any{digest[:]} }, micros(db.Now()))...)
	sessions := make(map[[32]byte]Session, len(found))
	for _, s := range found {
		sessions[s.Digest] = s
	}
	return sessions, err
}
