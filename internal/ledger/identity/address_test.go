package identity_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// unproved adds an unproved user to a company, with a session of the given number.
func unproved(t *testing.T, f *fixture.Fixture, c fixture.Company, email string, n byte) base.User {
	t.Helper()
	id, err := identity.AddUser(t.Context(), f.DB, c.Account.ID, identity.NewUser{Email: email, Name: "Unproved",
		Role: access.Owner, PasswordHash: fmt.Sprint("$", n)})
	kit.Must(t, err)
	user, err := f.UserOf(t.Context(), c.Account.ID, email)
	kit.Must(t, err)
	fixture.WantEqual(t, "the user", user.ID, id)
	kit.Must(t, fixture.Second(identity.CreateToken(t.Context(), f.DB, user,
		identity.NewToken{Digest: fixture.Digest(n), ExpiresAt: f.Clock.Now().Add(time.Hour), Client: identity.ClientAPI})))
	f.Clock.Advance(time.Second)
	return user
}

func provedBy(n byte) identity.NewProof {
	return identity.NewProof{Secret: secret.New(fmt.Sprint("qv_", n)), Digest: fixture.Digest(n)}
}

// sessionOf returns the session with a number.
func sessionOf(t *testing.T, f *fixture.Fixture, n byte) base.Session {
	t.Helper()
	session, err := f.Authenticate(t.Context(), fixture.Digest(n))
	kit.Must(t, err)
	return session
}

// wantGivenWay checks that a user has neither password nor sessions.
func wantGivenWay(t *testing.T, f *fixture.Fixture, user base.User, sessions ...byte) {
	t.Helper()
	now, err := f.UserOf(t.Context(), user.Account, user.Email)
	kit.Must(t, err)
	if now.PasswordHash != "" || now.ProvedAt != nil {
		t.Errorf("the user is %+v", now)
	}
	for _, n := range sessions {
		fixture.WantErr(t, fixture.Second(f.Authenticate(t.Context(), fixture.Digest(n))), base.ErrNotFound)
	}
	for _, table := range []string{"pending_logins", "address_proofs"} {
		if rows := f.Number(t, `select count(*) from `+table+` where account_id = $1 and user_id = $2`, user.Account,
			user.ID); rows != 0 {
			t.Errorf("%s has %d rows of the user", table, rows)
		}
	}
}

