package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"quittance/internal/access"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/test/kit"
)

// unproved adds an unproved user to a company, with a session of the given number.
func (f *fixture) unproved(t *testing.T, c company, email string, n byte) store.User {
	t.Helper()
	id, err := f.AddUser(t.Context(), c.account.ID, store.NewUser{Email: email, Name: "Unproved", Role: access.Owner,
		PasswordHash: fmt.Sprint("$", n)})
	kit.Must(t, err)
	user, err := f.UserOf(t.Context(), c.account.ID, email)
	kit.Must(t, err)
	wantEqual(t, "the user", user.ID, id)
	kit.Must(t, second(f.CreateToken(t.Context(), user,
		store.NewToken{Digest: digest(n), ExpiresAt: f.Clock.Now().Add(time.Hour), Client: store.ClientAPI})))
	f.Clock.Advance(time.Second)
	return user
}

func proof(n byte) store.NewProof {
	return store.NewProof{Secret: secret.New(fmt.Sprint("qv_", n)), Digest: digest(n)}
}

// sessionOf returns the session with a number.
func (f *fixture) sessionOf(t *testing.T, n byte) store.Session {
	t.Helper()
	session, err := f.Authenticate(t.Context(), digest(n))
	kit.Must(t, err)
	return session
}

// wantGivenWay checks that a user has neither password nor sessions.
func (f *fixture) wantGivenWay(t *testing.T, user store.User, sessions ...byte) {
	t.Helper()
	now, err := f.UserOf(t.Context(), user.Account, user.Email)
	kit.Must(t, err)
	if now.PasswordHash != "" || now.ProvedAt != nil {
		t.Errorf("the user is %+v", now)
	}
	for _, n := range sessions {
		wantErr(t, second(f.Authenticate(t.Context(), digest(n))), store.ErrNotFound)
	}
	for _, table := range []string{"pending_logins", "address_proofs"} {
		if rows := f.number(t, `select count(*) from `+table+` where account_id = $1 and user_id = $2`, user.Account,
			user.ID); rows != 0 {
			t.Errorf("%s has %d rows of the user", table, rows)
		}
	}
}

// TestUnprovedAddress checks that an address that nobody has proved is free for others, and that all users with it give
// way to the one who proves it with the link that was mailed for an invitation.
func TestUnprovedAddress(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		const email = "victim@example.com"
		squatting, third := f.newCompany(t, "squatter@example.com"), f.newCompany(t, "third@example.com")
		squatter := f.unproved(t, squatting, email, 11)
		again := f.unproved(t, third, email, 12)
		session := f.sessionOf(t, 11)
		company{user: squatter, tenant: squatting.tenant}.enroll(t, f, session, digest(10))
		kit.Must(t, f.BeginLogin(ctx, store.PendingLogin{Digest: digest(13), User: squatter, Means: store.LoginByPassword},
			f.Clock.Now().Add(time.Hour)))
		kit.Must(t, squatting.tenant.RequestAddressProof(ctx, session, proof(14)))

		made, err := f.tenant.Invite(ctx, new(as(f.user.ID)),
			store.NewInvitation{Email: email, Role: access.Viewer, Digest: digest(15), MailDigest: digest(16),
				Secret: secret.New("qi_mailed"), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		wantEqual(t, "the mail", made.Mail.State, store.MailPending)
		joined, err := f.Join(ctx, digest(16), store.NewUser{Name: "Victim", PasswordHash: "$own"}, proof(17))
		kit.Must(t, err)
		if joined.ProvedAt == nil || joined.Account != f.account.ID {
			t.Errorf("joined %+v", joined)
		}
		f.wantGivenWay(t, squatter, 11)
		f.wantGivenWay(t, again, 12)
		found, err := f.UserByEmail(ctx, email)
		kit.Must(t, err)
		wantEqual(t, "who logs in", found.ID, joined.ID)
		for _, company := range []store.ID{squatting.account.ID, third.account.ID} {
			wantEqual(t, "how many log in there", len(f.logins(t, email, company)), 0)
		}
		kit.Must(t, second(f.SecondFactor(ctx, squatter))) // nobody else removes it
		wantErr(t, second(f.CreateToken(ctx, squatter,
			store.NewToken{Digest: digest(18), ExpiresAt: f.Clock.Now().Add(time.Hour)})), store.ErrNotFound)
		wantErr(t, second(squatting.tenant.ProveAddress(ctx, session, digest(14))), store.ErrSessionEnded)
		wantErr(t, second(f.AddUser(ctx, third.account.ID,
			store.NewUser{Email: email, Role: access.Viewer, PasswordHash: "$"})), store.ErrExists)
		entries, err := f.Audit(ctx, store.AuditFilter{Account: &squatting.account.ID, Limit: 1})
		kit.Must(t, err)
		if len(entries) != 1 || entries[0].Act != "user.give-way" || entries[0].Actor != store.SystemActor() {
			t.Errorf("the last entry of the company concerned is %+v", entries)
		}
	})
}

