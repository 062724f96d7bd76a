package identity

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
)

// MailKind is what a mail is about.
type MailKind string

// The kinds of mails. Those that begin with "notice" are [NoticeKinds].
const (
	// MailInvitation has the link of an invitation.
	MailInvitation MailKind = "invitation"
	// MailPasswordReset has the link with which a user sets a new password.
	MailPasswordReset MailKind = "password_reset"
	// MailPasswordChanged tells a user that the password was changed.
	MailPasswordChanged MailKind = "password_changed"
	// MailWrongCodes tells a user that so many wrong codes of the second factor were given that further ones are refused
	// for a while.
	MailWrongCodes MailKind = "wrong_codes"
	// MailFactorAdded tells a user that the first second factor was set up.
	MailFactorAdded MailKind = "factor_added"
	// MailAddressProof has the link with which a user proves to have the address.
	MailAddressProof MailKind = "address_proof"
	// MailAddressChanged tells the address that a user had proved that the user has another one now.
	MailAddressChanged MailKind = "address_changed"
	// NoticeRejection tells owners that invoices or credit notes were rejected.
	NoticeRejection MailKind = "notice_rejection"
	// NoticeDeactivated tells owners that the service has deactivated webhook subscriptions.
	NoticeDeactivated MailKind = "notice_deactivated"
	// NoticeFailing tells owners that webhook deliveries keep failing.
	NoticeFailing MailKind = "notice_failing"
)

// MailState says what became of a mail.
type MailState string

// The states of mails. All but MailPending are final.
const (
	// MailPending is a mail that was not sent yet.
	MailPending MailState = "pending"
	// MailSent is a mail that the relay has accepted. It may be sent again if the process ended before this was recorded.
	MailSent MailState = "sent"
	// MailFailed is a mail that was given up.
	MailFailed MailState = "failed"
	// MailEnded is a mail that is not needed any more, because what it is about has ended or its recipient gets no mails.
	MailEnded MailState = "ended"
)

const (
	// MailTTL is how long the sending of a mail is tried at most.
	MailTTL = 24 * time.Hour
	// MaxInvitationMails is how many mails of invitations, and mails that prove addresses, a company may cause in an hour,
	// so that nobody uses the service to send mails to strangers.
	MaxInvitationMails = 50
	// MaxMailsTo is how many mails of a kind one company may cause to one address in a window, which is 24 hours for most
	// kinds, so that nobody makes the installation fill a mailbox.
	MaxMailsTo = 5
	// mailingCompanies is how many times that number all companies together may cause, so that one of them cannot keep the
	// mails of another from an address.
	mailingCompanies = 3
	// keepMails is how long the row of a mail stays after its end, without its secret.
	keepMails = 7 * 24 * time.Hour
)

// The reasons why a mail has ended without being sent; the reasons of failures come from the caller of
// [MailLease.Record].
const (
	// MailExpired says that the time in which the mail could be sent is over.
	MailExpired = "expired"
	// MailReplaced says that what the mail is about has ended.
	MailReplaced = "replaced"
	// MailInactive says that the company is suspended or the user disabled.
	MailInactive = "inactive"
	// MailChanged says that the row was changed by other means than this program, so that its secret does not open.
	MailChanged = "changed"
	// MailRestored says that the database was restored from a backup that was made before the mail was sent.
	MailRestored = "restored"
)

// settingMail is the setting that says whether the installation sends mails.
const settingMail = "mail"

// NewMail is a mail that a transaction causes.
type NewMail struct {
	Kind    MailKind
	Account base.ID
	// To is the address. User is the user who has it; nil for somebody who is no user yet, or has another address now. A
	// disabled user gets no mails, and one who has not proved the address only those that prove it.
	To   string
	User *base.ID
	// Replaces ends earlier mails of the kind to the user that were not sent yet.
	Replaces bool
	// Subject identifies what the mail is about, so that endMails ends it; the zero ID for nothing.
	Subject base.ID
	// Language is the tag (BCP 47) of a language; "" for that which the user has chosen.
	Language string
	// Secret is the secret of the link in the mail. It is stored sealed until the mail ends, and bound to the address.
	Secret secret.Text
	// Count is how many things happened that a notice is about.
	Count int64
	// ExpiresAt is when sending is given up, [MailTTL] from now at most; the zero time for then.
	ExpiresAt time.Time
}

