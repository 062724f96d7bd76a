package identity

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
)

// Operator is a person of the owner of the service. An operator belongs to no account and sees those of all companies.
type Operator struct {
	ID    base.ID
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
	record *base.SealedRecord
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

// OperatorTOTPBinding is where the secret of the authenticator of an operator stands.
func OperatorTOTPBinding(operator base.ID) secret.Binding {
	return secret.Binding{Tenant: operator[:], Table: "operators", Column: "totp", Row: operator[:]}
}

func operatorAct(name string, o Operator) base.Act {
	return base.Act{Name: name, SubjectType: "operator", Subject: o.ID.String(),
		Details: map[string]string{"email": o.Email}}
}

//nolint:gochecknoglobals // a constant text
var operatorColumns = `o.id, o.email, o.password_hash, o.totp, o.totp_step, o.enrolment_expires_at, o.created_at, o.enrolled_at, o.disabled_at,
	(select count(*) from operator_recovery_codes r where r.operator_id = o.id and r.used_at is null), ` + base.SealedOperators.Columns("o")

// findOperator reads an operator; rest is what follows the columns in the query. It returns [sql.ErrNoRows] if there is
// none, or the row does not act.
func findOperator(ctx context.Context, db *base.DB, q base.Querier, rest string, args ...any) (Operator, error) {
	o, err := scanOperator(q.QueryRowContext(ctx, `select `+operatorColumns+` from operators o `+rest, args...))
	return o, db.Acting(ctx, err, o.record)
}

func scanOperator(row base.Row) (o Operator, err error) {
	var hash sql.Null[string]
	var created int64
	var link, enrolled, disabled sql.Null[int64]
	o.record = base.SealedOperators.Record()
	err = row.Scan(append([]any{&o.ID, &o.Email, &hash, &o.totp, &o.TOTPStep, &link, &created, &enrolled, &disabled,
		&o.RecoveryCodes}, o.record.Into()...)...)
	o.PasswordHash, o.CreatedAt = hash.V, base.Instant(created)
	o.LinkExpiresAt, o.EnrolledAt, o.DisabledAt = base.InstantOrNil(link), base.InstantOrNil(enrolled),
		base.InstantOrNil(disabled)
	return o, err
}

// AddOperator adds an operator, who enrols with a link. The caller normalizes email. It returns [base.ErrExists] if
// there is an operator with the address.
func AddOperator(ctx context.Context, db *base.DB, email string, link Enrolment) (Operator, error) {
	var added Operator
	err := db.Write(ctx, "add operator", func(ctx context.Context, t *base.Tx) error {
		id, err := base.NewID(t.Now(), db.Random())
		if err != nil {
			return err
		}
		inserted, err := t.InsertSealed(ctx, base.SealedOperators.Row(id),
			`insert into operators (id, email, enrolment, enrolment_expires_at, created_at) values ($1, $2, $3, $4, $5) on conflict (email) do nothing`,
			id, email, link.Digest[:], base.Micros(link.ExpiresAt), base.Micros(t.Now()))
		if err != nil {
			return err
		}
		if inserted == 0 {
			return base.ErrExists
		}
		added = Operator{ID: id, Email: email, CreatedAt: t.Now(), LinkExpiresAt: &link.ExpiresAt}
		return t.Audit(operatorAct("operator.add", added))
	})
	return added, err
}

// ResetOperator removes everything that an operator logs in with, ends the operator's sessions, and replaces the
// enrolment link. It also enables a disabled operator. It returns [base.ErrNotFound] if there is no operator with the
// address.
func ResetOperator(ctx context.Context, db *base.DB, email string, link Enrolment) (Operator, error) {
	return changeOperator(ctx, db, "reset operator", email, func(ctx context.Context, t *base.Tx, o Operator) error {
		if _, err := t.ChangeSealed(ctx, base.SealedOperators.Row(o.ID),
			`update operators set password_hash = null, totp = null, totp_step = 0, enrolled_at = null, disabled_at = null, enrolment = $2, enrolment_expires_at = $3
			where id = $1`, o.ID, link.Digest[:], base.Micros(link.ExpiresAt)); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `delete from operator_recovery_codes where operator_id = $1`, o.ID); err != nil {
			return err
		}
		return t.Audit(operatorAct("operator.reset", o))
	})
}

// DisableOperator prevents an operator from logging in, ends the operator's sessions, and removes the enrolment link.
// It returns [base.ErrNotFound] if there is no operator with the address.
func DisableOperator(ctx context.Context, db *base.DB, email string) (Operator, error) {
	return changeOperator(ctx, db, "disable operator", email, func(ctx context.Context, t *base.Tx, o Operator) error {
		if o.DisabledAt != nil {
			return nil
		}
		if _, err := t.ChangeSealed(ctx, base.SealedOperators.Row(o.ID),
			`update operators set disabled_at = $2, enrolment = null, enrolment_expires_at = null where id = $1`,
			o.ID, base.Micros(t.Now())); err != nil {
			return err
		}
		return t.Audit(operatorAct("operator.disable", o))
	})
}