// TestUnprovedAddress checks that an address that nobody has proved is free for others, and that all users with it give
// way to the one who proves it with the link that was mailed for an invitation.
func TestUnprovedAddress(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.SendMails(t)
		const email = "victim@example.com"
		squatting, third := f.NewCompany(t, "squatter@example.com"), f.NewCompany(t, "third@example.com")
		squatter := unproved(t, f, squatting, email, 11)
		again := unproved(t, f, third, email, 12)
		session := sessionOf(t, f, 11)
		fixture.Company{User: squatter, Tenant: squatting.Tenant}.Enroll(t, f, session, fixture.Digest(10))
		kit.Must(t, identity.BeginLogin(ctx, f.DB, identity.PendingLogin{Digest: fixture.Digest(13), User: squatter,
			Means: identity.LoginByPassword}, f.Clock.Now().Add(time.Hour)))
		kit.Must(t, identity.RequestAddressProof(ctx, squatting.Tenant, session, provedBy(14)))

		made, err := identity.Invite(ctx, f.Tenant, new(fixture.As(f.User.ID)),
			identity.NewInvitation{Email: email, Role: access.Viewer, Digest: fixture.Digest(15), MailDigest: fixture.Digest(16),
				Secret: secret.New("qi_mailed"), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		fixture.WantEqual(t, "the mail", made.Mail.State, identity.MailPending)
		joined, err := identity.Join(ctx, f.DB, fixture.Digest(16), identity.NewUser{Name: "Victim",
			PasswordHash: "$own"}, provedBy(17))
		kit.Must(t, err)
		if joined.ProvedAt == nil || joined.Account != f.Account.ID {
			t.Errorf("joined %+v", joined)
		}
		wantGivenWay(t, f, squatter, 11)
		wantGivenWay(t, f, again, 12)
		found, err := f.UserByEmail(ctx, email)
		kit.Must(t, err)
		fixture.WantEqual(t, "who logs in", found.ID, joined.ID)
		for _, company := range []base.ID{squatting.Account.ID, third.Account.ID} {
			fixture.WantEqual(t, "how many log in there", len(logins(t, f, email, company)), 0)
		}
		kit.Must(t, fixture.Second(identity.FindSecondFactor(ctx, f.DB, squatter))) // nobody else removes it
		fixture.WantErr(t, fixture.Second(identity.CreateToken(ctx, f.DB, squatter,
			identity.NewToken{Digest: fixture.Digest(18), ExpiresAt: f.Clock.Now().Add(time.Hour)})), base.ErrNotFound)
		fixture.WantErr(t, fixture.Second(identity.ProveAddress(ctx, squatting.Tenant, session, fixture.Digest(14))),
			identity.ErrSessionEnded)
		fixture.WantErr(t, fixture.Second(identity.AddUser(ctx, f.DB, third.Account.ID,
			identity.NewUser{Email: email, Role: access.Viewer, PasswordHash: "$"})), base.ErrExists)
		entries, err := f.Audit(ctx, base.AuditFilter{Account: &squatting.Account.ID, Limit: 1})
		kit.Must(t, err)
		if len(entries) != 1 || entries[0].Act != "user.give-way" || entries[0].Actor != base.SystemActor() {
			t.Errorf("the last entry of the company concerned is %+v", entries)
		}
	})
}

// logins returns who may log in with an address and a password, in the order in which the passwords are compared.
func logins(t *testing.T, f *fixture.Fixture, email string, account base.ID) (ids []base.ID) {
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
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		const email = "all@example.com"
		var companies []fixture.Company
		var users []base.ID
		for n := range byte(6) {
			c := f.NewCompany(t, fmt.Sprintf("owner-%d@example.com", n))
			companies, users = append(companies, c), append(users, unproved(t, f, c, email, 11+n).ID)
		}
		kit.Must(t, identity.SuspendAccount(ctx, f.DB, companies[0].Account.ID))
		kit.Must(t, identity.DisableUser(ctx, f.DB, companies[1].Account.ID, users[1], false))
		kit.Must(t, identity.SetLoginPolicyOf(ctx, f.DB, companies[2].Account.ID, base.LoginSingleSignOn))
		fixture.WantEqual(t, "who may log in", logins(t, f, email, base.ID{}),
			[]base.ID{users[3], users[4], users[5], users[0], users[2]})
		fixture.WantEqual(t, "who may log in to a company", logins(t, f, email, companies[4].Account.ID), []base.ID{users[4]})
		f.SendMails(t)
		session := sessionOf(t, f, 16)
		kit.Must(t, identity.RequestAddressProof(ctx, session.Tenant, session, provedBy(21)))
		kit.Must(t, fixture.Second(identity.ProveAddress(ctx, session.Tenant, session, fixture.Digest(21))))
		later := unproved(t, f, f.Company, email, 30) // reserves nothing, and is no longer hindered by the proof of another
		fixture.WantEqual(t, "who may log in after a proof", logins(t, f, email, base.ID{}), []base.ID{users[5], later.ID})
	})
}

