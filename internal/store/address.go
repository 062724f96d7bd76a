package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"quittance/internal/access"
	"quittance/internal/secret"
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
func (t *tx) checkUnclaimed(ctx context.Context, email string) error {
	proved, err := collect(ctx, t, scanValue[ID],
		`select id from users where email = $1 and proved_at is not null and disabled_at is null`, email)
	if err == nil && len(proved) > 0 {
		err = ErrProvedElsewhere
	}
	return err
}

// prove records that a user of a locked account has proved the address, for which the accounts of all others with it
// are locked too. They give way. It returns [ErrProvedElsewhere] if one of them has proved it and is active. A violated
// unique index says the same.
func (t *tx) prove(ctx context.Context, user User) error {
	others, err := collect(ctx, t, scanUser, `select `+userColumns+
		` from users where email = $1 and account_id <> $2 order by account_id`, user.Email, user.Account)
	if err != nil {
		return err
	}
	for _, other := range others {
		if err := t.giveWay(ctx, other); err != nil {
			return err
		}
	}
	if _, err := t.changeSealed(ctx, sealedUsers.row(user.Account, user.ID),
		`update users set proved_at = $3 where account_id = $1 and id = $2`, user.Account, user.ID,
		micros(t.Now())); err != nil {
		return err
	}
	return t.endProof(ctx, user)
}