// RecordMailer records whether this installation sends mails: only then do transactions cause any. Every process that
// runs work records it when it starts, so that the last one decides, and processes that send none, such as commands,
// know it.
func RecordMailer(ctx context.Context, db *base.DB, sends bool) error {
	recorded, err := SendsMail(ctx, db)
	if err != nil || recorded == sends {
		return err
	}
	return db.Write(ctx, "record mailer", func(ctx context.Context, t *base.Tx) error {
		value := "off"
		if sends {
			value = "on"
		}
		_, err := t.Exec(ctx,
			`insert into settings (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value`,
			settingMail, value)
		return err
	})
}

// SendsMail reports whether this installation sends mails.
func SendsMail(ctx context.Context, db *base.DB) (bool, error) {
	sends, err := sendsMail(ctx, db.Querier())
	return sends, db.Classify(err)
}

// sendsMail reports whether this installation sends mails. A caller that has other work for each mail asks it first.
func sendsMail(ctx context.Context, q base.Querier) (bool, error) {
	var value string
	err := q.QueryRowContext(ctx, `select value from settings where key = $1`, settingMail).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return value == "on", err
}

// sentToUnproved reports whether mails of a kind go to an address that their user has not proved: those whose link
// proves it.
func (kind MailKind) sentToUnproved() bool {
	return kind == MailAddressProof || kind == MailPasswordReset
}

// mailLimit returns how many mails of a kind one company may cause to one address in a window: [MaxMailsTo] in 24 hours
// for most kinds. Notices have an interval of their own; see [NoticeInterval]. Strangers can ask for links for a new
// password, each of which works for an hour, and only five an hour for one address: the limit here must not keep a user
// from one for longer.
func mailLimit(kind MailKind) (most int64, window time.Duration) {
	switch kind {
	case NoticeRejection, NoticeDeactivated, NoticeFailing:
		return MaxMailsTo, MaxMailsTo * time.Hour
	case MailPasswordReset:
		return 12 * MaxMailsTo, 12 * time.Hour
	case MailInvitation, MailPasswordChanged, MailWrongCodes, MailFactorAdded, MailAddressProof, MailAddressChanged:
	}
	return MaxMailsTo, 24 * time.Hour
}

