package identity

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

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
)

// SessionClient is what a session was begun for.
type SessionClient string

// The clients.
const (
	ClientAPI     SessionClient = "api"
	ClientConsole SessionClient = "console"
)

// The means of a login.
const (
	LoginByPassword     base.LoginMeans = "password"
	LoginBySingleSignOn base.LoginMeans = "single_sign_on"
	LoginByLink         base.LoginMeans = "link"
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
	Means     base.LoginMeans
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
func needsFactor(m base.LoginMeans) bool { return m != LoginBySingleSignOn }

// SessionRecord is what people recognize a session by.
type SessionRecord struct {
	// ID is made from the digest of the session's secret, so that sessions of earlier releases have one. It is no
	// credential.
	ID   base.ID
	User base.ID
	// Client, Means, Source and UserAgent are "" for a session that an earlier release began.
	Client SessionClient
	Means  base.LoginMeans
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
	account base.ID
}

const sessionRecordColumns = `digest, account_id, user_id, coalesce(client, ''), coalesce(means, ''), coalesce(source, ''), coalesce(user_agent, ''), created_at, expires_at, last_used_at, revoked_at`

func scanSession(row base.Row) (storedSession, error) {
	var r storedSession
	var created, expires int64
	var used, ended sql.Null[int64]
	if err := row.Scan(&r.digest, &r.account, &r.User, &r.Client, &r.Means, &r.Source, &r.UserAgent, &created, &expires,
		&used, &ended); err != nil {
		return storedSession{}, err
	}
	r.ID = base.RecordIDOf(r.digest)
	r.CreatedAt, r.ExpiresAt, r.LastUsedAt, r.EndedAt = base.Instant(created), base.Instant(expires),
		base.InstantOrNil(used), base.InstantOrNil(ended)
	return r, nil
}

// SessionRecords returns one page of a user's open sessions, newest first, and their total number. Pages are counted
// from 1. It returns [base.ErrNotFound] if the company has no such user.
func SessionRecords(ctx context.Context, t *base.Tenant, user base.ID, page,
	perPage int) ([]SessionRecord, int, error) {
	var records []SessionRecord
	var total int
	err := t.List(ctx, func(ctx context.Context, q base.Querier) (err error) {
		if _, err := base.ScanUser(q.QueryRowContext(ctx, `select `+base.UserColumns+` from users where account_id = $1 and id = $2`,
			t.Account(), user)); err != nil {
			return err
		}
		now := base.Micros(t.DB().Now())
		if err := q.QueryRowContext(ctx,
			`select count(*) from tokens where account_id = $1 and user_id = $2 and revoked_at is null and expires_at > $3`,
			t.Account(), user, now).Scan(&total); err != nil || page-1 > total/max(1, perPage) {
			return err
		}
		found, err := base.Collect(ctx, q, scanSession, `select `+sessionRecordColumns+` from tokens
			where account_id = $1 and user_id = $2 and revoked_at is null and expires_at > $3 order by created_at desc, digest limit $4 offset $5`,
			t.Account(), user, now, perPage, (page-1)*perPage)
		for _, one := range found {
			records = append(records, one.SessionRecord)
		}
		return err
	})
	return records, total, err
}

// EndSession ends a session at once, on every replica. Its user may end it, and a user who may manage the users of the
// company. To everybody else it is unknown: [base.ErrNotFound]. It does nothing if the session has ended already.
func EndSession(ctx context.Context, t *base.Tenant, by base.Session, id base.ID) (SessionRecord, error) {
	var record storedSession
	err := t.Write(ctx, "end session", func(ctx context.Context, tx *base.Tx) (err error) {
		if _, err := tx.LockAccount(ctx, t.Account()); err != nil {
			return err
		}
		if record, err = sessionRecord(ctx, t, tx, id); err != nil {
			return err
		}
		if record.User != by.User {
			switch err := checkManager(ctx, tx, t.Account(), by.User); {
			case errors.Is(err, base.ErrForbidden):
				return base.ErrNotFound
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
			base.Micros(now)); err != nil {
			return err
		}
		user, err := readUser(ctx, tx, t.Account(), record.User)
		if err != nil {
			return err
		}
		act := base.UserAct("session.revoke", t.Account(), user.ID, user.Email)
		act.Details["session"] = id.String()
		return tx.Audit(act)
	})
	return record.SessionRecord, err
}

// FindSessionRecord returns a session that the user of a session may end, which can have ended already; otherwise
// [base.ErrNotFound].
func FindSessionRecord(ctx context.Context, t *base.Tenant, by base.Session, id base.ID) (SessionRecord, error) {
	return base.ReadValue(t, func(q base.Querier) (SessionRecord, error) {
		record, err := sessionRecord(ctx, t, q, id)
		if err == nil && record.User != by.User && !by.Permissions.Has(access.ManageUsers) {
			err = base.ErrNotFound
		}
		return record.SessionRecord, err
	})
}

// sessionRecord returns the session of the company with an identifier. Its digest begins with the unchanged part of the
// identifier.
func sessionRecord(ctx context.Context, t *base.Tenant, q base.Querier, id base.ID) (storedSession, error) {
	prefix := id[:base.RecordPrefix]
	last := append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, len(base.Session{}.Digest)-base.RecordPrefix)...)
	records, err := base.Collect(ctx, q, scanSession,
		`select `+sessionRecordColumns+` from tokens where digest >= $1 and digest <= $2`, prefix, last)
	if err != nil {
		return storedSession{}, err
	}
	n := slices.IndexFunc(records, func(r storedSession) bool { return r.account == t.Account() && r.ID == id })
	if n < 0 {
		return storedSession{}, base.ErrNotFound
	}
	return records[n], nil
}

// EndOtherSessions ends all sessions of the user of a session but this one, and returns how many there were.
func EndOtherSessions(ctx context.Context, t *base.Tenant, by base.Session) (int, error) {
	var ended int64
	err := t.Write(ctx, "end other sessions", func(ctx context.Context, tx *base.Tx) (err error) {
		if _, err := tx.LockAccount(ctx, t.Account()); err != nil {
			return err
		}
		now := base.Micros(tx.Now())
		if ended, err = tx.Exec(ctx, `update tokens set revoked_at = $3, seal = null
			where account_id = $1 and user_id = $2 and revoked_at is null and digest <> $4 and expires_at > $3`, t.Account(), by.User, now, by.Digest[:]); err != nil || ended == 0 {
			return err
		}
		return tx.Audit(base.UserAct("session.revoke-others", t.Account(), by.User, by.Email))
	})
	return int(ended), err
}
