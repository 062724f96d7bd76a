package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"quittance/internal/secret"
)

// Operator is a person of the owner of the service. An operator belongs to no account and sees those of all companies.
type Operator struct {
	ID    ID
	Email string
	// PasswordHash is empty until the operator has enrolled.
	PasswordHash string
	CreatedAt    time.Time
	// EnrolledAt is when the operator chose a password and connected an authenticator; nil before.
	EnrolledAt *time.Time
	// DisabledAt is nil for an operator who can log in.
	DisabledAt *time.Time
	// LinkExpiresAt is how long the enrolment link can be used; nil if there is none.
	LinkExpiresAt *time.Time
	// RecoveryCodes is how many recovery codes are left.
	RecoveryCodes int
	// TOTPStep is the last time step whose code was used.
	TOTPStep int64

	totp   []byte
	record *sealedRecord
}

// Enrolment is the link with which an operator enrols.
type Enrolment struct {
	// Digest is the digest of the secret in the link.
	Digest    [32]byte
	ExpiresAt time.Time
}

// OperatorFactors are what an operator logs in with.
type OperatorFactors struct {
	PasswordHash string
	// TOTP is the secret of the authenticator, and Step the time step of the code that has proved that it is connected.
	TOTP secret.Text
	Step int64
	// Recovery are the digests of the recovery codes.
	Recovery [][32]byte
}

// ErrCodeUsed says that the code of an authenticator or a recovery code was used before.
var ErrCodeUsed = errors.New("the code was used before")

func operatorTOTPBinding(operator ID) secret.Binding {
	return secret.Binding{Tenant: operator[:], Table: "operators", Column: "totp", Row: operator[:]}
}

func operatorAct(name string, o Operator) Act {
	return Act{Name: name, SubjectType: "operator", Subject: o.ID.String(), Details: map[string]string{"email": o.Email}}
}

//nolint:gochecknoglobals // a constant text
var operatorColumns = `o.id, o.email, o.password_hash, o.totp, o.totp_step, o.enrolment_expires_at, o.created_at, o.enrolled_at, o.disabled_at,
	(select count(*) from operator_recovery_codes r where r.operator_id = o.id and r.used_at is null), ` + sealedOperators.columns("o")

// findOperator reads an operator; rest is what follows the columns in the query. It returns [sql.ErrNoRows] if there is
// none, or the row does not act.
func (db *DB) findOperator(ctx context.Context, q querier, rest string, args ...any) (Operator, error) {
	o, err := scanOperator(q.QueryRowContext(ctx, `select `+operatorColumns+` from operators o `+rest, args...))
	return o, db.acting(ctx, err, o.record)
}

func scanOperator(row scanner) (o Operator, err error) {
	var hash sql.Null[string]
	var created int64
	var link, enrolled, disabled sql.Null[int64]
	o.record = sealedOperators.record()
	err = row.Scan(append([]any{&o.ID, &o.Email, &hash, &o.totp, &o.TOTPStep, &link, &created, &enrolled, &disabled,
		&o.RecoveryCodes}, o.record.into()...)...)
	o.PasswordHash, o.CreatedAt = hash.V, instant(created)
	o.LinkExpiresAt, o.EnrolledAt, o.DisabledAt = instantOrNil(link), instantOrNil(enrolled), instantOrNil(disabled)
	return o, err
}

// AddOperator adds an operator, who enrols with a link. The caller normalizes email. It returns [ErrExists] if there is
// an operator with the address.
func (db *DB) AddOperator(ctx context.Context, email string, link Enrolment) (Operator, error) {
	var added Operator
	err := db.write(ctx, "add operator", func(ctx context.Context, t *tx) error {
		id, err := newID(t.Now(), db.random)
		if err != nil {
			return err
		}
		inserted, err := t.insertSealed(ctx, sealedOperators.row(id),
			`insert into operators (id, email, enrolment, enrolment_expires_at, created_at) values ($1, $2, $3, $4, $5) on conflict (email) do nothing`,
			id, email, link.Digest[:], micros(link.ExpiresAt), micros(t.Now()))
		if err != nil {
			return err
		}
		if inserted == 0 {
			return ErrExists
		}
		added = Operator{ID: id, Email: email, CreatedAt: t.Now(), LinkExpiresAt: &link.ExpiresAt}
		return t.audit(operatorAct("operator.add", added))
	})
	return added, err
}

// ResetOperator removes everything that an operator logs in with, ends the operator's sessions, and replaces the
// enrolment link. It also enables a disabled operator. It returns [ErrNotFound] if there is no operator with the
// address.
func (db *DB) ResetOperator(ctx context.Context, email string, link Enrolment) (Operator, error) {
	return db.changeOperator(ctx, "reset operator", email, func(ctx context.Context, t *tx, o Operator) error {
		if _, err := t.changeSealed(ctx, sealedOperators.row(o.ID),
			`update operators set password_hash = null, totp = null, totp_step = 0, enrolled_at = null, disabled_at = null, enrolment = $2, enrolment_expires_at = $3
			where id = $1`, o.ID, link.Digest[:], micros(link.ExpiresAt)); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `delete from operator_recovery_codes where operator_id = $1`, o.ID); err != nil {
			return err
		}
		return t.audit(operatorAct("operator.reset", o))
	})
}

