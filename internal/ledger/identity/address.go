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

// An address is proved by a link that was mailed to it, or by single sign-on with a verified address. At most one
// active user of all companies has proved an address. Any company may have a user with an address that this user has
// not proved: such a user logs in with the own password, gets no mail but one that proves the address, and gives way
// when somebody else proves it.

// ProofTTL is how long a link with which a user proves the address can be used.
const ProofTTL = 24 * time.Hour

// ErrMailLimited says that a mail was not caused because its recipient has got too many of its kind.
var ErrMailLimited = errors.New("too many e-mails of this kind to this address")

// ErrProvedElsewhere says that an active user of another company has proved an address.
var ErrProvedElsewhere = errors.New("a user of another company has proved the address")

// NewProof is the secret of a new link with which a user proves the address, and its digest, which is stored.
type NewProof struct {
	Secret secret.Text
	Digest [32]byte
}

// checkUnclaimed returns [ErrProvedElsewhere] if an active user has proved an address.
func checkUnclaimed(ctx context.Context, t *base.Tx, email string) error {
	proved, err := base.Collect(ctx, t, base.ScanValue[base.ID],
		`select id from users where email = $1 and proved_at is not null and disabled_at is null`, email)
	if err == nil && len(proved) > 0 {
		err = ErrProvedElsewhere
	}
	return err
}

// prove records that a user of a locked account has proved the address, for which the accounts of all others with it
// are locked too. They give way. It returns [ErrProvedElsewhere] if one of them has proved it and is active. A violated
// unique index says the same.
func prove(ctx context.Context, t *base.Tx, user base.User) error {
	others, err := base.Collect(ctx, t, base.ScanUser, `select `+base.UserColumns+
		` from users where email = $1 and account_id <> $2 order by account_id`, user.Email, user.Account)
	if err != nil {
		return err
	}
	for _, other := range others {
		if err := giveWay(ctx, t, other); err != nil {
			return err
		}
	}
	if _, err := t.ChangeSealed(ctx, base.SealedUsers.Row(user.Account, user.ID),
		`update users set proved_at = $3 where account_id = $1 and id = $2`, user.Account, user.ID,
		base.Micros(t.Now())); err != nil {
		return err
	}
	return endProof(ctx, t, user)
}

// endingLogins returns the names of the companies whose users give way when the user of an account proves an address.
// It returns [ErrProvedElsewhere] if one of them has proved it and is active.
func endingLogins(ctx context.Context, q base.Querier, account base.ID, email string) (ends []string, err error) {
	elsewhere := false
	_, err = base.Collect(ctx, q, func(row base.Row) (struct{}, error) {
		var company string
		var proved bool
		err := row.Scan(&company, &proved)
		if elsewhere = elsewhere || proved; !proved {
			ends = append(ends, company)
		}
		return struct{}{}, err
	}, `select a.company, u.proved_at is not null from users u join accounts a on a.id = u.account_id
		where u.email = $1 and u.account_id <> $2 and u.disabled_at is null and (u.proved_at is not null or u.password_hash <> '')
			and (u.proved_at is not null or u.role <> $3 or exists (select 1 from users o where o.account_id = u.account_id and o.id <> u.id and `+ownerWhoLogsIn+`))
		order by u.proved_at is null, a.company limit $4`, email, account, access.Owner, maxAddressCompanies)
	if err == nil && elsewhere {
		err = ErrProvedElsewhere
	}
	return ends, err
}

// lockAddress locks an account and those of all users with an address, in the order of their identifiers: users of
// several companies may prove one address at the same time, and each ends what the others have.
func lockAddress(ctx context.Context, t *base.Tx, account base.ID, email string) error {
	_, err := base.Collect(ctx, t, base.ScanValue[base.ID],
		`select id from accounts where id in (select cast($1 as bytea) union select account_id from users where email = $2) order by id`+t.DB.Dialect().ForUpdate(),
		account, email)
	return err
}

// endProof ends the link with which a user proves the address.
func endProof(ctx context.Context, t *base.Tx, user base.User) error {
	if _, err := t.Exec(ctx, `delete from address_proofs where account_id = $1 and user_id = $2`, user.Account,
		user.ID); err != nil {
		return err
	}
	return endMailsTo(ctx, t, user.Account, user.ID, MailAddressProof)
}