// logins returns who may log in with an address and a password, in the order in which the passwords are compared.
func (f *fixture) logins(t *testing.T, email string, account store.ID) (ids []store.ID) {
	t.Helper()
	users, err := f.UsersToLogIn(t.Context(), email, account)
	kit.Must(t, err)
	for _, user := range users {
		ids = append(ids, user.ID)
	}
	return ids
}

// TestUsersToLogIn checks that of several users with an address the passwords of all are compared who can log in, in an
// order that nobody who comes later changes, and only that of the company which the login names.
func TestUsersToLogIn(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		const email = "all@example.com"
		var companies []company
		var users []store.ID
		for n := range byte(6) {
			c := f.newCompany(t, fmt.Sprintf("owner-%d@example.com", n))
			companies, users = append(companies, c), append(users, f.unproved(t, c, email, 11+n).ID)
		}
		kit.Must(t, f.SuspendAccount(ctx, companies[0].account.ID))
		kit.Must(t, f.DisableUser(ctx, companies[1].account.ID, users[1], false))
		kit.Must(t, f.SetLoginPolicy(ctx, companies[2].account.ID, store.LoginSingleSignOn))
		wantEqual(t, "who may log in", f.logins(t, email, store.ID{}),
			[]store.ID{users[3], users[4], users[5], users[0], users[2]})
		wantEqual(t, "who may log in to a company", f.logins(t, email, companies[4].account.ID), []store.ID{users[4]})
		f.sendMails(t)
		session := f.sessionOf(t, 16)
		kit.Must(t, session.Tenant.RequestAddressProof(ctx, session, proof(21)))
		kit.Must(t, second(session.Tenant.ProveAddress(ctx, session, digest(21))))
		later := f.unproved(t, f.company, email, 30) // reserves nothing, and is no longer hindered by the proof of another
		wantEqual(t, "who may log in after a proof", f.logins(t, email, store.ID{}), []store.ID{users[5], later.ID})
	})
}