// TestLastOwnerStays checks that the last owner of a company who can log in does not give way, that the link of an
// invitation names those who do, and that an address which is proved cannot be proved again elsewhere while its user is
// active.
func TestLastOwnerStays(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.SendMails(t)
		other := f.NewCompany(t, "second@example.com")
		viewer := unproved(t, f, other, "person@example.com", 11)
		kit.Must(t, fixture.Second(identity.CreateAccount(ctx, f.DB, "Of the person",
			identity.NewUser{Email: "person@example.com", Name: "Person", PasswordHash: "$own"})))
		own := logins(t, f, "person@example.com", base.ID{})[1]
		invite := func(c fixture.Company, n byte) {
			t.Helper()
			_, err := identity.Invite(ctx, c.Tenant, new(fixture.As(c.User.ID)),
				identity.NewInvitation{Email: "person@example.com",
					Role: access.Viewer, Digest: fixture.Digest(n), MailDigest: fixture.Digest(n + 1), Secret: secret.New("qi_mailed"),
					ExpiresAt: f.Clock.Now().Add(time.Hour)})
			kit.Must(t, err)
		}
		invite(f.Company, 20)
		for n, want := range map[byte][]string{20: nil, 21: {other.Account.Company}} {
			usable, err := identity.FindUsableInvitation(ctx, f.DB, fixture.Digest(n))
			kit.Must(t, err)
			fixture.WantEqual(t, "companies in which the login ends", usable.Ends, want)
		}
		joined, err := identity.Join(ctx, f.DB, fixture.Digest(21), identity.NewUser{Name: "Person",
			PasswordHash: "$joined"}, provedBy(22))
		kit.Must(t, err)
		wantGivenWay(t, f, viewer, 11)
		fixture.WantEqual(t, "who may log in", logins(t, f, "person@example.com", base.ID{}), []base.ID{joined.ID, own})

		third := f.NewCompany(t, "third@example.com")
		invite(third, 30)
		kit.Must(t, fixture.Second(identity.FindUsableInvitation(ctx, f.DB, fixture.Digest(30))))
		fixture.WantErr(t, fixture.Second(identity.FindUsableInvitation(ctx, f.DB, fixture.Digest(31))),
			identity.ErrProvedElsewhere)
		fixture.WantErr(t, fixture.Second(identity.Join(ctx, f.DB, fixture.Digest(31),
			identity.NewUser{Name: "Person", PasswordHash: "$"}, provedBy(32))), identity.ErrProvedElsewhere)
		kit.Must(t, identity.DisableUser(ctx, f.DB, f.Account.ID, joined.ID, false))
		again, err := identity.Join(ctx, f.DB, fixture.Digest(31), identity.NewUser{Name: "Person",
			PasswordHash: "$third"}, provedBy(32))
		kit.Must(t, err)
		if again.ProvedAt == nil {
			t.Error("the proof of a disabled user reserves the address")
		}
		kit.Must(t, identity.EnableUser(ctx, f.DB, f.Account.ID, joined.ID))
		wantGivenWay(t, f, joined)
	})
}