// DisableOperator prevents an operator from logging in, ends the operator's sessions, and removes the enrolment link.
// It returns [ErrNotFound] if there is no operator with the address.
func (db *DB) DisableOperator(ctx context.Context, email string) (Operator, error) {
	return db.changeOperator(ctx, "disable operator", email, func(ctx context.Context, t *tx, o Operator) error {
		if o.DisabledAt != nil {
			return nil
		}
		if _, err := t.changeSealed(ctx, sealedOperators.row(o.ID),
			`update operators set disabled_at = $2, enrolment = null, enrolment_expires_at = null where id = $1`,
			o.ID, micros(t.Now())); err != nil {
			return err
		}
		return t.audit(operatorAct("operator.disable", o))
	})
}

// changeOperator changes a locked operator, ends the operator's sessions, and returns the operator as changed.
func (db *DB) changeOperator(ctx context.Context, name, email string,
	change func(ctx context.Context, t *tx, o Operator) error) (Operator, error) {
	var changed Operator
	err := db.write(ctx, name, func(ctx context.Context, t *tx) error {
		o, err := db.findOperator(ctx, t, `where o.email = $1`+db.dialect.ForUpdate(), email)
		if err != nil {
			return err
		}
		if err := change(ctx, t, o); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `delete from operator_sessions where operator_id = $1`, o.ID); err != nil {
			return err
		}
		changed, err = t.operator(ctx, o.ID)
		return err
	})
	return changed, err
}

func (t *tx) operator(ctx context.Context, id ID) (Operator, error) {
	return t.db.findOperator(ctx, t, `where o.id = $1`, id)
}

// Operators returns all operators, oldest first. There are few.
func (db *DB) Operators(ctx context.Context) ([]Operator, error) {
	all, err := collect(ctx, db.reader, scanOperator,
		`select `+operatorColumns+` from operators o order by o.created_at, o.id`)
	return all, db.classify(err)
}

// OperatorByEmail returns the operator with exactly the given e-mail address.
func (db *DB) OperatorByEmail(ctx context.Context, email string) (Operator, error) {
	o, err := db.findOperator(ctx, db.reader, `where o.email = $1`, email)
	return o, db.classify(err)
}

// OperatorTOTP opens the secret of an operator's authenticator. It is zero if the operator has not enrolled.
func (db *DB) OperatorTOTP(o Operator) (secret.Text, error) {
	if o.totp == nil {
		return secret.Text{}, nil
	}
	return db.keys.OpenText(o.totp, operatorTOTPBinding(o.ID))
}

// usableEnrolment is the condition of the operator with a link that can be used at a time.
const usableEnrolment = `where o.enrolment = $1 and o.enrolment_expires_at > $2`

// EnrollingOperator returns the operator with the digest of the secret of a link. It returns [ErrNotFound] if the link
// does not exist, was used, replaced or removed, or has expired; callers do not learn which.
func (db *DB) EnrollingOperator(ctx context.Context, digest [32]byte) (Operator, error) {
	o, err := db.findOperator(ctx, db.reader, usableEnrolment, digest[:], micros(db.Now()))
	return o, db.classify(err)
}

// EnrolOperator uses up an enrolment link and stores what its operator logs in with. It returns [ErrNotFound] for a
// link that cannot be used.
func (db *DB) EnrolOperator(ctx context.Context, digest [32]byte, with OperatorFactors) (Operator, error) {
	var enrolled Operator
	err := db.write(ctx, "enrol operator", func(ctx context.Context, t *tx) error {
		o, err := db.findOperator(ctx, t, usableEnrolment+db.dialect.ForUpdate(), digest[:], micros(t.Now()))
		if err != nil {
			return err
		}
		sealed, err := db.keys.SealText(with.TOTP, operatorTOTPBinding(o.ID))
		if err != nil {
			return err
		}
		if _, err := t.changeSealed(ctx, sealedOperators.row(o.ID),
			`update operators set password_hash = $2, totp = $3, totp_step = $4, enrolled_at = $5, enrolment = null, enrolment_expires_at = null where id = $1`,
			o.ID, with.PasswordHash, sealed, with.Step, micros(t.Now())); err != nil {
			return err
		}
		for _, code := range with.Recovery {
			if _, err := t.insertSealed(ctx, sealedOperatorCodes.row(o.ID, code[:]),
				`insert into operator_recovery_codes (operator_id, digest) values ($1, $2)`, o.ID, code[:]); err != nil {
				return err
			}
		}
		if enrolled, err = t.operator(ctx, o.ID); err != nil {
			return err
		}
		return t.auditBy(o, operatorAct("operator.enrol", o))
	})
	return enrolled, err
}

// auditBy is [tx.audit] for an operator who is not logged in yet.
func (t *tx) auditBy(o Operator, act Act) error {
	actor := t.actor
	actor.Kind, actor.Name = ActorAdministrator, o.Email
	_, err := t.auditAs(actor, act)
	return err
}
