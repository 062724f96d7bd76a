package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"quittance/internal/access"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/internal/store/storetest"
	"quittance/test/kit"
)

// unproved adds an unproved user to a company, with a session of the given number.
func (f *fixture) unproved(t *testing.T, c company, email string, n byte) store.User {
	t.Helper()
	id, err := f.AddUser(t.Context(), c.account.ID, store.NewUser{Email: email, Name: "Unproved", Role: access.Owner, PasswordHash: fmt.Sprint("$", n)})
	kit.Must(t, err)
	user, err := f.UserOf(t.Context(), c.account.ID, email)
	kit.Must(t, err)
	wantEqual(t, "the user", user.ID, id)
	kit.Must(t, second(f.CreateToken(t.Context(), user, store.NewToken{Digest: digest(n), ExpiresAt: f.Clock.Now().Add(time.Hour), Client: store.ClientAPI})))
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

// wantGivenWay checks that a user has neither password, sessions nor second factor.
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
	for _, table := range []string{"second_factors", "recovery_codes", "pending_logins", "address_proofs"} {
		if rows := f.number(t, `select count(*) from `+table+` where account_id = $1 and user_id = $2`, user.Account, user.ID); rows != 0 {
			t.Errorf("%s has %d rows of the user", table, rows)
		}
	}
}

// TestUnprovedAddress checks that an address that nobody has proved is free for others, and that all users with it give way to the one who
// proves it with the link that was mailed for an invitation.
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
		kit.Must(t, f.BeginLogin(ctx, store.PendingLogin{Digest: digest(13), User: squatter, Means: store.LoginByPassword}, f.Clock.Now().Add(time.Hour)))
		kit.Must(t, squatting.tenant.RequestAddressProof(ctx, session, proof(14)))

		made, err := f.tenant.Invite(ctx, new(as(f.user.ID)), store.NewInvitation{Email: email, Role: access.Viewer, Digest: digest(15), MailDigest: digest(16),
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
			wantErr(t, second(f.UserToLogIn(ctx, email, company)), store.ErrNotFound)
		}
		wantErr(t, second(f.CreateToken(ctx, squatter, store.NewToken{Digest: digest(18), ExpiresAt: f.Clock.Now().Add(time.Hour)})), store.ErrNotFound)
		wantErr(t, second(squatting.tenant.ProveAddress(ctx, session, digest(14))), store.ErrSessionEnded)
		wantErr(t, second(f.AddUser(ctx, third.account.ID, store.NewUser{Email: email, Role: access.Viewer, PasswordHash: "$"})), store.ErrExists)
		entries, err := f.Audit(ctx, store.AuditFilter{Account: &squatting.account.ID, Limit: 1})
		kit.Must(t, err)
		if len(entries) != 1 || entries[0].Act != "user.give-way" || entries[0].Actor != store.SystemActor() {
			t.Errorf("the last entry of the company concerned is %+v", entries)
		}
	})
}

// TestLoginAmongUnproved checks that the first of several unproved users logs in without an account, and each with its own, so that nobody who
// comes later hides anybody.
func TestLoginAmongUnproved(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		const email = "both@example.com"
		other := f.newCompany(t, "other@example.com")
		first, later := f.unproved(t, f.company, email, 11), f.unproved(t, other, email, 12)
		for _, c := range []struct {
			account store.ID
			want    store.ID
		}{{store.ID{}, first.ID}, {f.account.ID, first.ID}, {other.account.ID, later.ID}} {
			user, err := f.UserToLogIn(ctx, email, c.account)
			kit.Must(t, err)
			wantEqual(t, "the user", user.ID, c.want)
		}
	})
}