// TestProveAddress checks that only a session of the user who got the link can use it, once, within a day, and only
// while the address is the same.
func TestProveAddress(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		const email = "new@example.com"
		user := unproved(t, f, f.Company, email, 11)
		session := sessionOf(t, f, 11)
		fixture.WantErr(t, identity.RequestAddressProof(ctx, f.Tenant, session, provedBy(12)), identity.ErrNoMail)
		f.SendMails(t)
		for n := range byte(identity.MaxMailsTo) {
			kit.Must(t, identity.RequestAddressProof(ctx, f.Tenant, session, provedBy(20+n)))
		}
		fixture.WantErr(t, identity.RequestAddressProof(ctx, f.Tenant, session, provedBy(30)), identity.ErrMailLimited)
		mails := f.ClaimMails(t)
		if len(mails) != 1 || mails[0].Kind != identity.MailAddressProof || mails[0].To != email ||
			mails[0].Secret.Reveal() != provedBy(24).Secret.Reveal() {
			t.Fatalf("mails %+v", mails)
		}
		squatter := unproved(t, f, f.NewCompany(t, "squatter@example.com"), email, 13)
		intruder := sessionOf(t, f, 13)
		fixture.WantErr(t, fixture.Second(identity.ProveAddress(ctx, intruder.Tenant, intruder, fixture.Digest(24))),
			base.ErrNotFound)
		fixture.WantErr(t, fixture.Second(identity.ProveAddress(ctx, f.Tenant, session, fixture.Digest(23))),
			base.ErrNotFound) // replaced
		proved, err := identity.ProveAddress(ctx, f.Tenant, session, fixture.Digest(24))
		kit.Must(t, err)
		if proved.ProvedAt == nil || proved.PasswordHash != user.PasswordHash {
			t.Errorf("proved %+v", proved)
		}
		sessionOf(t, f, 11)
		wantGivenWay(t, f, squatter, 13)
		fixture.WantErr(t, fixture.Second(identity.ProveAddress(ctx, f.Tenant, session, fixture.Digest(24))),
			base.ErrNotFound)

		late := unproved(t, f, f.Company, "late@example.com", 14)
		kit.Must(t, identity.RequestAddressProof(ctx, f.Tenant, sessionOf(t, f, 14), provedBy(31)))
		f.Clock.Advance(identity.ProofTTL)
		kit.Must(t,
			fixture.Second(identity.CreateToken(ctx, f.DB, late, identity.NewToken{Digest: fixture.Digest(15),
				ExpiresAt: f.Clock.Now().Add(time.Hour)})))
		fixture.WantErr(t, fixture.Second(identity.ProveAddress(ctx, f.Tenant, sessionOf(t, f, 15), fixture.Digest(31))),
			base.ErrNotFound)
		kit.Must(t, identity.RequestAddressProof(ctx, f.Tenant, sessionOf(t, f, 15), provedBy(32)))
		kit.Must(t, fixture.Second(identity.ChangeAddressOf(ctx, f.DB, f.Account.ID, late.ID,
			identity.AddressChange{Email: "later@example.com"})))
		fixture.WantErr(t, fixture.Second(identity.ProveAddress(ctx, f.Tenant, sessionOf(t, f, 15), fixture.Digest(32))),
			base.ErrNotFound)
	})
}

// TestShownLinkDoesNotProve checks that who joins by the link that was shown has an unproved address and gets one mail,
// whose link proves it, and that this user gets no other mails.
func TestShownLinkDoesNotProve(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.SendMails(t)
		const email = "shown@example.com"
		kit.Must(t, fixture.Second(identity.Invite(ctx, f.Tenant, new(fixture.As(f.User.ID)),
			identity.NewInvitation{Email: email, Role: access.Owner, Digest: fixture.Digest(15), MailDigest: fixture.Digest(16),
				Secret: secret.New("qi_mailed"), ExpiresAt: f.Clock.Now().Add(time.Hour)})))
		joined, err := identity.Join(ctx, f.DB, fixture.Digest(15), identity.NewUser{Name: "Shown",
			PasswordHash: "$own"}, provedBy(17))
		kit.Must(t, err)
		if joined.ProvedAt != nil {
			t.Errorf("joined %+v", joined)
		}
		fixture.WantErr(t, fixture.Second(identity.Join(ctx, f.DB, fixture.Digest(16),
			identity.NewUser{Name: "Again", PasswordHash: "$"}, provedBy(18))), base.ErrNotFound)
		mails := f.ClaimMails(t)
		if len(mails) != 1 || mails[0].Kind != identity.MailAddressProof || mails[0].To != email {
			t.Fatalf("mails after the link that was shown: %+v", mails)
		}
		kit.Must(t, identity.ResetPassword(ctx, f.DB, f.Account.ID, joined.ID, "$administrator"))
		if mails := f.ClaimMails(t); len(mails) != 0 {
			t.Errorf("mails to an unproved address: %+v", mails)
		}
	})
}