// endingLogins returns the names of the companies whose users give way when the user of an account proves an address.
// It returns [ErrProvedElsewhere] if one of them has proved it and is active.
func endingLogins(ctx context.Context, q querier, account ID, email string) (ends []string, err error) {
	elsewhere := false
	_, err = collect(ctx, q, func(row scanner) (struct{}, error) {
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
func (t *tx) lockAddress(ctx context.Context, account ID, email string) error {
	_, err := collect(ctx, t, scanValue[ID],
		`select id from accounts where id in (select cast($1 as bytea) union select account_id from users where email = $2) order by id`+t.db.dialect.ForUpdate(),
		account, email)
	return err
}

// endProof ends the link with which a user proves the address.
func (t *tx) endProof(ctx context.Context, user User) error {
	if _, err := t.Exec(ctx, `delete from address_proofs where account_id = $1 and user_id = $2`, user.Account,
		user.ID); err != nil {
		return err
	}
	return t.endMailsTo(ctx, user.Account, user.ID, MailAddressProof)
}

// giveWay ends what a user can log in with whose address somebody else proves: the password, which may be that of
// anybody, and all sessions. A second factor stays. So does the last owner of a company who can log in: the company
// would be left to an administrator.
func (t *tx) giveWay(ctx context.Context, user User) error {
	user, err := t.lockUser(ctx, user.Account, user.ID)
	if errors.Is(err, ErrNotFound) || errors.Is(err, sql.ErrNoRows) {
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
	if err := t.checkOtherOwner(ctx, user); errors.Is(err, ErrLastOwner) {
		return nil
	} else if err != nil {
		return err
	}
	return t.endLogin(ctx, user)
}

// endLogin ends the password, the proof of the address, the sessions and the invitations of a user of a locked account,
// which may be those of somebody else than the person who has the address.
func (t *tx) endLogin(ctx context.Context, user User) error {
	if _, err := t.changeSealed(ctx, sealedUsers.row(user.Account, user.ID),
		`update users set password_hash = '', password_changed_at = $3, password_change_required = 0,
		proved_at = null where account_id = $1 and id = $2`,
		user.Account, user.ID, micros(t.Now())); err != nil {
		return err
	}
	if err := t.endAccess(ctx, user); err != nil {
		return err
	}
	if err := t.revokeInvitationsBy(ctx, user); err != nil {
		return err
	}
	// The company does not learn who has proved it, where, and from which network.
	_, err := t.auditAs(SystemActor(), userAct("user.give-way", user.Account, user.ID, user.Email))
	return err
}

// endAccess ends the sessions of a user of a locked account, the link to a person at the OpenID provider and the mailed
// link that proves the address.
func (t *tx) endAccess(ctx context.Context, user User) error {
	if err := t.revokeTokens(ctx, user.Account, user.ID, []byte{}, micros(t.Now())); err != nil {
		return err
	}
	if _, err := t.Exec(ctx, `delete from sign_on_subjects where account_id = $1 and user_id = $2`, user.Account,
		user.ID); err != nil {
		return err
	}
	return t.endProof(ctx, user)
}

// mailProof causes the mail with the link with which a user of a locked account proves the address, which replaces an
// earlier one. It returns what tx.enqueueMail does.
func (t *tx) mailProof(ctx context.Context, user User, proof NewProof) (MailState, error) {
	if may, err := t.mayMailStrangers(ctx, user.Account); err != nil || !may {
		return MailFailed, err
	}
	now := t.Now()
	state, err := t.enqueueMail(ctx, NewMail{Kind: MailAddressProof, Account: user.Account, To: user.Email, User: &user.ID,
		Replaces: true, Secret: proof.Secret, ExpiresAt: now.Add(ProofTTL)})
	if err != nil || state != MailPending {
		return state, err
	}
	if _, err := t.Exec(ctx, `delete from address_proofs where account_id = $1 and user_id = $2`, user.Account,
		user.ID); err != nil {
		return state, err
	}
	_, err = t.insertSealed(ctx, sealedProofs.row(user.Account, user.ID),
		`insert into address_proofs (account_id, user_id, digest, created_at, expires_at) values ($1, $2, $3, $4, $5)`,
		user.Account, user.ID, proof.Digest[:], micros(now), micros(now.Add(ProofTTL)))
	return state, err
}

// RequestAddressProof sends the user of a session a link with which to prove the address. It does nothing if the
// address is proved, and returns [ErrNoMail], [ErrMailLimited] or [ErrSessionEnded].
func (t *Tenant) RequestAddressProof(ctx context.Context, by Session, proof NewProof) error {
	return t.write(ctx, "request address proof", func(ctx context.Context, tx *tx) error {
		user, err := tx.liveUser(ctx, t.account, by)
		if err != nil || user.ProvedAt != nil {
			return err
		}
		switch state, err := tx.mailProof(ctx, user, proof); {
		case err != nil:
			return err
		case state == "":
			return ErrNoMail
		case state == MailFailed:
			return ErrMailLimited
		}
		return tx.audit(userAct("user.request-address-proof", user.Account, user.ID, user.Email))
	})
}

// ProveAddress uses up the link with a digest, which was mailed to the user of a session: the user has proved the
// address. Only a session of that user can use it, so that nobody proves it for somebody who has joined with the
// address of others. It returns [ErrNotFound] if the link cannot be used by this user, [ErrProvedElsewhere], and
// [ErrSessionEnded].
func (t *Tenant) ProveAddress(ctx context.Context, by Session, digest [32]byte) (User, error) {
	var proved User
	err := t.write(ctx, "prove address", func(ctx context.Context, tx *tx) error {
		if err := tx.lockAddress(ctx, t.account, by.Email); err != nil {
			return err
		}
		user, err := tx.liveUser(ctx, t.account, by)
		if err != nil {
			return err
		}
		if err := tx.checkSealed(ctx, sealedProofs.row(t.account, user.ID)); err != nil {
			return err
		}
		used, err := tx.Exec(ctx,
			`delete from address_proofs where account_id = $1 and user_id = $2 and digest = $3 and expires_at > $4`,
			t.account, user.ID, digest[:], micros(tx.Now()))
		if err != nil {
			return err
		}
		if used == 0 {
			return ErrNotFound
		}
		if err := tx.prove(ctx, user); err != nil {
			return err
		}
		if err := tx.audit(userAct("user.prove-address", user.Account, user.ID, user.Email)); err != nil {
			return err
		}
		proved, err = tx.readUser(ctx, t.account, user.ID)
		return err
	})
	return proved, t.addressError(err)
}

func (t *Tenant) addressError(err error) error {
	if errors.Is(err, ErrNoTenant) {
		return err
	}
	return t.db.addressError(err)
}

// AddressChange gives a user another address, which nobody has proved yet. The caller normalizes Email.
type AddressChange struct {
	Email string
	// Proof is the link of the mail to the new address; its secret is zero for no mail.
	Proof NewProof
	// Factor is the proof of the second factor of a user who changes the own address.
	Factor *FactorProof
	// Limit is the limit of changes of the user's address; nil for none.
	Limit *LimitUse
}

// ChangeAddress changes the address of a user of the company on behalf of the user of a session, who is that user or
// may manage users. It returns [ErrExists] if the company has a user with the address, [ErrLastOwner] if the last owner
// would be left without a login, [ErrForbidden], [ErrNotFound] if the company has no such user, and [ErrSecondFactor]
// for the own address without the proof of a second factor that the user has.
func (t *Tenant) ChangeAddress(ctx context.Context, by Session, user ID, change AddressChange) (User, error) {
	var changed User
	err := t.write(ctx, "change address", func(ctx context.Context, tx *tx) error {
		locked, err := tx.lockUser(ctx, t.account, user)
		if err != nil {
			return err
		}
		if user == by.User {
			if _, err = tx.liveUser(ctx, t.account, by); err == nil {
				_, err = tx.useFactor(ctx, t.account, user, change.Factor)
			}
		} else {
			err = tx.checkManager(ctx, t.account, by.User)
		}
		if err != nil {
			return err
		}
		changed, err = tx.changeAddress(ctx, locked, change)
		return err
	})
	return changed, t.addressError(err)
}

// ChangeAddress is [Tenant.ChangeAddress] for an administrator.
func (db *DB) ChangeAddress(ctx context.Context, account, user ID, change AddressChange) (User, error) {
	var changed User
	err := db.write(ctx, "change address", func(ctx context.Context, t *tx) error {
		locked, err := t.lockUser(ctx, account, user)
		if err != nil {
			return err
		}
		changed, err = t.changeAddress(ctx, locked, change)
		return err
	})
	return changed, db.addressError(err)
}

// changeAddress changes the address of a user of a locked account. The links that were mailed to the old address end,
// and so does the link to a person at the OpenID provider, who has the old address. An old address that was proved is
// told.
func (t *tx) changeAddress(ctx context.Context, user User, change AddressChange) (User, error) {
	if user.Email == change.Email {
		return user, nil
	}
	if change.Limit != nil {
		if _, err := t.acquireLimit(ctx, *change.Limit, t.Now()); errors.Is(err, sql.ErrNoRows) {
			return User{}, t.limitExceeded(ctx, 0, *change.Limit)
		} else if err != nil {
			return User{}, err
		}
	}
	if user.PasswordHash == "" { // and single sign-on does not know the new address
		if err := t.checkOtherOwner(ctx, user); err != nil {
			return User{}, err
		}
	}
	if err := t.unlink(ctx, user); err != nil {
		return User{}, err
	}
	// What was begun or mailed for the old address must not be completed with the new one.
	for _, begun := range [...]string{
		`delete from password_resets where account_id = $1 and user_id = $2`,
		`delete from pending_logins where account_id = $1 and user_id = $2`,
	} {
		if _, err := t.Exec(ctx, begun, user.Account, user.ID); err != nil {
			return User{}, err
		}
	}
	if err := t.endMailsTo(ctx, user.Account, user.ID, ""); err != nil {
		return User{}, err
	}
	if err := t.endProof(ctx, user); err != nil {
		return User{}, err
	}
	if err := t.tellAddressChanged(ctx, user); err != nil {
		return User{}, err
	}
	if _, err := t.changeSealed(ctx, sealedUsers.row(user.Account, user.ID),
		`update users set email = $3, proved_at = null where account_id = $1 and id = $2`, user.Account, user.ID,
		change.Email); err != nil {
		return User{}, err
	}
	act := userAct("user.change-address", user.Account, user.ID, change.Email)
	act.Details["before"] = user.Email
	if err := t.audit(act); err != nil {
		return User{}, err
	}
	changed, err := t.readUser(ctx, user.Account, user.ID)
	if err != nil || change.Proof.Secret.IsZero() {
		return changed, err
	}
	_, err = t.mailProof(ctx, changed, change.Proof)
	return changed, err
}

// tellAddressChanged causes a mail to the address that a user has until now, if it was proved.
func (t *tx) tellAddressChanged(ctx context.Context, user User) error {
	if user.ProvedAt == nil {
		return nil
	}
	language, err := t.mailLanguage(ctx, user.Account, user.ID)
	if err != nil {
		return err
	}
	_, err = t.enqueueMail(ctx, NewMail{Kind: MailAddressChanged, Account: user.Account, To: user.Email,
		Language: language})
	return err
}

// RemoveUser removes a user of the company on behalf of the user of a session, who is that user or may manage users:
// nothing but the audit log knows the user afterwards, and the address is free. It returns [ErrLastOwner] if no active
// owner would be left, [ErrForbidden], and [ErrNotFound] if the company has no such user.
func (t *Tenant) RemoveUser(ctx context.Context, by Session, user ID) (User, error) {
	var removed User
	err := t.write(ctx, "remove user", func(ctx context.Context, tx *tx) (err error) {
		if removed, err = tx.lockUser(ctx, t.account, user); err != nil {
			return err
		}
		if user == by.User {
			_, err = tx.liveUser(ctx, t.account, by)
		} else {
			err = tx.checkManager(ctx, t.account, by.User)
		}
		if err != nil {
			return err
		}
		return tx.removeUser(ctx, removed)
	})
	return removed, err
}

// RemoveUser is [Tenant.RemoveUser] for an administrator.
func (db *DB) RemoveUser(ctx context.Context, account, user ID) error {
	return db.write(ctx, "remove user", func(ctx context.Context, t *tx) error {
		locked, err := t.lockUser(ctx, account, user)
		if err != nil {
			return err
		}
		return t.removeUser(ctx, locked)
	})
}

// removeUser removes a user of a locked account with everything that is about the user alone. API keys stay, as those
// of an administrator.
func (t *tx) removeUser(ctx context.Context, user User) error {
	if err := t.checkOtherOwner(ctx, user); err != nil {
		return err
	}
	if err := t.endAccess(ctx, user); err != nil {
		return err
	}
	if _, err := t.deleteSecondFactor(ctx, user); err != nil {
		return err
	}
	if err := t.revokeInvitationsBy(ctx, user); err != nil {
		return err
	}
	if err := t.endMailsTo(ctx, user.Account, user.ID, ""); err != nil {
		return err
	}
	if err := t.forgetMaker(ctx, user); err != nil {
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
	return t.audit(roleAct("user.remove", user.Account, user.ID, user.Email, user.Role))
}

// forgetMaker removes a user from the API keys that the user has made.
func (t *tx) forgetMaker(ctx context.Context, user User) error {
	keys, err := collect(ctx, t, scanValue[ID],
		`select id from api_keys where account_id = $1 and created_by = $2 and revoked_at is null`, user.Account, user.ID)
	if err != nil {
		return err
	}
	for _, id := range keys {
		_, err := t.changeSealed(ctx, sealedAPIKeys.row(user.Account, id),
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
	Account ID
	Company string
}

// maxAddressCompanies is how many companies somebody who proves an address can choose from. Companies are created by
// administrators, so that no stranger has so many.
const maxAddressCompanies = 100

// addressCompanies returns the active companies in which an unproved user has an address and is not disabled, oldest
// user first.
func addressCompanies(ctx context.Context, q querier, email string) ([]AddressCompany, error) {
	return collect(ctx, q, func(row scanner) (c AddressCompany, err error) { return c, row.Scan(&c.Account, &c.Company) },
		`select a.id, a.company from users u join accounts a on a.id = u.account_id
			where u.email = $1 and u.proved_at is null and u.disabled_at is null and a.status = 'active'
			order by u.created_at, u.id limit $2`, email, maxAddressCompanies)
}

// lockUnproved locks an account and returns its user who has an address that nobody has proved. It returns
// [sql.ErrNoRows] if there is none who can log in.
func (t *tx) lockUnproved(ctx context.Context, account ID, email string) (User, Account, error) {
	locked, err := t.account(ctx, account)
	if err != nil {
		return User{}, Account{}, err
	}
	if err := t.checkUnclaimed(ctx, email); errors.Is(err, ErrProvedElsewhere) {
		return User{}, Account{}, sql.ErrNoRows
	} else if err != nil {
		return User{}, Account{}, err
	}
	user, err := t.db.actingUser(ctx, t, `where account_id = $1 and email = $2 and disabled_at is null`, account, email)
	return user, locked, err
}