// giveWay ends what a user can log in with whose address somebody else proves: the password, which may be that of
// anybody, and all sessions. A second factor stays. So does the last owner of a company who can log in: the company
// would be left to an administrator.
func giveWay(ctx context.Context, t *base.Tx, user base.User) error {
	user, err := lockUser(ctx, t, user.Account, user.ID)
	if errors.Is(err, base.ErrNotFound) || errors.Is(err, sql.ErrNoRows) {
		return nil // its row does not act
	}
	switch {
	case err != nil:
		return err
	case user.ProvedAt != nil && user.DisabledAt == nil:
		return ErrProvedElsewhere
	case user.ProvedAt == nil && user.PasswordHash == "":
		return nil // it has given way before
	}
	if err := checkOtherOwner(ctx, t, user); errors.Is(err, ErrLastOwner) {
		return nil
	} else if err != nil {
		return err
	}
	return endLogin(ctx, t, user)
}

// endLogin ends the password, the proof of the address, the sessions and the invitations of a user of a locked account,
// which may be those of somebody else than the person who has the address.
func endLogin(ctx context.Context, t *base.Tx, user base.User) error {
	if _, err := t.ChangeSealed(ctx, base.SealedUsers.Row(user.Account, user.ID),
		`update users set password_hash = '', password_changed_at = $3, password_change_required = 0,
		proved_at = null where account_id = $1 and id = $2`,
		user.Account, user.ID, base.Micros(t.Now())); err != nil {
		return err
	}
	if err := endAccess(ctx, t, user); err != nil {
		return err
	}
	if err := revokeInvitationsBy(ctx, t, user); err != nil {
		return err
	}
	// The company does not learn who has proved it, where, and from which network.
	_, err := t.AuditAs(base.SystemActor(), base.UserAct("user.give-way", user.Account, user.ID, user.Email))
	return err
}

// endAccess ends the sessions of a user of a locked account, the link to a person at the OpenID provider and the mailed
// link that proves the address.
func endAccess(ctx context.Context, t *base.Tx, user base.User) error {
	if err := revokeTokens(ctx, t, user.Account, user.ID, []byte{}, base.Micros(t.Now())); err != nil {
		return err
	}
	if _, err := t.Exec(ctx, `delete from sign_on_subjects where account_id = $1 and user_id = $2`, user.Account,
		user.ID); err != nil {
		return err
	}
	return endProof(ctx, t, user)
}

// mailProof causes the mail with the link with which a user of a locked account proves the address, which replaces an
// earlier one. It returns what enqueueMail does.
func mailProof(ctx context.Context, t *base.Tx, user base.User, proof NewProof) (MailState, error) {
	if may, err := mayMailStrangers(ctx, t, user.Account); err != nil || !may {
		return MailFailed, err
	}
	now := t.Now()
	state, err := enqueueMail(ctx, t, NewMail{Kind: MailAddressProof, Account: user.Account, To: user.Email,
		User: &user.ID, Replaces: true, Secret: proof.Secret, ExpiresAt: now.Add(ProofTTL)})
	if err != nil || state != MailPending {
		return state, err
	}
	if _, err := t.Exec(ctx, `delete from address_proofs where account_id = $1 and user_id = $2`, user.Account,
		user.ID); err != nil {
		return state, err
	}
	_, err = t.InsertSealed(ctx, base.SealedProofs.Row(user.Account, user.ID),
		`insert into address_proofs (account_id, user_id, digest, created_at, expires_at) values ($1, $2, $3, $4, $5)`,
		user.Account, user.ID, proof.Digest[:], base.Micros(now), base.Micros(now.Add(ProofTTL)))
	return state, err
}