// TestProveAddress checks that only a session of the user who got the link can use it, once, within a day, and only while the address is the
// same.
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
		if len(mails) != 1 || mails[0].Kind != store.MailAddressProof || mails[0].To != email || mails[0].Secret.Reveal() != proof(24).Secret.Reveal() {
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
		kit.Must(t, second(f.CreateToken(ctx, late, store.NewToken{Digest: digest(15), ExpiresAt: f.Clock.Now().Add(time.Hour)})))
		wantErr(t, second(f.tenant.ProveAddress(ctx, f.sessionOf(t, 15), digest(31))), store.ErrNotFound)
		kit.Must(t, f.tenant.RequestAddressProof(ctx, f.sessionOf(t, 15), proof(32)))
		kit.Must(t, second(f.ChangeAddress(ctx, f.account.ID, late.ID, store.AddressChange{Email: "later@example.com"})))
		wantErr(t, second(f.tenant.ProveAddress(ctx, f.sessionOf(t, 15), digest(32))), store.ErrNotFound)
	})
}

// TestShownLinkDoesNotProve checks that who joins by the link that was shown has an unproved address and gets one mail, whose link proves it, and
// that this user gets no other mails.
func TestShownLinkDoesNotProve(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		const email = "shown@example.com"
		kit.Must(t, second(f.tenant.Invite(ctx, new(as(f.user.ID)), store.NewInvitation{Email: email, Role: access.Owner, Digest: digest(15), MailDigest: digest(16),
			Secret: secret.New("qi_mailed"), ExpiresAt: f.Clock.Now().Add(time.Hour)})))
		joined, err := f.Join(ctx, digest(15), store.NewUser{Name: "Shown", PasswordHash: "$own"}, proof(17))
		kit.Must(t, err)
		if joined.ProvedAt != nil {
			t.Errorf("joined %+v", joined)
		}
		wantErr(t, second(f.Join(ctx, digest(16), store.NewUser{Name: "Again", PasswordHash: "$"}, proof(18))), store.ErrNotFound)
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

// TestResetProves checks that a link for a new password proves the address: of several unproved users the person chooses one, whose second factor
// and sessions end, and the others give way.
func TestResetProves(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		const email = "victim@example.com"
		squatting := f.newCompany(t, "squatter@example.com")
		squatter, own := f.unproved(t, squatting, email, 11), f.unproved(t, f.company, email, 12)
		company{user: own, tenant: f.tenant}.enroll(t, f, f.sessionOf(t, 12), digest(10))
		kit.Must(t, f.RequestPasswordReset(ctx, store.ResetRequest{Email: email, Language: "en"}))
		kit.Must(t, second(f.AnswerResetRequest(ctx, store.NewReset{Secret: secret.New("qr_x"), Digest: digest(20)})))
		linked, companies, err := f.UsablePasswordReset(ctx, digest(20))
		kit.Must(t, err)
		wantEqual(t, "the user of the link", linked.ID, squatter.ID)
		wantEqual(t, "companies", companies, []store.AddressCompany{{Account: squatting.account.ID, Company: squatting.account.Company}, {Account: f.account.ID, Company: f.account.Company}})
		wantErr(t, second(f.CompletePasswordReset(ctx, digest(20), "$new", f.newCompany(t, "none@example.com").account.ID)), store.ErrNotFound)
		reset, err := f.CompletePasswordReset(ctx, digest(20), "$new", f.account.ID)
		kit.Must(t, err)
		wantEqual(t, "the user", reset.ID, own.ID)
		f.wantGivenWay(t, squatter, 11)
		wantErr(t, second(f.Authenticate(ctx, digest(12))), store.ErrNotFound)
		wantErr(t, second(f.SecondFactor(ctx, own)), store.ErrNotFound)
		found, err := f.UserByEmail(ctx, email)
		kit.Must(t, err)
		if found.ID != own.ID || found.ProvedAt == nil || found.PasswordHash != "$new" {
			t.Errorf("who logs in is %+v", found)
		}
	})
}

