package identity

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
)

// Invitation allows a person to become a user of an account, once and until it expires. It ends when it is used,
// revoked, or replaced by another one for the same e-mail address; then its row is gone, and the audit log says what
// happened.
type Invitation struct {
	Account base.ID
	ID      base.ID
	Email   string
	Role    access.Role
	// InvitedBy is the user who made the invitation; nil for an administrator.
	InvitedBy *base.ID
	CreatedAt time.Time
	ExpiresAt time.Time
	// Mail is what became of the mail with its link; zero if none was caused. Only [Invite] and
	// [Invitations] set it.
	Mail InvitationMail
}

// InvitationMail is what became of the mail with the link of an invitation.
type InvitationMail struct {
	// State is "" if no mail was caused.
	State MailState
	// Reason is that of [MailResult], or [MailLimited].
	Reason string
}

// MailLimited says that no mail was caused because the company has caused as many as it may.
const MailLimited = "limited"

// NewInvitation holds the values of a new invitation. The caller normalizes Email.
type NewInvitation struct {
	Email string
	Role  access.Role
	// Digest is the digest of the secret in the link that whoever invites sees.
	Digest    [32]byte
	ExpiresAt time.Time
	// Secret is that of the link in the mail, which nobody else sees; zero for no mail. MailDigest is its digest. Language
	// is that of the mail; "" for that which the inviting user has chosen.
	Secret     secret.Text
	MailDigest [32]byte
	Language   string
}

// MaxUsers is how many users and pending invitations an account may have together.
const MaxUsers = 500

// keepExpired is how long an expired invitation stays in the list at least, so that people see what became of it.
const keepExpired = 7 * 24 * time.Hour