// TestLastOwnerStays checks that the last owner of a company who can log in does not give way, that the link of an
// invitation names those who do, and that an address which is proved cannot be proved again elsewhere while its user is
// active.
func TestLastOwnerStays(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		other := f.newCompany(t, "second@example.com")
		viewer := f.unproved(t, other, "person@example.com", 11)
		kit.Must(t, second(f.CreateAccount(ctx, "Of the person", store.NewUser{Email: "person@example.com", Name: "Person",
			PasswordHash: "$own"})))
		own := f.logins(t, "person@example.com", store.ID{})[1]
		invite := func(c company, n byte) {
			t.Helper()
			_, err := c.tenant.Invite(ctx, new(as(c.user.ID)), store.NewInvitation{Email: "person@example.com",
				Role: access.Viewer, Digest: digest(n), MailDigest: digest(n + 1), Secret: secret.New("qi_mailed"),
				ExpiresAt: f.Clock.Now().Add(time.Hour)})
			kit.Must(t, err)
		}
		invite(f.company, 20)
		for n, want := range map[byte][]string{20: nil, 21: {other.account.Company}} {
			usable, err := f.UsableInvitation(ctx, digest(n))
			kit.Must(t, err)
			wantEqual(t, "companies in which the login ends", usable.Ends, want)
		}
		joined, err := f.Join(ctx, digest(21), store.NewUser{Name: "Person", PasswordHash: "$joined"}, proof(22))
		kit.Must(t, err)
		f.wantGivenWay(t, viewer, 11)
		wantEqual(t, "who may log in", f.logins(t, "person@example.com", store.ID{}), []store.ID{joined.ID, own})

		third := f.newCompany(t, "third@example.com")
		invite(third, 30)
		kit.Must(t, second(f.UsableInvitation(ctx, digest(30))))
		wantErr(t, second(f.UsableInvitation(ctx, digest(31))), store.ErrProvedElsewhere)
		wantErr(t, second(f.Join(ctx, digest(31), store.NewUser{Name: "Person", PasswordHash: "$"}, proof(32))),
			store.ErrProvedElsewhere)
		kit.Must(t, f.DisableUser(ctx, f.account.ID, joined.ID, false))
		again, err := f.Join(ctx, digest(31), store.NewUser{Name: "Person", PasswordHash: "$third"}, proof(32))
		kit.Must(t, err)
		if again.ProvedAt == nil {
			t.Error("the proof of a disabled user reserves the address")
		}
		kit.Must(t, f.EnableUser(ctx, f.account.ID, joined.ID))
		f.wantGivenWay(t, joined)
	})
}

// TestProveAddress checks that only a session of the user who got the link can use it, once, within a day, and only
// while the address is the same.
func TestProveAddress(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		const email = "new@example.com"
		user := f.unproved(t, f.company, email, 11)
		session := f.sessionOf(t, 11)
		wantErr(t, f.tenant.RequestAddressProof(ctx, session, proof(12)), store.ErrNoMail)
		f.sendMails(t)
		for n := range byte(store.MaxMailsTo) {
			kit.Must(t, f.tenant.RequestAddressProof(ctx, session, proof(20+n)))
		}
		wantErr(t, f.tenant.RequestAddressProof(ctx, session, proof(30)), store.ErrMailLimited)
		mails := f.claimMails(t)
		if len(mails) != 1 || mails[0].Kind != store.MailAddressProof || mails[0].To != email ||
			mails[0].Secret.Reveal() != proof(24).Secret.Reveal() {
			t.Fatalf("mails %+v", mails)
		}
		squatter := f.unproved(t, f.newCompany(t, "squatter@example.com"), email, 13)
		intruder := f.sessionOf(t, 13)
		wantErr(t, second(intruder.Tenant.ProveAddress(ctx, intruder, digest(24))), store.ErrNotFound)
		wantErr(t, second(f.tenant.ProveAddress(ctx, session, digest(23))), store.ErrNotFound) // replaced
		proved, err := f.tenant.ProveAddress(ctx, session, digest(24))
		kit.Must(t, err)
		if proved.ProvedAt == nil || proved.PasswordHash != user.PasswordHash {
			t.Errorf("proved %+v", proved)
		}
		f.sessionOf(t, 11)
		f.wantGivenWay(t, squatter, 13)
		wantErr(t, second(f.tenant.ProveAddress(ctx, session, digest(24))), store.ErrNotFound)

		late := f.unproved(t, f.company, "late@example.com", 14)
		kit.Must(t, f.tenant.RequestAddressProof(ctx, f.sessionOf(t, 14), proof(31)))
		f.Clock.Advance(store.ProofTTL)
		kit.Must(t,
			second(f.CreateToken(ctx, late, store.NewToken{Digest: digest(15), ExpiresAt: f.Clock.Now().Add(time.Hour)})))
		wantErr(t, second(f.tenant.ProveAddress(ctx, f.sessionOf(t, 15), digest(31))), store.ErrNotFound)
		kit.Must(t, f.tenant.RequestAddressProof(ctx, f.sessionOf(t, 15), proof(32)))
		kit.Must(t, second(f.ChangeAddress(ctx, f.account.ID, late.ID, store.AddressChange{Email: "later@example.com"})))
		wantErr(t, second(f.tenant.ProveAddress(ctx, f.sessionOf(t, 15), digest(32))), store.ErrNotFound)
	})
}