// TestSignOnChoosesCompany checks that single sign-on does not land in a company by an unproved user: the person chooses one, once, and what
// others had there ends.
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
		wantErr(t, third(f.CompleteSignOnChoice(ctx, digest(20), f.newCompany(t, "none@example.com").account.ID, f.bySignOn(14))), store.ErrNotFound)
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

// TestMailLimits checks that the mails of a kind to one address are limited, whatever causes them, and that one company cannot use up what
// another may send.
func TestMailLimits(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		const changes = 40
		sent := 0
		for n := range changes {
			kit.Must(t, f.ResetPassword(ctx, f.account.ID, f.user.ID, fmt.Sprint("$", n)))
			sent += len(f.claimMails(t))
		}
		if sent != store.MaxMailsTo || f.LimitedMails() != changes-store.MaxMailsTo {
			t.Errorf("%d mails for %d changes, %d limited", sent, changes, f.LimitedMails())
		}
		f.Clock.Advance(24 * time.Hour)
		kit.Must(t, f.ResetPassword(ctx, f.account.ID, f.user.ID, "$next"))
		if mails := f.claimMails(t); len(mails) != 1 {
			t.Errorf("%d mails the next day", len(mails))
		}
		all := 0
		for company := range byte(5) {
			c := f.newCompany(t, fmt.Sprintf("owner-%d@example.com", company))
			first := 0
			for n := range byte(2 * store.MaxMailsTo) {
				made, err := c.tenant.Invite(ctx, new(as(c.user.ID)), store.NewInvitation{Email: "one@example.com", Role: access.Viewer, Digest: digest(100 + 10*company + n),
					MailDigest: digest(200 + n), Secret: secret.New("qi_x"), ExpiresAt: f.Clock.Now().Add(time.Hour)})
				kit.Must(t, err)
				if made.Mail.State == store.MailPending {
					first++
				}
			}
			if all += first; company < 3 && first != store.MaxMailsTo {
				t.Errorf("company %d sent %d mails", company, first)
			}
		}
		wantEqual(t, "all mails to one address", all, 3*store.MaxMailsTo)
	})
}

// TestChangeAddress checks who may change the address of whom, that the new one is unproved, and that a proved old one is told.
func TestChangeAddress(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.sendMails(t)
		id, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: "old@example.com", Name: "Viewer", Role: access.Viewer, PasswordHash: "$2", Proved: true})
		kit.Must(t, err)
		viewer, err := f.tenant.User(ctx, id)
		kit.Must(t, err)
		kit.Must(t, second(f.CreateToken(ctx, viewer, store.NewToken{Digest: digest(11), ExpiresAt: f.Clock.Now().Add(time.Hour)})))
		session := f.sessionOf(t, 11)
		change := store.AddressChange{Email: "new@example.com", Proof: proof(12)}
		wantErr(t, second(f.tenant.ChangeAddress(ctx, session, f.user.ID, change)), store.ErrForbidden)
		wantErr(t, second(f.tenant.ChangeAddress(ctx, session, id, store.AddressChange{Email: f.user.Email})), store.ErrExists)
		wantErr(t, second(f.tenant.ChangeAddress(ctx, session, id, store.AddressChange{Email: "decoy@example.com"})), store.ErrExists) // proved elsewhere
		changed, err := f.tenant.ChangeAddress(ctx, session, id, change)
		kit.Must(t, err)
		if changed.Email != "new@example.com" || changed.ProvedAt != nil || changed.PasswordHash != viewer.PasswordHash {
			t.Errorf("changed %+v", changed)
		}
		told := map[string]store.MailKind{}
		for _, m := range f.claimMails(t) {
			told[m.To] = m.Kind
		}
		wantEqual(t, "mails", told, map[string]store.MailKind{"old@example.com": store.MailAddressChanged, "new@example.com": store.MailAddressProof})
		kit.Must(t, second(f.tenant.ProveAddress(ctx, session, digest(12))))
		kit.Must(t, second(f.tenant.ChangeAddress(ctx, as(f.user.ID), id, store.AddressChange{Email: "third@example.com"})))
		limit := store.LimitUse{Key: digest(99), Max: 1, Window: time.Hour}
		kit.Must(t, second(f.tenant.ChangeAddress(ctx, as(f.user.ID), id, store.AddressChange{Email: "fourth@example.com", Limit: &limit})))
		_, err = f.tenant.ChangeAddress(ctx, as(f.user.ID), id, store.AddressChange{Email: "fifth@example.com", Limit: &limit})
		if _, limited := errors.AsType[*store.LimitExceededError](err); !limited {
			t.Errorf("beyond the limit: %v", err)
		}
		other := f.newCompany(t, "other@example.com")
		wantErr(t, second(other.tenant.ChangeAddress(ctx, as(other.user.ID), id, store.AddressChange{Email: "x@example.com"})), store.ErrNotFound)
	})
}