// RequestAddressProof sends the user of a session a link with which to prove the address. It does nothing if the
// address is proved, and returns [ErrNoMail], [ErrMailLimited] or [ErrSessionEnded].
func RequestAddressProof(ctx context.Context, t *base.Tenant, by base.Session, proof NewProof) error {
	return t.Write(ctx, "request address proof", func(ctx context.Context, tx *base.Tx) error {
		user, err := liveUser(ctx, tx, t.Account(), by)
		if err != nil || user.ProvedAt != nil {
			return err
		}
		switch state, err := mailProof(ctx, tx, user, proof); {
		case err != nil:
			return err
		case state == "":
			return ErrNoMail
		case state == MailFailed:
			return ErrMailLimited
		}
		return tx.Audit(base.UserAct("user.request-address-proof", user.Account, user.ID, user.Email))
	})
}

// ProveAddress uses up the link with a digest, which was mailed to the user of a session: the user has proved the
// address. Only a session of that user can use it, so that nobody proves it for somebody who has joined with the
// address of others. It returns [base.ErrNotFound] if the link cannot be used by this user, [ErrProvedElsewhere], and
// [ErrSessionEnded].
func ProveAddress(ctx context.Context, t *base.Tenant, by base.Session, digest [32]byte) (base.User, error) {
	var proved base.User
	err := t.Write(ctx, "prove address", func(ctx context.Context, tx *base.Tx) error {
		if err := lockAddress(ctx, tx, t.Account(), by.Email); err != nil {
			return err
		}
		user, err := liveUser(ctx, tx, t.Account(), by)
		if err != nil {
			return err
		}
		if err := tx.CheckSealed(ctx, base.SealedProofs.Row(t.Account(), user.ID)); err != nil {
			return err
		}
		used, err := tx.Exec(ctx,
			`delete from address_proofs where account_id = $1 and user_id = $2 and digest = $3 and expires_at > $4`,
			t.Account(), user.ID, digest[:], base.Micros(tx.Now()))
		if err != nil {
			return err
		}
		if used == 0 {
			return base.ErrNotFound
		}
		if err := prove(ctx, tx, user); err != nil {
			return err
		}
		if err := tx.Audit(base.UserAct("user.prove-address", user.Account, user.ID, user.Email)); err != nil {
			return err
		}
		proved, err = readUser(ctx, tx, t.Account(), user.ID)
		return err
	})
	return proved, tenantAddressError(t, err)
}

func tenantAddressError(t *base.Tenant, err error) error {
	if errors.Is(err, base.ErrNoTenant) {
		return err
	}
	return addressError(t.DB(), err)
}

// AddressChange gives a user another address, which nobody has proved yet. The caller normalizes Email.
type AddressChange struct {
	Email string
	// Proof is the link of the mail to the new address; its secret is zero for no mail.
	Proof NewProof
	// Factor is the proof of the second factor of a user who changes the own address.
	Factor *FactorProof
	// Limit is the limit of changes of the user's address; nil for none.
	Limit *base.LimitUse
}

// ChangeAddress changes the address of a user of the company on behalf of the user of a session, who is that user or
// may manage users. It returns [base.ErrExists] if the company has a user with the address, [ErrLastOwner] if the last
// owner would be left without a login, [base.ErrForbidden], [base.ErrNotFound] if the company has no such user, and
// [ErrSecondFactor] for the own address without the proof of a second factor that the user has.
func ChangeAddress(ctx context.Context, t *base.Tenant, by base.Session, user base.ID,
	change AddressChange) (base.User, error) {
	var changed base.User
	err := t.Write(ctx, "change address", func(ctx context.Context, tx *base.Tx) error {
		locked, err := lockUser(ctx, tx, t.Account(), user)
		if err != nil {
			return err
		}
		if user == by.User {
			if _, err = liveUser(ctx, tx, t.Account(), by); err == nil {
				_, err = useFactor(ctx, tx, t.Account(), user, change.Factor)
			}
		} else {
			err = checkManager(ctx, tx, t.Account(), by.User)
		}
		if err != nil {
			return err
		}
		changed, err = changeAddress(ctx, tx, locked, change)
		return err
	})
	return changed, tenantAddressError(t, err)
}