// TestSignOnChoosesCompany checks that single sign-on does not land in a company by an unproved user: the person
// chooses one, once, and what others had there ends.
func TestSignOnChoosesCompany(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		const email = "victim@example.com"
		squatting := f.NewCompany(t, "squatter@example.com")
		squatter, own := unproved(t, f, squatting, email, 11), unproved(t, f, f.Company, email, 12)
		fixture.WantErr(t, signOn(ctx, f, 13, "victim", email), identity.ErrChooseCompany)
		fixture.WantErr(t, signOn(ctx, f, 13, "victim", "nobody@example.com"), base.ErrNotFound)
		on := identity.SignOn{Issuer: issuer, Subject: "victim", Email: email}
		kit.Must(t, identity.StoreSignOnChoice(ctx, f.DB, fixture.Digest(20), on))
		got, companies, err := identity.FindSignOnChoice(ctx, f.DB, fixture.Digest(20))
		kit.Must(t, err)
		fixture.WantEqual(t, "address", got, email)
		fixture.WantEqual(t, "companies", len(companies), 2)
		fixture.WantErr(t, third(identity.CompleteSignOnChoice(ctx, f.DB, fixture.Digest(20), f.NewCompany(t,
			"none@example.com").Account.ID, bySignOn(f, 14))), base.ErrNotFound)
		guarded := f.NewCompany(t, "guarded@example.com")
		fixture.Company{User: unproved(t, f, guarded, email, 18), Tenant: guarded.Tenant}.Enroll(t, f, sessionOf(t, f,
			18), fixture.Digest(10))
		fixture.WantErr(t, third(identity.CompleteSignOnChoice(ctx, f.DB, fixture.Digest(20), guarded.Account.ID,
			bySignOn(f, 14))), identity.ErrSecondFactor)
		sessionOf(t, f, 18) // nothing has changed
		kit.Must(t, third(identity.CompleteSignOnChoice(ctx, f.DB, fixture.Digest(20), f.Account.ID, bySignOn(f, 14))))
		fixture.WantEqual(t, "the user of the session", sessionOf(t, f, 14).User, own.ID)
		fixture.WantErr(t, fixture.Second(f.Authenticate(ctx, fixture.Digest(12))), base.ErrNotFound)
		wantGivenWay(t, f, squatter, 11)
		fixture.WantErr(t, third(identity.CompleteSignOnChoice(ctx, f.DB, fixture.Digest(20), f.Account.ID,
			bySignOn(f, 15))), base.ErrNotFound)
		kit.Must(t, signOn(ctx, f, 16, "victim", email)) // directly from now on
		fixture.WantErr(t, signOn(ctx, f, 17, "other", email), identity.ErrOtherSubject)
		kit.Must(t, identity.StoreSignOnChoice(ctx, f.DB, fixture.Digest(21), on))
		f.Clock.Advance(identity.SignOnChoiceTTL)
		_, _, err = identity.FindSignOnChoice(ctx, f.DB, fixture.Digest(21))
		fixture.WantErr(t, err, base.ErrNotFound)
	})
}

func third[A, B any](_ A, _ B, err error) error { return err }