// TestShownLinkDoesNotProve checks that who joins by the link that was shown has an unproved address and gets one mail,
// whose link proves it, and that this user gets no other mails.
func TestShownLinkDoesNotProve(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		const email = "shown@example.com"
		kit.Must(t, second(f.tenant.Invite(ctx, new(as(f.user.ID)),
			store.NewInvitation{Email: email, Role: access.Owner, Digest: digest(15), MailDigest: digest(16),
				Secret: secret.New("qi_mailed"), ExpiresAt: f.Clock.Now().Add(time.Hour)})))
		joined, err := f.Join(ctx, digest(15), store.NewUser{Name: "Shown", PasswordHash: "$own"}, proof(17))
		kit.Must(t, err)
		if joined.ProvedAt != nil {
			t.Errorf("joined %+v", joined)
		}
		wantErr(t, second(f.Join(ctx, digest(16), store.NewUser{Name: "Again", PasswordHash: "$"}, proof(18))),
			store.ErrNotFound)
		mails := f.claimMails(t)
		if len(mails) != 1 || mails[0].Kind != store.MailAddressProof || mails[0].To != email {
			t.Fatalf("mails after the link that was shown: %+v", mails)
		}
		kit.Must(t, f.ResetPassword(ctx, f.account.ID, joined.ID, "$administrator"))
		if mails := f.claimMails(t); len(mails) != 0 {
			t.Errorf("mails to an unproved address: %+v", mails)
		}
	})
}

// TestSignOnChoosesCompany checks that single sign-on does not land in a company by an unproved user: the person
// chooses one, once, and what others had there ends.
func TestSignOnChoosesCompany(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		const email = "victim@example.com"
		squatting := f.newCompany(t, "squatter@example.com")
		squatter, own := f.unproved(t, squatting, email, 11), f.unproved(t, f.company, email, 12)
		wantErr(t, f.signOn(ctx, 13, "victim", email), store.ErrChooseCompany)
		wantErr(t, f.signOn(ctx, 13, "victim", "nobody@example.com"), store.ErrNotFound)
		on := store.SignOn{Issuer: issuer, Subject: "victim", Email: email}
		kit.Must(t, f.StoreSignOnChoice(ctx, digest(20), on))
		got, companies, err := f.SignOnChoice(ctx, digest(20))
		kit.Must(t, err)
		wantEqual(t, "address", got, email)
		wantEqual(t, "companies", len(companies), 2)
		wantErr(t, third(f.CompleteSignOnChoice(ctx, digest(20), f.newCompany(t, "none@example.com").account.ID,
			f.bySignOn(14))), store.ErrNotFound)
		guarded := f.newCompany(t, "guarded@example.com")
		company{user: f.unproved(t, guarded, email, 18), tenant: guarded.tenant}.enroll(t, f, f.sessionOf(t, 18), digest(10))
		wantErr(t, third(f.CompleteSignOnChoice(ctx, digest(20), guarded.account.ID, f.bySignOn(14))), store.ErrSecondFactor)
		f.sessionOf(t, 18) // nothing has changed
		kit.Must(t, third(f.CompleteSignOnChoice(ctx, digest(20), f.account.ID, f.bySignOn(14))))
		wantEqual(t, "the user of the session", f.sessionOf(t, 14).User, own.ID)
		wantErr(t, second(f.Authenticate(ctx, digest(12))), store.ErrNotFound)
		f.wantGivenWay(t, squatter, 11)
		wantErr(t, third(f.CompleteSignOnChoice(ctx, digest(20), f.account.ID, f.bySignOn(15))), store.ErrNotFound)
		kit.Must(t, f.signOn(ctx, 16, "victim", email)) // directly from now on
		wantErr(t, f.signOn(ctx, 17, "other", email), store.ErrOtherSubject)
		kit.Must(t, f.StoreSignOnChoice(ctx, digest(21), on))
		f.Clock.Advance(store.SignOnChoiceTTL)
		_, _, err = f.SignOnChoice(ctx, digest(21))
		wantErr(t, err, store.ErrNotFound)
	})
}

