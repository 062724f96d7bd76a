package identity

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"quittance/internal/ledger/base"
)

// OperatorIdle is how long a session of an operator lasts after its last use.
const OperatorIdle = 30 * time.Minute

// operatorUse is how precisely the last use of a session is recorded, so that not every page writes.
const operatorUse = time.Minute

// OperatorProof is what an operator has proved at a login beside the password: exactly one of its fields is set.
type OperatorProof struct {
	// Step is the time step of the code of the authenticator.
	Step int64
	// Recovery is the digest of a recovery code.
	Recovery *[32]byte
}

// OperatorSession is the identity behind a valid session of an operator.
type OperatorSession struct {
	Operator  base.ID
	Email     string
	Digest    [32]byte
	ExpiresAt time.Time
	usedAt    time.Time
}

// Actor returns the author of acts with the session, for [base.WithActor].
func (s OperatorSession) Actor(source, requestID string) base.Actor {
	return base.Actor{Kind: base.ActorAdministrator, Name: s.Email, Means: base.MeansConsole, Source: source,
		RequestID: requestID}
}

// BeginOperatorSession uses up the second factor of an operator and stores the digest of a new session. o is the
// operator whose password was compared. It returns [base.ErrNotFound] if the operator is disabled or has another
// password hash now, and [ErrCodeUsed] if the factor was used before. The checks are part of the transaction, so that
// no session survives a reset and no code works twice on any replica.
func BeginOperatorSession(ctx context.Context, db *base.DB, o Operator, factor OperatorProof, digest [32]byte,
	expires time.Time) error {
	return db.Write(ctx, "begin operator session", func(ctx context.Context, t *base.Tx) error {
		present, err := findOperator(ctx, db, t, `where o.id = $1 and o.password_hash = $2 and o.disabled_at is null`+
			db.Dialect().ForUpdate(), o.ID, o.PasswordHash)
		if err != nil {
			return err
		}
		if err := useProof(ctx, t, o.ID, present.TOTPStep, factor); err != nil {
			return err
		}
		now := base.Micros(t.Now())
		if _, err := t.InsertSealed(ctx, base.SealedOperatorSessions.Row(digest[:]),
			`insert into operator_sessions (digest, operator_id, created_at, used_at, expires_at) values ($1, $2, $3, $3, $4)`,
			digest[:], o.ID, now, base.Micros(expires)); err != nil {
			return err
		}
		act := operatorAct("operator.log-in", o)
		act.Details["factor"] = "authenticator"
		if factor.Recovery != nil {
			act.Details["factor"] = "recovery code"
		}
		return auditBy(t, o, act)
	})
}

// HasOperatorRecovery reports whether an operator has a recovery code that was not used yet.
func HasOperatorRecovery(ctx context.Context, db *base.DB, o Operator, digest [32]byte) (has bool, err error) {
	err = db.Querier().QueryRowContext(ctx,
		`select exists (select 1 from operator_recovery_codes where operator_id = $1 and digest = $2 and used_at is null)`,
		o.ID, digest[:]).Scan(&has)
	return has, db.Classify(err)
}

// useProof uses up the second factor of a locked operator.
func useProof(ctx context.Context, t *base.Tx, operator base.ID, last int64, factor OperatorProof) error {
	if factor.Recovery == nil {
		if factor.Step <= last {
			return ErrCodeUsed
		}
		_, err := t.Exec(ctx, `update operators set totp_step = $2 where id = $1`, operator, factor.Step)
		return err
	}
	if err := t.CheckSealed(ctx, base.SealedOperatorCodes.Row(operator, factor.Recovery[:])); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = ErrCodeUsed
		}
		return err
	}
	used, err := t.Exec(ctx,
		`update operator_recovery_codes set used_at = $3, seal = null where operator_id = $1 and digest = $2 and used_at is null`, operator, factor.Recovery[:], base.Micros(t.Now()))
	if err == nil && used == 0 {
		return ErrCodeUsed
	}
	return err
}

// AuthenticateOperator returns the session with a digest. It returns [base.ErrNotFound] if there is none, it has ended,
// expired or not been used for [OperatorIdle], or its operator is disabled; callers do not learn which. Every call
// reads the database, so that all replicas obey at once.
func AuthenticateOperator(ctx context.Context, db *base.DB, digest [32]byte) (OperatorSession, error) {
	now := db.Now()
	s := OperatorSession{Digest: digest}
	var expires, used int64
	session, operator := base.SealedOperatorSessions.Record(), base.SealedOperators.Record()
	err := db.Querier().QueryRowContext(ctx, `select o.id, o.email, s.expires_at, s.used_at, `+
		base.SealedOperatorSessions.Columns("s")+`, `+base.SealedOperators.Columns("o")+`
		from operator_sessions s join operators o on o.id = s.operator_id
		where s.digest = $1 and s.expires_at > $2 and s.used_at > $3 and o.disabled_at is null`, digest[:], base.Micros(now), base.Micros(now.Add(-OperatorIdle))).
		Scan(append(append([]any{&s.Operator, &s.Email, &expires, &used}, session.Into()...), operator.Into()...)...)
	if err := db.Acting(ctx, err, session, operator); err != nil {
		return OperatorSession{}, db.Classify(err)
	}
	s.ExpiresAt, s.usedAt = base.Instant(expires), base.Instant(used)
	if now.Sub(s.usedAt) < operatorUse {
		return s, nil
	}
	return s, db.Write(ctx, "use operator session", func(ctx context.Context, t *base.Tx) error {
		_, err := t.Exec(ctx, `update operator_sessions set used_at = $2 where digest = $1 and used_at < $2`, digest[:],
			base.Micros(t.Now()))
		return err
	})
}

// EndOperatorSession ends a session. It does nothing if there is none with its digest.
func EndOperatorSession(ctx context.Context, db *base.DB, s OperatorSession) error {
	return db.Write(ctx, "end operator session", func(ctx context.Context, t *base.Tx) error {
		ended, err := t.Exec(ctx, `delete from operator_sessions where digest = $1`, s.Digest[:])
		if err != nil || ended == 0 {
			return err
		}
		o, err := operator(ctx, t, s.Operator)
		if err != nil {
			return err
		}
		act := operatorAct("operator.log-out", o)
		act.Details["session"] = base.RecordIDOf(s.Digest[:]).String()
		return t.Audit(act)
	})
}