// TestChangeAddress checks who may change the address of whom, that the new one is unproved, and that a proved old one
// is told.
func TestChangeAddress(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.SendMails(t)
		id, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Email: "old@example.com",
			Name: "Viewer", Role: access.Viewer, PasswordHash: "$2", Proved: true})
		kit.Must(t, err)
		viewer, err := identity.FindUser(ctx, f.Tenant, id)
		kit.Must(t, err)
		kit.Must(t, fixture.Second(identity.CreateToken(ctx, f.DB, viewer,
			identity.NewToken{Digest: fixture.Digest(11), ExpiresAt: f.Clock.Now().Add(time.Hour)})))
		session := sessionOf(t, f, 11)
		change := identity.AddressChange{Email: "new@example.com", Proof: provedBy(12)}
		fixture.WantErr(t, fixture.Second(identity.ChangeAddress(ctx, f.Tenant, session, f.User.ID, change)),
			base.ErrForbidden)
		fixture.WantErr(t, fixture.Second(identity.ChangeAddress(ctx, f.Tenant, session, id,
			identity.AddressChange{Email: f.User.Email})), base.ErrExists)
		// That of another company's user is as free as any, so that nobody learns who uses the service.
		kit.Must(t, fixture.Second(identity.ChangeAddress(ctx, f.Tenant, session, id,
			identity.AddressChange{Email: f.Decoy.User.Email})))
		kit.Must(t, fixture.Second(identity.ChangeAddress(ctx, f.Tenant, session, id,
			identity.AddressChange{Email: "old@example.com"})))
		f.ClaimMails(t)
		kit.Must(t, identity.RequestAddressProof(ctx, f.Tenant, session, provedBy(13)))
		kit.Must(t, fixture.Second(identity.ProveAddress(ctx, f.Tenant, session, fixture.Digest(13))))
		changed, err := identity.ChangeAddress(ctx, f.Tenant, session, id, change)
		kit.Must(t, err)
		if changed.Email != "new@example.com" || changed.ProvedAt != nil || changed.PasswordHash != viewer.PasswordHash {
			t.Errorf("changed %+v", changed)
		}
		told := map[string]identity.MailKind{}
		for _, m := range f.ClaimMails(t) {
			told[m.To] = m.Kind
		}
		fixture.WantEqual(t, "mails", told, map[string]identity.MailKind{"old@example.com": identity.MailAddressChanged,
			"new@example.com": identity.MailAddressProof})
		kit.Must(t, fixture.Second(identity.ProveAddress(ctx, f.Tenant, session, fixture.Digest(12))))
		kit.Must(t, fixture.Second(identity.ChangeAddress(ctx, f.Tenant, fixture.As(f.User.ID), id,
			identity.AddressChange{Email: "third@example.com"})))
		limit := base.LimitUse{Key: fixture.Digest(99), Max: 1, Window: time.Hour}
		kit.Must(t, fixture.Second(identity.ChangeAddress(ctx, f.Tenant, fixture.As(f.User.ID), id,
			identity.AddressChange{Email: "fourth@example.com", Limit: &limit})))
		_, err = identity.ChangeAddress(ctx, f.Tenant, fixture.As(f.User.ID), id,
			identity.AddressChange{Email: "fifth@example.com", Limit: &limit})
		if _, limited := errors.AsType[*base.LimitExceededError](err); !limited {
			t.Errorf("beyond the limit: %v", err)
		}
		other := f.NewCompany(t, "other@example.com")
		fixture.WantErr(t, fixture.Second(identity.ChangeAddress(ctx, other.Tenant, fixture.As(other.User.ID), id,
			identity.AddressChange{Email: "x@example.com"})), base.ErrNotFound)
	})
}