// Invite stores an invitation and revokes an earlier one for the same e-mail address. by is the session of the user who
// invites; nil for an administrator. It returns [base.ErrExists] if the account has a user with the address,
// [base.ErrLimit] if it has [MaxUsers] users and invitations, and [base.ErrForbidden] if that user may not manage users
// any more. A user of another account with the address makes no difference, so that a company does not learn who uses
// the service; see [Join].
func Invite(ctx context.Context, t *base.Tenant, by *base.Session, add NewInvitation) (Invitation, error) {
	var made Invitation
	err := t.Write(ctx, "invite", func(ctx context.Context, tx *base.Tx) error {
		if _, err := tx.LockAccount(ctx, t.Account()); err != nil {
			return err
		}
		var inviter *base.ID
		if by != nil {
			inviter = &by.User
			if err := checkManager(ctx, tx, t.Account(), by.User); err != nil {
				return err
			}
		}
		if err := checkInvitable(ctx, tx, t.Account(), add.Email); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from invitations where account_id = $1 and expires_at < $2`, t.Account(),
			base.Micros(tx.Now().Add(-keepExpired))); err != nil {
			return err
		}
		id, err := base.NewID(tx.Now(), t.DB().Random())
		if err != nil {
			return err
		}
		if err := endInvitationMails(ctx, tx, t.Account(), add.Email); err != nil {
			return err
		}
		made = Invitation{Account: t.Account(), ID: id, Email: add.Email, Role: add.Role, InvitedBy: inviter,
			CreatedAt: tx.Now(), ExpiresAt: add.ExpiresAt}
		var mailed []byte
		if !add.Secret.IsZero() {
			mailed = add.MailDigest[:]
		}
		if _, err := tx.Exec(ctx, `delete from invitations where account_id = $1 and email = $2`, t.Account(),
			add.Email); err != nil {
			return err
		}
		if _, err := tx.InsertSealed(ctx, base.SealedInvitations.Row(t.Account(), id),
			`insert into invitations (account_id, id, email, role, digest, invited_by, created_at, expires_at, mail_digest, mail_id) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $2)`,
			t.Account(), id, add.Email, add.Role, add.Digest[:], inviter, base.Micros(made.CreatedAt),
			base.Micros(made.ExpiresAt),
			mailed); err != nil {
			return err
		}
		if made.Mail, err = mailInvitation(ctx, tx, made, add); err != nil {
			return err
		}
		return tx.Audit(invitationAct("user.invite", made))
	})
	return made, err
}

// endInvitationMails ends the mail of the invitation of an address, which is about to be replaced.
func endInvitationMails(ctx context.Context, t *base.Tx, account base.ID, email string) error {
	replaced, err := base.Collect(ctx, t, base.ScanValue[base.ID], `select id from invitations where account_id = $1 and email = $2`,
		account, email)
	if err != nil {
		return err
	}
	for _, id := range replaced {
		if err := endMails(ctx, t, account, id); err != nil {
			return err
		}
	}
	return nil
}

// mayMailStrangers reports whether a company may cause another mail to an address that nobody has proved there; see
// [MaxInvitationMails].
func mayMailStrangers(ctx context.Context, t *base.Tx, account base.ID) (bool, error) {
	// Identifiers begin with the time, so the ones of the last hour are a range of the primary key.
	since, err := base.NewID(t.Now().Add(-time.Hour), zeros{})
	if err != nil {
		return false, err
	}
	var recent int64
	err = t.QueryRowContext(ctx,
		`select count(*) from mails where account_id = $1 and id > $2 and kind in ($3, $4) and created_at > $5`,
		account, since, MailInvitation, MailAddressProof, base.Micros(t.Now().Add(-time.Hour))).Scan(&recent)
	return recent < MaxInvitationMails, err
}

// mailInvitation causes the mail of a new invitation of a locked account, if the installation sends mails and the
// company may cause another one.
func mailInvitation(ctx context.Context, t *base.Tx, made Invitation, add NewInvitation) (InvitationMail, error) {
	if sends, err := sendsMail(ctx, t); err != nil || !sends || add.Secret.IsZero() {
		return InvitationMail{}, err
	}
	if may, err := mayMailStrangers(ctx, t, made.Account); err != nil || !may {
		return InvitationMail{State: MailFailed, Reason: MailLimited}, err
	}
	if add.Language == "" && made.InvitedBy != nil {
		language, err := mailLanguage(ctx, t, made.Account, *made.InvitedBy)
		if err != nil {
			return InvitationMail{}, err
		}
		add.Language = language
	}
	state, err := enqueueMail(ctx, t, NewMail{Kind: MailInvitation, Account: made.Account, To: made.Email,
		Subject: made.ID, Language: add.Language, Secret: add.Secret, ExpiresAt: made.ExpiresAt})
	if state == MailFailed {
		return InvitationMail{State: state, Reason: MailLimited}, err
	}
	return InvitationMail{State: state}, err
}

// zeros reads zero bytes: with it, base.NewID returns the lowest identifier of a millisecond.
type zeros struct{}

// Read implements [io.Reader].
func (zeros) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}

// checkInvitable returns the reason why an e-mail address cannot be invited to a locked account, if there is one.
func checkInvitable(ctx context.Context, t *base.Tx, account base.ID, email string) error {
	var known, people int64
	if err := t.QueryRowContext(ctx,
		`select count(case when email = $2 then 1 end), count(*) from users where account_id = $1`, account,
		email).Scan(&known, &people); err != nil {
		return err
	}
	if known > 0 {
		return base.ErrExists
	}
	var others int64
	if err := t.QueryRowContext(ctx, `select count(*) from invitations where account_id = $1 and email <> $2`, account,
		email).Scan(&others); err != nil {
		return err
	}
	if people+others >= MaxUsers {
		return &base.QuotaError{Quota: base.QuotaUsers, Limit: MaxUsers}
	}
	return nil
}

func invitationAct(name string, i Invitation) base.Act {
	return base.Act{Name: name, Account: i.Account, SubjectType: "invitation", Subject: i.ID.String(),
		Details: map[string]string{"email": i.Email, "role": string(i.Role)}}
}

const invitationColumns = `account_id, id, email, role, invited_by, created_at, expires_at`

func scanInvitation(row base.Row) (i Invitation, err error) {
	var by []byte
	var created, expires int64
	if err := row.Scan(&i.Account, &i.ID, &i.Email, &i.Role, &by, &created, &expires); err != nil {
		return Invitation{}, err
	}
	i.CreatedAt, i.ExpiresAt = base.Instant(created), base.Instant(expires)
	if by != nil {
		i.InvitedBy = new(base.ID)
		err = i.InvitedBy.Scan(by)
	}
	return i, err
}

// Invitations returns the invitations of the company that were not used yet, newest first. Those that have expired stay
// in the list for a week at least.
func Invitations(ctx context.Context, t *base.Tenant) ([]Invitation, error) {
	return base.ReadValue(t, func(q base.Querier) ([]Invitation, error) {
		found, err := base.Collect(ctx, q, scanInvitation, `select `+invitationColumns+
			` from invitations where account_id = $1 order by created_at desc, id desc`, t.Account())
		if err != nil {
			return nil, err
		}
		mails := map[base.ID]InvitationMail{}
		_, err = base.Collect(ctx, q, func(row base.Row) (struct{}, error) {
			var id base.ID
			var mail InvitationMail
			err := row.Scan(&id, &mail.State, &mail.Reason)
			mails[id] = mail
			return struct{}{}, err
		},
			`select m.subject_id, m.state, m.reason from invitations i join mails m on m.account_id = i.account_id and m.subject_id = i.id where i.account_id = $1`, t.Account())
		for n := range found {
			found[n].Mail = mails[found[n].ID]
		}
		return found, err
	})
}

// FindInvitation returns one invitation of the company.
func FindInvitation(ctx context.Context, t *base.Tenant, id base.ID) (Invitation, error) {
	return base.ReadValue(t, func(q base.Querier) (Invitation, error) {
		return scanInvitation(q.QueryRowContext(ctx,
			`select `+invitationColumns+` from invitations where account_id = $1 and id = $2`, t.Account(), id))
	})
}

// RevokeInvitation ends an invitation on behalf of the user of a session, and returns it. It returns [base.ErrNotFound]
// if the company has no such invitation, and [base.ErrForbidden] if that user may not manage users any more.
func RevokeInvitation(ctx context.Context, t *base.Tenant, by base.Session, id base.ID) (Invitation, error) {
	var revoked Invitation
	err := t.Write(ctx, "revoke invitation", func(ctx context.Context, tx *base.Tx) error {
		if _, err := tx.LockAccount(ctx, t.Account()); err != nil {
			return err
		}
		var err error
		if revoked, err = scanInvitation(tx.QueryRowContext(ctx, `select `+invitationColumns+
			` from invitations where account_id = $1 and id = $2`, t.Account(), id)); err != nil {
			return err
		}
		if err := checkManager(ctx, tx, t.Account(), by.User); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from invitations where account_id = $1 and id = $2`, t.Account(), id); err != nil {
			return err
		}
		if err := endMails(ctx, tx, t.Account(), id); err != nil {
			return err
		}
		return tx.Audit(invitationAct("invitation.revoke", revoked))
	})
	return revoked, err
}