// changeOperator changes a locked operator, ends the operator's sessions, and returns the operator as changed.
func changeOperator(ctx context.Context, db *base.DB, name, email string,
	change func(ctx context.Context, t *base.Tx, o Operator) error) (Operator, error) {
	var changed Operator
	err := db.Write(ctx, name, func(ctx context.Context, t *base.Tx) error {
		o, err := findOperator(ctx, db, t, `where o.email = $1`+db.Dialect().ForUpdate(), email)
		if err != nil {
			return err
		}
		if err := change(ctx, t, o); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `delete from operator_sessions where operator_id = $1`, o.ID); err != nil {
			return err
		}
		changed, err = operator(ctx, t, o.ID)
		return err
	})
	return changed, err
}

func operator(ctx context.Context, t *base.Tx, id base.ID) (Operator, error) {
	return findOperator(ctx, t.DB, t, `where o.id = $1`, id)
}

// Operators returns all operators, oldest first. There are few.
func Operators(ctx context.Context, db *base.DB) ([]Operator, error) {
	all, err := base.Collect(ctx, db.Querier(), scanOperator,
		`select `+operatorColumns+` from operators o order by o.created_at, o.id`)
	return all, db.Classify(err)
}

// FindOperator returns the operator with exactly the given e-mail address.
func FindOperator(ctx context.Context, db *base.DB, email string) (Operator, error) {
	o, err := findOperator(ctx, db, db.Querier(), `where o.email = $1`, email)
	return o, db.Classify(err)
}

// OperatorTOTP opens the secret of an operator's authenticator. It is zero if the operator has not enrolled.
func OperatorTOTP(db *base.DB, o Operator) (secret.Text, error) {
	if o.totp == nil {
		return secret.Text{}, nil
	}
	return db.Sealer().OpenText(o.totp, OperatorTOTPBinding(o.ID))
}

// usableEnrolment is the condition of the operator with a link that can be used at a time.
const usableEnrolment = `where o.enrolment = $1 and o.enrolment_expires_at > $2`

// EnrollingOperator returns the operator with the digest of the secret of a link. It returns [base.ErrNotFound] if the
// link does not exist, was used, replaced or removed, or has expired; callers do not learn which.
func EnrollingOperator(ctx context.Context, db *base.DB, digest [32]byte) (Operator, error) {
	o, err := findOperator(ctx, db, db.Querier(), usableEnrolment, digest[:], base.Micros(db.Now()))
	return o, db.Classify(err)
}

// EnrolOperator uses up an enrolment link and stores what its operator logs in with. It returns [base.ErrNotFound] for
// a link that cannot be used.
func EnrolOperator(ctx context.Context, db *base.DB, digest [32]byte, with OperatorFactors) (Operator, error) {
	var enrolled Operator
	err := db.Write(ctx, "enrol operator", func(ctx context.Context, t *base.Tx) error {
		o, err := findOperator(ctx, db, t, usableEnrolment+db.Dialect().ForUpdate(), digest[:], base.Micros(t.Now()))
		if err != nil {
			return err
		}
		sealed, err := db.Sealer().SealText(with.TOTP, OperatorTOTPBinding(o.ID))
		if err != nil {
			return err
		}
		if _, err := t.ChangeSealed(ctx, base.SealedOperators.Row(o.ID),
			`update operators set password_hash = $2, totp = $3, totp_step = $4, enrolled_at = $5, enrolment = null, enrolment_expires_at = null where id = $1`,
			o.ID, with.PasswordHash, sealed, with.Step, base.Micros(t.Now())); err != nil {
			return err
		}
		for _, code := range with.Recovery {
			if _, err := t.InsertSealed(ctx, base.SealedOperatorCodes.Row(o.ID, code[:]),
				`insert into operator_recovery_codes (operator_id, digest) values ($1, $2)`, o.ID, code[:]); err != nil {
				return err
			}
		}
		if enrolled, err = operator(ctx, t, o.ID); err != nil {
			return err
		}
		return auditBy(t, o, operatorAct("operator.enrol", o))
	})
	return enrolled, err
}

// auditBy is [base.Tx.Audit] for an operator who is not logged in yet.
func auditBy(t *base.Tx, o Operator, act base.Act) error {
	actor := t.Actor
	actor.Kind, actor.Name = base.ActorAdministrator, o.Email
	_, err := t.AuditAs(actor, act)
	return err
}
