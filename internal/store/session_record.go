package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quittance/internal/access"
)

// SessionClient is what a session was begun for.
type SessionClient string

// The clients.
const (
	ClientAPI     SessionClient = "api"
	ClientConsole SessionClient = "console"
)

// LoginMeans is how a user proved who he is when the session began.
type LoginMeans string

// The means of a login.
const (
	LoginByPassword     LoginMeans = "password"
	LoginBySingleSignOn LoginMeans = "single_sign_on"
	LoginByLink         LoginMeans = "link"
)

// maxUserAgent is the length in bytes of the stored part of a User-Agent.
const maxUserAgent = 256

// boundedUserAgent returns the beginning of a User-Agent, without what is not printable.
func boundedUserAgent(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text[:min(len(text), 4*maxUserAgent)])
	if len(text) <= maxUserAgent {
		return text
	}
	cut := maxUserAgent
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}

// NewToken holds the values of a new token of a user.
type NewToken struct {
	Digest    [32]byte
	ExpiresAt time.Time
	Client    SessionClient
	Means     LoginMeans
	// UserAgent is the header of the request, of any length.
	UserAgent string
	// Proof is that of the second factor of a user who has one, after a login with a password.
	Proof *FactorProof
	// Pending is the digest of the pending login that this completes; nil for none.
	Pending *[32]byte

	factor string // the name of the second factor that was used, for the audit log
}

// needsFactor reports whether a login by these means needs the second factor of a user who has one. The other means
// prove more than a password does.
func (m LoginMeans) needsFactor() bool { return m != LoginBySingleSignOn }

// SessionRecord is what people recognize a session by.
type SessionRecord struct {
	// ID is made from the digest of the session's secret, so that sessions of earlier releases have one. It is no
	// credential.
	ID   ID
	User ID
	// Client, Means, Source and UserAgent are "" for a session that an earlier release began.
	Client SessionClient
	Means  LoginMeans
	// Source is the network address that the user logged in from.
	Source    string
	UserAgent string
	CreatedAt time.Time
	ExpiresAt time.Time
	// LastUsedAt is when the session was used last, written at most once a minute; nil for one that was used for less than
	// a minute.
	LastUsedAt *time.Time
	EndedAt    *time.Time
}

// storedSession is the row of a session.
type storedSession struct {
	SessionRecord
	digest  []byte
	account ID
}

// RecordID returns the identifier of the session's record; zero for that of an API key.
func (s Session) RecordID() ID {
	if s.Key != nil {
		return ID{}
	}
	return recordID(s.Digest[:])
}

// recordPrefix is how many bytes of a digest the identifier of a session shows unchanged.
const recordPrefix = 6

// recordID returns the identifier of the session with a digest: its first half, as a UUID of version 7. The secret has
// 256 random bits, so that half of its digest helps nobody to guess it.
func recordID(digest []byte) ID {
	id := ID(digest[:len(ID{})])
	id[recordPrefix] = id[recordPrefix]&0x0f | 0x70 // version 7
	id[8] = id[8]&0x3f | 0x80                       // variant 10
	return id
}

const sessionRecordColumns = `digest, account_id, user_id, coalesce(client, ''), coalesce(means, ''), coalesce(source, ''), coalesce(user_agent, ''), created_at, expires_at, last_used_at, revoked_at`

func scanSession(row scanner) (storedSession, error) {
	var r storedSession
	var created, expires int64
	var used, ended sql.Null[int64]
	if err := row.Scan(&r.digest, &r.account, &r.User, &r.Client, &r.Means, &r.Source, &r.UserAgent, &created, &expires,
		&used, &ended); err != nil {
		return storedSession{}, err
	}
	r.ID = recordID(r.digest)
	r.CreatedAt, r.ExpiresAt, r.LastUsedAt, r.EndedAt = instant(created), instant(expires), instantOrNil(used),
		instantOrNil(ended)
	return r, nil
}