// TestRemoveUser checks that a removed user leaves nothing but entries of the audit log, that the address is free, and
// that an owner stays.
func TestRemoveUser(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		fixture.WantErr(t, identity.RemoveUserOf(ctx, f.DB, f.Account.ID, f.User.ID), identity.ErrLastOwner)
		user := unproved(t, f, f.Company, "leaves@example.com", 11)
		session := sessionOf(t, f, 11)
		fixture.Company{User: user, Tenant: f.Tenant}.Enroll(t, f, session, fixture.Digest(10))
		add := fixture.NewKey(t, "left")
		add.Creator = session
		key, err := identity.CreateAPIKey(ctx, f.Tenant, add)
		kit.Must(t, err)
		kit.Must(t, fixture.Second(identity.Invite(ctx, f.Tenant, new(fixture.As(user.ID)),
			identity.NewInvitation{Email: "by@example.com",
				Role: access.Viewer, Digest: fixture.Digest(30), ExpiresAt: f.Clock.Now().Add(time.Hour)})))
		kit.Must(t, identity.SetMailSettings(ctx, f.Tenant, session, identity.MailSettings{Language: "ar"}))
		viewer, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Email: "viewer@example.com",
			Role: access.Viewer, PasswordHash: "$"})
		kit.Must(t, err)
		fixture.WantErr(t, fixture.Second(identity.RemoveUser(ctx, f.Tenant, fixture.As(viewer), user.ID)), base.ErrForbidden)
		other := f.NewCompany(t, "other@example.com")
		fixture.WantErr(t, fixture.Second(identity.RemoveUser(ctx, other.Tenant, fixture.As(other.User.ID), user.ID)),
			base.ErrNotFound)
		kit.Must(t, fixture.Second(identity.RemoveUser(ctx, f.Tenant, session, user.ID))) // leaves
		fixture.WantErr(t, fixture.Second(identity.FindUser(ctx, f.Tenant, user.ID)), base.ErrNotFound)
		fixture.WantErr(t, fixture.Second(f.Authenticate(ctx, fixture.Digest(11))), base.ErrNotFound)
		fixture.WantErr(t, fixture.Second(identity.FindUsableInvitation(ctx, f.DB, fixture.Digest(30))),
			base.ErrNotFound)
		left, err := identity.FindAPIKey(ctx, f.Tenant, key.ID)
		kit.Must(t, err)
		if left.RevokedAt != nil || left.CreatedBy != nil {
			t.Errorf("the key is %+v", left)
		}
		kit.Must(t, fixture.Second(identity.AddUser(ctx, f.DB, other.Account.ID,
			identity.NewUser{Email: user.Email, Role: access.Viewer, PasswordHash: "$", Proved: true})))
		kit.Must(t, fixture.Second(identity.RemoveUser(ctx, f.Tenant, fixture.As(f.User.ID), viewer)))
	})
}

// TestOwnerWhoHasGivenWay checks that an owner who has given way is not counted as one who can log in.
func TestOwnerWhoHasGivenWay(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		unproved(t, f, f.Company, "gone@example.com", 11)
		other := f.NewCompany(t, "other@example.com")
		kit.Must(t, fixture.Second(identity.AddUser(ctx, f.DB, other.Account.ID,
			identity.NewUser{Email: "gone@example.com", Role: access.Viewer, PasswordHash: "$", Proved: true})))
		fixture.WantErr(t, identity.RemoveUserOf(ctx, f.DB, f.Account.ID, f.User.ID), identity.ErrLastOwner)
	})
}

// TestProofsAtOnce checks that of users who prove one address at the same time one wins, and that nobody is left with a
// logIn but this one.
func TestProofsAtOnce(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.SendMails(t)
		const email = "race@example.com"
		companies := []fixture.Company{f.Company, f.NewCompany(t, "b@example.com"), f.NewCompany(t, "c@example.com")}
		sessions := make([]base.Session, len(companies))
		for n, c := range companies {
			unproved(t, f, c, email, byte(11+n))
			sessions[n] = sessionOf(t, f, byte(11+n))
			kit.Must(t, identity.RequestAddressProof(ctx, sessions[n].Tenant, sessions[n], provedBy(byte(21+n))))
		}
		fixture.Race(len(companies), func(n int) {
			_, err := identity.ProveAddress(ctx, sessions[n].Tenant, sessions[n], fixture.Digest(byte(21+n)))
			if err != nil && !errors.Is(err, identity.ErrSessionEnded) && !errors.Is(err, identity.ErrProvedElsewhere) {
				t.Error(err)
			}
		})
		if proved := f.Number(t, `select count(*) from users where email = $1 and proved_at is not null`,
			email); proved != 1 {
			t.Errorf("%d users have proved the address", proved)
		}
		if live := f.Number(t,
			`select count(*) from tokens t join users u on u.account_id = t.account_id and u.id = t.user_id where u.email = $1 and t.revoked_at is null`, email); live != 1 {
			t.Errorf("%d sessions are left", live)
		}
	})
}