// revokeInvitationsBy ends the invitations that a user of a locked account has made.
func revokeInvitationsBy(ctx context.Context, t *base.Tx, user base.User) error {
	ended, err := base.Collect(ctx, t, scanInvitation,
		`delete from invitations where account_id = $1 and invited_by = $2 returning `+invitationColumns, user.Account,
		user.ID)
	if err != nil {
		return err
	}
	for _, i := range ended {
		if err := endMails(ctx, t, i.Account, i.ID); err != nil {
			return err
		}
		if err := t.Audit(invitationAct("invitation.revoke", i)); err != nil {
			return err
		}
	}
	return nil
}

// invitationWith is the condition that the row i of invitations has the link with the digest $1: the one that was
// shown, or the one that was mailed for this invitation.
const invitationWith = `(i.digest = $1 or i.mail_digest = $1 and i.mail_id = i.id)`

// usableInvitation returns the invitation with a digest that a person can use at a time, in microseconds, and the name
// of its company: it has not expired, and its account is active. mailed says that the link is the one that was mailed.
func usableInvitation(ctx context.Context, db *base.DB, q base.Querier, digest [32]byte,
	now int64) (i Invitation, company string, mailed bool, err error) {
	record, account := base.SealedInvitations.Record(), base.SealedAccounts.Record()
	i, err = scanInvitation(scanFunc(func(into ...any) error {
		return q.QueryRowContext(ctx, usableInvitations, digest[:],
			now).Scan(append(append(append(into, &company, &mailed), record.Into()...), account.Into()...)...)
	}))
	return i, company, mailed, db.Acting(ctx, err, record, account)
}