// SessionRecords returns one page of a user's open sessions, newest first, and their total number. Pages are counted
// from 1. It returns [ErrNotFound] if the company has no such user.
func (t *Tenant) SessionRecords(ctx context.Context, user ID, page, perPage int) ([]SessionRecord, int, error) {
	var records []SessionRecord
	var total int
	err := t.list(ctx, func(ctx context.Context, q querier) (err error) {
		if _, err := scanUser(q.QueryRowContext(ctx, `select `+userColumns+` from users where account_id = $1 and id = $2`,
			t.account, user)); err != nil {
			return err
		}
		now := micros(t.db.Now())
		if err := q.QueryRowContext(ctx,
			`select count(*) from tokens where account_id = $1 and user_id = $2 and revoked_at is null and expires_at > $3`,
			t.account, user, now).Scan(&total); err != nil || page-1 > total/max(1, perPage) {
			return err
		}
		found, err := collect(ctx, q, scanSession, `select `+sessionRecordColumns+` from tokens
			where account_id = $1 and user_id = $2 and revoked_at is null and expires_at > $3 order by created_at desc, digest limit $4 offset $5`,
			t.account, user, now, perPage, (page-1)*perPage)
		for _, one := range found {
			records = append(records, one.SessionRecord)
		}
		return err
	})
	return records, total, err
}

// EndSession ends a session at once, on every replica. Its user may end it, and a user who may manage the users of the
// company. To everybody else it is unknown: [ErrNotFound]. It does nothing if the session has ended already.
func (t *Tenant) EndSession(ctx context.Context, by Session, id ID) (SessionRecord, error) {
	var record storedSession
	err := t.write(ctx, "end session", func(ctx context.Context, tx *tx) (err error) {
		if _, err := tx.account(ctx, t.account); err != nil {
			return err
		}
		if record, err = t.sessionRecord(ctx, tx, id); err != nil {
			return err
		}
		if record.User != by.User {
			switch err := tx.checkManager(ctx, t.account, by.User); {
			case errors.Is(err, ErrForbidden):
				return ErrNotFound
			case err != nil:
				return err
			}
		}
		now := tx.Now()
		if record.EndedAt != nil || !record.ExpiresAt.After(now) {
			return nil
		}
		record.EndedAt = &now
		if _, err := tx.Exec(ctx, `update tokens set revoked_at = $2, seal = null where digest = $1`, record.digest,
			micros(now)); err != nil {
			return err
		}
		user, err := tx.readUser(ctx, t.account, record.User)
		if err != nil {
			return err
		}
		act := userAct("session.revoke", t.account, user.ID, user.Email)
		act.Details["session"] = id.String()
		return tx.audit(act)
	})
	return record.SessionRecord, err
}

// SessionRecord returns a session that the user of a session may end, which can have ended already; otherwise
// [ErrNotFound].
func (t *Tenant) SessionRecord(ctx context.Context, by Session, id ID) (SessionRecord, error) {
	return readValue(t, func(q querier) (SessionRecord, error) {
		record, err := t.sessionRecord(ctx, q, id)
		if err == nil && record.User != by.User && !by.Permissions.Has(access.ManageUsers) {
			err = ErrNotFound
		}
		return record.SessionRecord, err
	})
}

// sessionRecord returns the session of the company with an identifier. Its digest begins with the unchanged part of the
// identifier.
func (t *Tenant) sessionRecord(ctx context.Context, q querier, id ID) (storedSession, error) {
	prefix := id[:recordPrefix]
	last := append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, len(Session{}.Digest)-recordPrefix)...)
	records, err := collect(ctx, q, scanSession,
		`select `+sessionRecordColumns+` from tokens where digest >= $1 and digest <= $2`, prefix, last)
	if err != nil {
		return storedSession{}, err
	}
	n := slices.IndexFunc(records, func(r storedSession) bool { return r.account == t.account && r.ID == id })
	if n < 0 {
		return storedSession{}, ErrNotFound
	}
	return records[n], nil
}

// EndOtherSessions ends all sessions of the user of a session but this one, and returns how many there were.
func (t *Tenant) EndOtherSessions(ctx context.Context, by Session) (int, error) {
	var ended int64
	err := t.write(ctx, "end other sessions", func(ctx context.Context, tx *tx) (err error) {
		if _, err := tx.account(ctx, t.account); err != nil {
			return err
		}
		now := micros(tx.Now())
		if ended, err = tx.Exec(ctx, `update tokens set revoked_at = $3, seal = null
			where account_id = $1 and user_id = $2 and revoked_at is null and digest <> $4 and expires_at > $3`, t.account, by.User, now, by.Digest[:]); err != nil || ended == 0 {
			return err
		}
		return tx.audit(userAct("session.revoke-others", t.account, by.User, by.Email))
	})
	return int(ended), err
}