// ChangeAddressOf is [ChangeAddress] for an administrator.
func ChangeAddressOf(ctx context.Context, db *base.DB, account, user base.ID, change AddressChange) (base.User, error) {
	var changed base.User
	err := db.Write(ctx, "change address", func(ctx context.Context, t *base.Tx) error {
		locked, err := lockUser(ctx, t, account, user)
		if err != nil {
			return err
		}
		changed, err = changeAddress(ctx, t, locked, change)
		return err
	})
	return changed, addressError(db, err)
}

// changeAddress changes the address of a user of a locked account. The links that were mailed to the old address end,
// and so does the link to a person at the OpenID provider, who has the old address. An old address that was proved is
// told.
func changeAddress(ctx context.Context, t *base.Tx, user base.User, change AddressChange) (base.User, error) {
	if user.Email == change.Email {
		return user, nil
	}
	if change.Limit != nil {
		if _, err := t.AcquireLimit(ctx, *change.Limit, t.Now()); errors.Is(err, sql.ErrNoRows) {
			return base.User{}, t.LimitExceeded(ctx, 0, *change.Limit)
		} else if err != nil {
			return base.User{}, err
		}
	}
	if user.PasswordHash == "" { // and single sign-on does not know the new address
		if err := checkOtherOwner(ctx, t, user); err != nil {
			return base.User{}, err
		}
	}
	if err := unlink(ctx, t, user); err != nil {
		return base.User{}, err
	}
	// What was begun or mailed for the old address must not be completed with the new one.
	for _, begun := range [...]string{
		`delete from password_resets where account_id = $1 and user_id = $2`,
		`delete from pending_logins where account_id = $1 and user_id = $2`,
	} {
		if _, err := t.Exec(ctx, begun, user.Account, user.ID); err != nil {
			return base.User{}, err
		}
	}
	if err := endMailsTo(ctx, t, user.Account, user.ID, ""); err != nil {
		return base.User{}, err
	}
	if err := endProof(ctx, t, user); err != nil {
		return base.User{}, err
	}
	if err := tellAddressChanged(ctx, t, user); err != nil {
		return base.User{}, err
	}
	if _, err := t.ChangeSealed(ctx, base.SealedUsers.Row(user.Account, user.ID),
		`update users set email = $3, proved_at = null where account_id = $1 and id = $2`, user.Account, user.ID,
		change.Email); err != nil {
		return base.User{}, err
	}
	act := base.UserAct("user.change-address", user.Account, user.ID, change.Email)
	act.Details["before"] = user.Email
	if err := t.Audit(act); err != nil {
		return base.User{}, err
	}
	changed, err := readUser(ctx, t, user.Account, user.ID)
	if err != nil || change.Proof.Secret.IsZero() {
		return changed, err
	}
	_, err = mailProof(ctx, t, changed, change.Proof)
	return changed, err
}

// tellAddressChanged causes a mail to the address that a user has until now, if it was proved.
func tellAddressChanged(ctx context.Context, t *base.Tx, user base.User) error {
	if user.ProvedAt == nil {
		return nil
	}
	language, err := mailLanguage(ctx, t, user.Account, user.ID)
	if err != nil {
		return err
	}
	_, err = enqueueMail(ctx, t, NewMail{Kind: MailAddressChanged, Account: user.Account, To: user.Email,
		Language: language})
	return err
}

// RemoveUser removes a user of the company on behalf of the user of a session, who is that user or may manage users:
// nothing but the audit log knows the user afterwards, and the address is free. It returns [ErrLastOwner] if no active
// owner would be left, [base.ErrForbidden], and [base.ErrNotFound] if the company has no such user.
func RemoveUser(ctx context.Context, t *base.Tenant, by base.Session, user base.ID) (base.User, error) {
	var removed base.User
	err := t.Write(ctx, "remove user", func(ctx context.Context, tx *base.Tx) (err error) {
		if removed, err = lockUser(ctx, tx, t.Account(), user); err != nil {
			return err
		}
		if user == by.User {
			_, err = liveUser(ctx, tx, t.Account(), by)
		} else {
			err = checkManager(ctx, tx, t.Account(), by.User)
		}
		if err != nil {
			return err
		}
		return removeUser(ctx, tx, removed)
	})
	return removed, err
}