func third[A, B any](_ A, _ B, err error) error { return err }

// TestChangeAddress checks who may change the address of whom, that the new one is unproved, and that a proved old one
// is told.
func TestChangeAddress(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		id, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: "old@example.com", Name: "Viewer", Role: access.Viewer,
			PasswordHash: "$2", Proved: true})
		kit.Must(t, err)
		viewer, err := f.tenant.User(ctx, id)
		kit.Must(t, err)
		kit.Must(t, second(f.CreateToken(ctx, viewer,
			store.NewToken{Digest: digest(11), ExpiresAt: f.Clock.Now().Add(time.Hour)})))
		session := f.sessionOf(t, 11)
		change := store.AddressChange{Email: "new@example.com", Proof: proof(12)}
		wantErr(t, second(f.tenant.ChangeAddress(ctx, session, f.user.ID, change)), store.ErrForbidden)
		wantErr(t, second(f.tenant.ChangeAddress(ctx, session, id, store.AddressChange{Email: f.user.Email})),
			store.ErrExists)
		// That of another company's user is as free as any, so that nobody learns who uses the service.
		kit.Must(t, second(f.tenant.ChangeAddress(ctx, session, id, store.AddressChange{Email: f.decoy.user.Email})))
		kit.Must(t, second(f.tenant.ChangeAddress(ctx, session, id, store.AddressChange{Email: "old@example.com"})))
		f.claimMails(t)
		kit.Must(t, f.tenant.RequestAddressProof(ctx, session, proof(13)))
		kit.Must(t, second(f.tenant.ProveAddress(ctx, session, digest(13))))
		changed, err := f.tenant.ChangeAddress(ctx, session, id, change)
		kit.Must(t, err)
		if changed.Email != "new@example.com" || changed.ProvedAt != nil || changed.PasswordHash != viewer.PasswordHash {
			t.Errorf("changed %+v", changed)
		}
		told := map[string]store.MailKind{}
		for _, m := range f.claimMails(t) {
			told[m.To] = m.Kind
		}
		wantEqual(t, "mails", told, map[string]store.MailKind{"old@example.com": store.MailAddressChanged,
			"new@example.com": store.MailAddressProof})
		kit.Must(t, second(f.tenant.ProveAddress(ctx, session, digest(12))))
		kit.Must(t, second(f.tenant.ChangeAddress(ctx, as(f.user.ID), id, store.AddressChange{Email: "third@example.com"})))
		limit := store.LimitUse{Key: digest(99), Max: 1, Window: time.Hour}
		kit.Must(t, second(f.tenant.ChangeAddress(ctx, as(f.user.ID), id,
			store.AddressChange{Email: "fourth@example.com", Limit: &limit})))
		_, err = f.tenant.ChangeAddress(ctx, as(f.user.ID), id,
			store.AddressChange{Email: "fifth@example.com", Limit: &limit})
		if _, limited := errors.AsType[*store.LimitExceededError](err); !limited {
			t.Errorf("beyond the limit: %v", err)
		}
		other := f.newCompany(t, "other@example.com")
		wantErr(t, second(other.tenant.ChangeAddress(ctx, as(other.user.ID), id,
			store.AddressChange{Email: "x@example.com"})), store.ErrNotFound)
	})
}