//nolint:gochecknoglobals // a constant text
var usableInvitations = `select i.account_id, i.id, i.email, i.role, i.invited_by, i.created_at, i.expires_at, a.company, i.digest <> $1, ` +
	base.SealedInvitations.Columns("i") + `, ` + base.SealedAccounts.Columns("a") + `
	from invitations i join accounts a on a.id = i.account_id where ` + invitationWith + ` and i.expires_at > $2 and a.status = 'active'`

// UsableInvitation is an invitation that a person can use.
type UsableInvitation struct {
	Invitation
	Company string
	// Ends are the names of the companies in which the login with the address ends: whoever has the mailed link proves the
	// address by joining.
	Ends []string
}

// FindUsableInvitation returns the invitation with the digest of a secret. It returns [base.ErrNotFound] if there is
// none, it has ended or expired, or its account is suspended; callers do not learn which. For the mailed link it
// returns [ErrProvedElsewhere] as [Join] does.
func FindUsableInvitation(ctx context.Context, db *base.DB, digest [32]byte) (UsableInvitation, error) {
	i, company, mailed, err := usableInvitation(ctx, db, db.Querier(), digest, base.Micros(db.Now()))
	usable := UsableInvitation{Invitation: i, Company: company}
	if err == nil && mailed {
		usable.Ends, err = endingLogins(ctx, db.Querier(), i.Account, i.Email)
	}
	return usable, db.Classify(err)
}

// scanFunc is a Row made of a function.
type scanFunc func(into ...any) error

// Scan calls the function.
func (f scanFunc) Scan(into ...any) error { return f(into...) }

// Join uses up an invitation and adds its person to the account as a user with the invited address and role. user has
// the name and the password hash. Who has the mailed link has proved the address; anybody else gets a mail with which
// to prove it, whose link has the secret of proof. It returns [base.ErrNotFound] for an invitation that cannot be used,
// and for the mailed link [ErrProvedElsewhere] if a user of another account has proved the address: a proved address
// logs in to one account.
func Join(ctx context.Context, db *base.DB, digest [32]byte, user NewUser, proof NewProof) (base.User, error) {
	var joined base.User
	err := db.Write(ctx, "join", func(ctx context.Context, t *base.Tx) error {
		var account base.ID
		var email string
		if err := t.QueryRowContext(ctx, `select account_id, email from invitations i where `+invitationWith,
			digest[:]).Scan(&account, &email); err != nil {
			return err
		}
		if err := lockAddress(ctx, t, account, email); err != nil { // first, as by those who revoke invitations
			return err
		}
		i, _, mailed, err := usableInvitation(ctx, db, t, digest, base.Micros(t.Now()))
		if err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `delete from invitations where account_id = $1 and id = $2`, i.Account, i.ID); err != nil {
			return err
		}
		if err := endMails(ctx, t, i.Account, i.ID); err != nil {
			return err
		}
		user.Email, user.Role, user.PasswordChangeRequired, user.Proved = i.Email, i.Role, false, mailed
		id, err := insertUser(ctx, t, account, user)
		if err != nil {
			return err
		}
		act := roleAct("user.join", account, id, user.Email, user.Role)
		act.Details["invitation"] = i.ID.String()
		actor := t.Actor
		actor.Kind, actor.Name = base.ActorUser, user.Email // who joins was nobody before
		if _, err := t.AuditAs(actor, act); err != nil {
			return err
		}
		if joined, err = readUser(ctx, t, account, id); err != nil || mailed || proof.Secret.IsZero() {
			return err
		}
		_, err = mailProof(ctx, t, joined, proof)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = base.ErrNotFound
	}
	return joined, addressError(db, err)
}