// RemoveUserOf is [RemoveUser] for an administrator.
func RemoveUserOf(ctx context.Context, db *base.DB, account, user base.ID) error {
	return db.Write(ctx, "remove user", func(ctx context.Context, t *base.Tx) error {
		locked, err := lockUser(ctx, t, account, user)
		if err != nil {
			return err
		}
		return removeUser(ctx, t, locked)
	})
}

// removeUser removes a user of a locked account with everything that is about the user alone. API keys stay, as those
// of an administrator.
func removeUser(ctx context.Context, t *base.Tx, user base.User) error {
	if err := checkOtherOwner(ctx, t, user); err != nil {
		return err
	}
	if err := endAccess(ctx, t, user); err != nil {
		return err
	}
	if _, err := deleteSecondFactor(ctx, t, user); err != nil {
		return err
	}
	if err := revokeInvitationsBy(ctx, t, user); err != nil {
		return err
	}
	if err := endMailsTo(ctx, t, user.Account, user.ID, ""); err != nil {
		return err
	}
	if err := forgetMaker(ctx, t, user); err != nil {
		return err
	}
	for _, statement := range [...]string{
		`delete from passkey_challenges where account_id = $1 and user_id = $2`,
		`delete from tokens where account_id = $1 and user_id = $2`,
		`delete from mail_settings where account_id = $1 and user_id = $2`,
		`delete from users where account_id = $1 and id = $2`,
	} {
		if _, err := t.Exec(ctx, statement, user.Account, user.ID); err != nil {
			return err
		}
	}
	return t.Audit(roleAct("user.remove", user.Account, user.ID, user.Email, user.Role))
}

// forgetMaker removes a user from the API keys that the user has made.
func forgetMaker(ctx context.Context, t *base.Tx, user base.User) error {
	keys, err := base.Collect(ctx, t, base.ScanValue[base.ID],
		`select id from api_keys where account_id = $1 and created_by = $2 and revoked_at is null`, user.Account, user.ID)
	if err != nil {
		return err
	}
	for _, id := range keys {
		_, err := t.ChangeSealed(ctx, base.SealedAPIKeys.Row(user.Account, id),
			`update api_keys set created_by = null where account_id = $1 and id = $2`, user.Account, id)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	// Those that have ended, or do not act.
	_, err = t.Exec(ctx, `update api_keys set created_by = null, seal = null where account_id = $1 and created_by = $2`,
		user.Account, user.ID)
	return err
}

// AddressCompany is a company in which a person can use an address that nobody has proved.
type AddressCompany struct {
	Account base.ID
	Company string
}

// maxAddressCompanies is how many companies somebody who proves an address can choose from. Companies are created by
// administrators, so that no stranger has so many.
const maxAddressCompanies = 100

// addressCompanies returns the active companies in which an unproved user has an address and is not disabled, oldest
// user first.
func addressCompanies(ctx context.Context, q base.Querier, email string) ([]AddressCompany, error) {
	return base.Collect(ctx, q, func(row base.Row) (c AddressCompany, err error) {
		return c, row.Scan(&c.Account,
			&c.Company)
	}, `select a.id, a.company from users u join accounts a on a.id = u.account_id
			where u.email = $1 and u.proved_at is null and u.disabled_at is null and a.status = 'active'
			order by u.created_at, u.id limit $2`, email, maxAddressCompanies)
}

// lockUnproved locks an account and returns its user who has an address that nobody has proved. It returns
// [sql.ErrNoRows] if there is none who can log in.
func lockUnproved(ctx context.Context, t *base.Tx, account base.ID, email string) (base.User, base.Account, error) {
	locked, err := t.LockAccount(ctx, account)
	if err != nil {
		return base.User{}, base.Account{}, err
	}
	if err := checkUnclaimed(ctx, t, email); errors.Is(err, ErrProvedElsewhere) {
		return base.User{}, base.Account{}, sql.ErrNoRows
	} else if err != nil {
		return base.User{}, base.Account{}, err
	}
	user, err := t.DB.ActingUser(ctx, t, `where account_id = $1 and email = $2 and disabled_at is null`, account, email)
	return user, locked, err
}