// TestRemoveUser checks that a removed user leaves nothing but entries of the audit log, that the address is free, and that an owner stays.
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
		kit.Must(t, second(f.tenant.Invite(ctx, new(as(user.ID)), store.NewInvitation{Email: "by@example.com", Role: access.Viewer, Digest: digest(30), ExpiresAt: f.Clock.Now().Add(time.Hour)})))
		kit.Must(t, f.tenant.SetMailSettings(ctx, session, store.MailSettings{Language: "ar"}))
		viewer, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: "viewer@example.com", Role: access.Viewer, PasswordHash: "$"})
		kit.Must(t, err)
		wantErr(t, second(f.tenant.RemoveUser(ctx, as(viewer), user.ID)), store.ErrForbidden)
		other := f.newCompany(t, "other@example.com")
		wantErr(t, second(other.tenant.RemoveUser(ctx, as(other.user.ID), user.ID)), store.ErrNotFound)
		kit.Must(t, second(f.tenant.RemoveUser(ctx, session, user.ID))) // leaves
		wantErr(t, second(f.tenant.User(ctx, user.ID)), store.ErrNotFound)
		wantErr(t, second(f.Authenticate(ctx, digest(11))), store.ErrNotFound)
		wantErr(t, third(f.UsableInvitation(ctx, digest(30))), store.ErrNotFound)
		left, err := f.tenant.APIKey(ctx, key.ID)
		kit.Must(t, err)
		if left.RevokedAt != nil || left.CreatedBy != nil {
			t.Errorf("the key is %+v", left)
		}
		kit.Must(t, second(f.AddUser(ctx, other.account.ID, store.NewUser{Email: user.Email, Role: access.Viewer, PasswordHash: "$", Proved: true})))
		kit.Must(t, second(f.tenant.RemoveUser(ctx, as(f.user.ID), viewer)))
	})
}

// TestOwnerWhoHasGivenWay checks that an owner who has given way is not counted as one who can log in.
func TestOwnerWhoHasGivenWay(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.unproved(t, f.company, "gone@example.com", 11)
		other := f.newCompany(t, "other@example.com")
		kit.Must(t, second(f.AddUser(ctx, other.account.ID, store.NewUser{Email: "gone@example.com", Role: access.Viewer, PasswordHash: "$", Proved: true})))
		wantErr(t, f.RemoveUser(ctx, f.account.ID, f.user.ID), store.ErrLastOwner)
	})
}

// TestProofsAtOnce checks that of users who prove one address at the same time one wins, and that nobody is left with a session but this one.
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
			if err != nil && !errors.Is(err, store.ErrSessionEnded) && !errors.Is(err, store.ErrExists) {
				t.Error(err)
			}
		})
		if proved := f.number(t, `select count(*) from users where email = $1 and proved_at is not null`, email); proved != 1 {
			t.Errorf("%d users have proved the address", proved)
		}
		if live := f.number(t, `select count(*) from tokens t join users u on u.account_id = t.account_id and u.id = t.user_id where u.email = $1 and t.revoked_at is null`, email); live != 1 {
			t.Errorf("%d sessions are left", live)
		}
	})
}