// TestRemoveUser checks that a removed user leaves nothing but entries of the audit log, that the address is free, and
// that an owner stays.
func TestRemoveUser(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		wantErr(t, f.RemoveUser(ctx, f.account.ID, f.user.ID), store.ErrLastOwner)
		user := f.unproved(t, f.company, "leaves@example.com", 11)
		session := f.sessionOf(t, 11)
		company{user: user, tenant: f.tenant}.enroll(t, f, session, digest(10))
		add := newKey(t, "left")
		add.Creator = session
		key, err := f.tenant.CreateAPIKey(ctx, add)
		kit.Must(t, err)
		kit.Must(t, second(f.tenant.Invite(ctx, new(as(user.ID)), store.NewInvitation{Email: "by@example.com",
			Role: access.Viewer, Digest: digest(30), ExpiresAt: f.Clock.Now().Add(time.Hour)})))
		kit.Must(t, f.tenant.SetMailSettings(ctx, session, store.MailSettings{Language: "ar"}))
		viewer, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: "viewer@example.com", Role: access.Viewer,
			PasswordHash: "$"})
		kit.Must(t, err)
		wantErr(t, second(f.tenant.RemoveUser(ctx, as(viewer), user.ID)), store.ErrForbidden)
		other := f.newCompany(t, "other@example.com")
		wantErr(t, second(other.tenant.RemoveUser(ctx, as(other.user.ID), user.ID)), store.ErrNotFound)
		kit.Must(t, second(f.tenant.RemoveUser(ctx, session, user.ID))) // leaves
		wantErr(t, second(f.tenant.User(ctx, user.ID)), store.ErrNotFound)
		wantErr(t, second(f.Authenticate(ctx, digest(11))), store.ErrNotFound)
		wantErr(t, second(f.UsableInvitation(ctx, digest(30))), store.ErrNotFound)
		left, err := f.tenant.APIKey(ctx, key.ID)
		kit.Must(t, err)
		if left.RevokedAt != nil || left.CreatedBy != nil {
			t.Errorf("the key is %+v", left)
		}
		kit.Must(t, second(f.AddUser(ctx, other.account.ID,
			store.NewUser{Email: user.Email, Role: access.Viewer, PasswordHash: "$", Proved: true})))
		kit.Must(t, second(f.tenant.RemoveUser(ctx, as(f.user.ID), viewer)))
	})
}

// TestOwnerWhoHasGivenWay checks that an owner who has given way is not counted as one who can log in.
func TestOwnerWhoHasGivenWay(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.unproved(t, f.company, "gone@example.com", 11)
		other := f.newCompany(t, "other@example.com")
		kit.Must(t, second(f.AddUser(ctx, other.account.ID,
			store.NewUser{Email: "gone@example.com", Role: access.Viewer, PasswordHash: "$", Proved: true})))
		wantErr(t, f.RemoveUser(ctx, f.account.ID, f.user.ID), store.ErrLastOwner)
	})
}

// TestProofsAtOnce checks that of users who prove one address at the same time one wins, and that nobody is left with a
// session but this one.
func TestProofsAtOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		const email = "race@example.com"
		companies := []company{f.company, f.newCompany(t, "b@example.com"), f.newCompany(t, "c@example.com")}
		sessions := make([]store.Session, len(companies))
		for n, c := range companies {
			f.unproved(t, c, email, byte(11+n))
			sessions[n] = f.sessionOf(t, byte(11+n))
			kit.Must(t, sessions[n].Tenant.RequestAddressProof(ctx, sessions[n], proof(byte(21+n))))
		}
		race(len(companies), func(n int) {
			_, err := sessions[n].Tenant.ProveAddress(ctx, sessions[n], digest(byte(21+n)))
			if err != nil && !errors.Is(err, store.ErrSessionEnded) && !errors.Is(err, store.ErrProvedElsewhere) {
				t.Error(err)
			}
		})
		if proved := f.number(t, `select count(*) from users where email = $1 and proved_at is not null`,
			email); proved != 1 {
			t.Errorf("%d users have proved the address", proved)
		}
		if live := f.number(t,
			`select count(*) from tokens t join users u on u.account_id = t.account_id and u.id = t.user_id where u.email = $1 and t.revoked_at is null`, email); live != 1 {
			t.Errorf("%d sessions are left", live)
		}
	})
}