// chargeMail counts a mail towards the limits of its recipient, and reports whether it may be sent.
func chargeMail(ctx context.Context, t *base.Tx, m NewMail) (bool, error) {
	key := func(account []byte) [32]byte {
		return sha256.Sum256(fmt.Appendf(nil, "mail\x00%s\x00%x\x00%s", m.Kind, account, m.To))
	}
	most, window := mailLimit(m.Kind)
	for _, use := range [...]base.LimitUse{
		{Key: key(m.Account[:]), Max: most, Window: window},
		{Key: key(nil), Max: mailingCompanies * most, Window: window},
	} {
		if _, err := t.AcquireLimit(ctx, use, t.Now()); errors.Is(err, sql.ErrNoRows) {
			t.DB.CountLimitedMail()
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	return true, nil
}

// enqueueMail causes a mail, and returns [MailPending]. It returns "" without doing anything if the installation sends
// no mails or the user has not proved the address, and [MailFailed] if its recipient has got too many of the kind. The
// mail is sent after the commit.
func enqueueMail(ctx context.Context, t *base.Tx, m NewMail) (MailState, error) {
	if sends, err := sendsMail(ctx, t); err != nil || !sends {
		return "", err
	}
	if m.User != nil && !m.Kind.sentToUnproved() {
		user, err := readUser(ctx, t, m.Account, *m.User)
		if err != nil || user.ProvedAt == nil {
			return "", base.IgnoreMissing(err) // a row that does not act gets no mail, and keeps none from others
		}
	}
	if allowed, err := chargeMail(ctx, t, m); err != nil || !allowed {
		return MailFailed, err
	}
	return MailPending, insertMail(ctx, t, m)
}

// insertMail stores a mail that is to be sent, and ends an earlier one that it replaces.
func insertMail(ctx context.Context, t *base.Tx, m NewMail) error {
	if m.Replaces {
		if err := endMailsTo(ctx, t, m.Account, *m.User, m.Kind); err != nil {
			return err
		}
	}
	now := t.Now()
	id, err := base.NewID(now, t.DB.Random())
	if err != nil {
		return err
	}
	if expires := now.Add(MailTTL); m.ExpiresAt.IsZero() || m.ExpiresAt.After(expires) {
		m.ExpiresAt = expires
	}
	if m.Language == "" && m.User != nil {
		if m.Language, err = mailLanguage(ctx, t, m.Account, *m.User); err != nil {
			return err
		}
	}
	var sealed, subject []byte
	if !m.Secret.IsZero() {
		if sealed, err = t.DB.Sealer().SealText(m.Secret, MailBinding(m.Account, id, m.To)); err != nil {
			return err
		}
	}
	if !m.Subject.IsZero() {
		subject = m.Subject[:]
	}
	t.Notify(base.WorkMails)
	statement, args := base.Insert("mails", mailRow{Account: m.Account, ID: id, Kind: m.Kind, Recipient: m.To,
		User: m.User, Subject: subject, Language: m.Language, Secret: sealed, Count: m.Count, State: MailPending,
		CreatedAt: base.Micros(now), DueAt: base.Micros(now), ExpiresAt: base.Micros(m.ExpiresAt)})
	_, err = t.Exec(ctx, statement, args...)
	return err
}

// mailRow is a mail that is to be sent.
type mailRow struct {
	Account   base.ID   `db:"account_id"`
	ID        base.ID   `db:"id"`
	Kind      MailKind  `db:"kind"`
	Recipient string    `db:"recipient"`
	User      *base.ID  `db:"user_id"`
	Subject   []byte    `db:"subject_id"`
	Language  string    `db:"language"`
	Secret    []byte    `db:"secret"`
	Count     int64     `db:"count"`
	State     MailState `db:"state"`
	CreatedAt int64     `db:"created_at"`
	DueAt     int64     `db:"due_at"`
	ExpiresAt int64     `db:"expires_at"`
}

// MailBinding binds the secret of a mail to its row and to its recipient: nobody can redirect a link without the keys.
func MailBinding(account, id base.ID, recipient string) secret.Binding {
	return secret.Binding{Tenant: account[:], Table: "mails", Column: "secret", Row: id[:],
		Bound: BoundRecipient(recipient)}
}

// BoundRecipient returns what the secret of a mail is bound to beside its row.
func BoundRecipient(recipient string) []string { return []string{recipient} }

// endMails ends the mails about a subject that were not sent yet.
func endMails(ctx context.Context, t *base.Tx, account, subject base.ID) error {
	_, err := t.Exec(ctx,
		`update mails set state = $3, reason = $4, due_at = null, ended_at = $5, secret = null, lease = lease + 1, leased = 0
		where account_id = $1 and subject_id = $2 and due_at is not null`, account, subject, MailEnded, MailReplaced, base.Micros(t.Now()))
	return err
}

// endMailsTo ends the mails to a user that were not sent yet: those of a kind, or all for "".
func endMailsTo(ctx context.Context, t *base.Tx, account, user base.ID, kind MailKind) error {
	_, err := t.Exec(ctx,
		`update mails set state = $3, reason = $4, due_at = null, ended_at = $5, secret = null, lease = lease + 1, leased = 0
		where account_id = $1 and user_id = $2 and due_at is not null and (kind = $6 or $6 = '')`, account, user, MailEnded, MailReplaced, base.Micros(t.Now()), kind)
	return err
}

// EndRestoredMails ends all mails that the backup from which the database was restored shows as not sent yet.
func EndRestoredMails(ctx context.Context, t *base.Tx) error {
	_, err := t.Exec(ctx,
		`update mails set state = $1, reason = $2, due_at = null, ended_at = $3, secret = null, lease = lease + 1, leased = 0
		where due_at is not null`, MailEnded, MailRestored, base.Micros(t.Now()))
	return err
}

// DeleteExpiredMails gives up the mails whose time is over, which is done here too because no process may be sending,
// and removes those that ended long ago.
func DeleteExpiredMails(ctx context.Context, t *base.Tx) error {
	if _, err := t.Exec(ctx,
		`update mails set state = $2, reason = case when reason = '' then $3 else reason end, due_at = null, ended_at = $1, secret = null,
		lease = lease + 1, leased = 0 where due_at is not null and expires_at <= $1`, base.Micros(t.Now()), MailFailed, MailExpired); err != nil {
		return err
	}
	_, err := t.Exec(ctx, `delete from mails where ended_at < $1`, base.Micros(t.Now().Add(-keepMails)))
	return err
}