// TestUpgradeOfAddresses checks who counts as proved after the migration: who is linked, and who has completed a reset with a mailed link; and that
// users, and what refers to them, are as before.
func TestUpgradeOfAddresses(t *testing.T) {
	t.Parallel()
	for _, engine := range storetest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := &storetest.Store{Clock: storetest.NewClock()}
			s.Address = emptyDatabase(t, engine, s)
			migrate := func(last string) {
				t.Helper()
				db, err := store.OpenUnmigrated(ctx, s.Address, s.Options)
				kit.Must(t, err)
				kit.Must(t, errors.Join(db.MigrateTo(ctx, schemaUpTo(t, last)), db.Close()))
			}
			migrate("0057")
			raw := openRaw(t, s)
			id := func(n byte) []byte {
				return append([]byte{1, 0x9c, 0xab, 4, 5, 6, 0x7f, 8, 0x99, 10, 11, 12, 13, 14, 15}, n)
			}
			exec := func(query string, args ...any) {
				t.Helper()
				_, err := raw.ExecContext(ctx, query, args...)
				kit.Must(t, err)
			}
			exec(`insert into accounts (id, company, status, profile, created_at) values ($1, 'Palm', 'active', '{}', 0)`, id(1))
			exec(`insert into tenants (id, account_id, created_at) values ($1, $2, 0)`, id(2), id(1))
			for n, email := range []string{"linked", "reset", "unknown", "disabled"} {
				exec(`insert into users (account_id, id, email, name, password_hash, created_at, password_changed_at, role) values ($1, $2, $3, $3, $4, 5, 7, 'viewer')`, id(1), id(byte(10+n)), email, "$"+email)
				exec(`insert into tokens (digest, account_id, tenant_id, user_id, created_at, expires_at) values ($1, $2, $3, $4, 0, 0)`, id(byte(20+n)), id(1), id(2), id(byte(10+n)))
			}
			exec(`update users set disabled_at = 9, password_change_required = 1 where email = 'disabled'`)
			exec(`insert into sign_on_subjects (account_id, user_id, issuer, subject, linked_at) values ($1, $2, 'i', 's', 0)`, id(1), id(10))
			for n, act := range map[byte]string{11: "user.complete-password-reset", 12: "user.request-password-reset"} {
				exec(`insert into audit (chain, ordinal, id, at, actor_kind, actor, means, source, request_id, act, account_id, subject_type, subject, reason, details, previous, digest)
					values ($1, $2, $3, 0, 'user', '', '', '', '', $4, $1, 'user', $5, '', '{}', $1, $1)`, id(1), n, id(n), act, store.ID(id(n)).String())
			}
			migrate("0058")
			db := &fixture{raw: raw}
			for email, proved := range map[string]int64{"linked": 1, "reset": 1, "unknown": 0, "disabled": 0} {
				if got := db.number(t, `select count(*) from users u join tokens t on t.account_id = u.account_id and t.user_id = u.id where u.email = $1 and u.name = $1 and u.password_hash = '$' || u.email
					and u.role = 'viewer' and u.created_at = 5 and u.password_changed_at = 7 and (u.disabled_at is null) = (u.email <> 'disabled') and u.password_change_required = case when u.email = 'disabled' then 1 else 0 end
					and u.proved_at is `+map[int64]string{0: "null", 1: "not null"}[proved], email); got != 1 {
					t.Errorf("%s: %d users as expected", email, got)
				}
			}
			if engine == storetest.SQLite { // whose table of users was built anew
				wantEqual(t, "references without a row", db.number(t, `select count(*) from pragma_foreign_key_check`), int64(0))
				wantEqual(t, "keys of tokens that refer to users", db.number(t, `select count(*) from pragma_foreign_key_list('tokens') where "table" = 'users'`) > 0, true)
			}
		})
	}
}
