package identity_test

import (
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestTokens checks that a token authenticates its company until it expires, is revoked, or its tenant is frozen.
func TestTokens(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		token := f.Token(t, 10, time.Hour)
		session, err := f.Authenticate(ctx, token)
		kit.Must(t, err)
		if session.Tenant.ID() != f.Tenant.ID() || session.Account.ID != f.Account.ID ||
			session.Account.Company != f.Account.Company ||
			session.User != f.User.ID || session.Digest != token {
			t.Errorf("session %+v is another user's", session)
		}
		_, err = invoices.Create(ctx, session.Tenant, fixture.Draft("INV-1"))
		kit.Must(t, err)
		_, err = f.Authenticate(ctx, fixture.Digest(99))
		fixture.WantErr(t, err, base.ErrNotFound)

		f.Clock.Advance(time.Hour - time.Microsecond)
		_, err = f.Authenticate(ctx, token)
		kit.Must(t, err)
		f.Clock.Advance(time.Microsecond)
		_, err = f.Authenticate(ctx, token)
		fixture.WantErr(t, err, base.ErrNotFound)

		revoked, other := f.Token(t, 11, time.Hour), f.Token(t, 12, time.Hour)
		kit.Must(t, identity.RevokeToken(ctx, f.DB, revoked))
		kit.Must(t, identity.RevokeToken(ctx, f.DB, fixture.Digest(99))) // revoking an unknown token succeeds
		_, err = f.Authenticate(ctx, revoked)
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = f.Authenticate(ctx, other)
		kit.Must(t, err)
	})
}

// TestFrozenTenant checks that a frozen tenant has no valid token and starts nothing new, and that its submissions stay
// readable.
func TestFrozenTenant(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		token := f.Token(t, 10, time.Hour)
		drafted := f.Create(t, "INV-1")
		f.Subscribe(t, api.EventKinds[:]...)
		fixture.Record(t, f.Submit(t, "INV-2"), fixture.AllFour("accepted", true), api.EventTerminal)
		f.Exec(t, `update tenants set frozen_at = 1 where id = $1`, f.Tenant.ID())

		_, err := f.Authenticate(ctx, token)
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = f.DB.Tenant(ctx, f.Account.ID)
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = identity.CreateToken(ctx, f.DB, f.User, identity.NewToken{Digest: fixture.Digest(11),
			ExpiresAt: f.Clock.Now().Add(time.Hour)})
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = invoices.Create(ctx, f.Tenant, fixture.Draft("INV-3"))
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = events.CreateSubscription(ctx, f.Tenant, events.NewSubscription{URL: fixture.HookURL})
		fixture.WantErr(t, err, base.ErrNotFound)
		_, _, err = invoices.BeginSubmission(ctx, f.Tenant, drafted.ID, fixture.Intent())
		fixture.WantErr(t, err, base.ErrNotFound)
		scan, err := events.DueDeliveryQueues(ctx, f.DB, base.ScanCursor{})
		kit.Must(t, err)
		if len(scan.Queues) != 0 {
			t.Errorf("%d queues of a frozen tenant are delivered", len(scan.Queues))
		}
		kept, err := view.Of(f.Tenant).Invoices(ctx, view.InvoiceFilter{}, 1, 25)
		kit.Must(t, err)
		if kept.Total != 2 {
			t.Errorf("%d invoices are kept, want 2", kept.Total)
		}
	})
}

// TestSuspension checks that a suspension prevents logins and permanently revokes tokens, and that a reactivation only
// allows logins again.
func TestSuspension(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		token := f.Token(t, 10, time.Hour)
		kit.Must(t, identity.SuspendAccount(ctx, f.DB, f.Account.ID))
		since := f.Clock.Now()
		f.Clock.Advance(time.Minute)
		kit.Must(t, identity.SuspendAccount(ctx, f.DB, f.Account.ID)) // a repetition changes nothing
		account, err := identity.FindAccount(ctx, f.DB, f.Account.ID)
		kit.Must(t, err)
		if account.Status != base.AccountSuspended || account.SuspendedAt == nil || !account.SuspendedAt.Equal(since) {
			t.Errorf("suspended account %+v, want it suspended since %v", account, since)
		}
		_, err = f.Authenticate(ctx, token)
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = identity.CreateToken(ctx, f.DB, f.User, identity.NewToken{Digest: fixture.Digest(11),
			ExpiresAt: f.Clock.Now().Add(time.Hour)})
		fixture.WantErr(t, err, identity.ErrSuspended)

		kit.Must(t, identity.ReactivateAccount(ctx, f.DB, f.Account.ID))
		account, err = identity.FindAccount(ctx, f.DB, f.Account.ID)
		kit.Must(t, err)
		if account.Status != base.AccountActive || account.SuspendedAt != nil {
			t.Errorf("reactivated account %+v", account)
		}
		_, err = f.Authenticate(ctx, token)
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = f.Authenticate(ctx, f.Token(t, 12, time.Hour))
		kit.Must(t, err)
	})
}

// TestSuspensionRace checks that no token survives a suspension that runs beside a login.
func TestSuspensionRace(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Race(12, func(i int) {
			if i == 6 {
				fixture.Must2(t, identity.SuspendAccount(t.Context(), f.DB, f.Account.ID))
				return
			}
			// It may be refused, and then creates no token.
			_, _ = identity.CreateToken(t.Context(), f.DB, f.User, identity.NewToken{Digest: fixture.Digest(byte(20 + i)),
				ExpiresAt: f.Clock.Now().Add(time.Hour)})
		})
		kit.Must(t, identity.ReactivateAccount(t.Context(), f.DB, f.Account.ID))
		for i := range 12 {
			_, err := f.Authenticate(t.Context(), fixture.Digest(byte(20+i)))
			fixture.WantErr(t, err, base.ErrNotFound)
		}
	})
}

// TestUsers checks that a proved e-mail address belongs to one user of the whole service.
func TestUsers(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		_, err := identity.CreateAccount(ctx, f.DB, "Other", identity.NewUser{Email: f.User.Email, Proved: true})
		fixture.WantErr(t, err, identity.ErrProvedElsewhere)
		accounts, err := identity.Accounts(ctx, f.DB, 100)
		kit.Must(t, err)
		if len(accounts) != 2 {
			t.Errorf("%d accounts after a refused one, want 2", len(accounts))
		}
		_, err = identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Role: access.Owner, Email: f.User.Email})
		fixture.WantErr(t, err, base.ErrExists)
		_, err = identity.AddUser(ctx, f.DB, base.ID{1}, identity.NewUser{Role: access.Owner, Email: "new@example.com"})
		fixture.WantErr(t, err, base.ErrNotFound)
		f.Clock.Advance(time.Second)
		id, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Role: access.Owner,
			Email: "second@example.com", Name: "Second", PasswordHash: "$2"})
		kit.Must(t, err)
		users, err := identity.UsersOf(ctx, f.DB, f.Account.ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "users", users, []base.User{f.User,
			{Account: f.Account.ID, ID: id, Email: "second@example.com", Name: "Second", Role: access.Owner, PasswordHash: "$2",
				CreatedAt: f.Clock.Now()}})
		_, err = f.UserByEmail(ctx, "SECOND@example.com")
		fixture.WantErr(t, err, base.ErrNotFound)

		var made atomic.Int32
		fixture.Race(8, func(int) {
			if _, err := identity.CreateAccount(ctx, f.DB, "Race", identity.NewUser{Email: "race@example.com",
				Proved: true}); err == nil {
				made.Add(1)
			}
		})
		if made.Load() != 1 {
			t.Errorf("%d accounts were created for one address", made.Load())
		}
	})
}

// TestProfile checks that the profile is replaced as a whole and is part of the session.
func TestProfile(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		kit.Must(t, identity.SetProfile(ctx, f.DB, f.Account.ID, api.Profile{LegalName: new("Palm <Trading> LLC"),
			City: new("Dubai")}))
		kit.Must(t, identity.SetProfile(ctx, f.DB, f.Account.ID, api.Profile{LegalName: new("Palm <Trading> LLC")}))
		session, err := f.Authenticate(ctx, f.Token(t, 10, time.Hour))
		kit.Must(t, err)
		if p := session.Account.Profile; p.LegalName == nil || *p.LegalName != "Palm <Trading> LLC" || p.City != nil {
			t.Errorf("profile %+v", p)
		}
		if logo, err := identity.Logo(ctx, f.Tenant); err != nil || logo != nil {
			t.Errorf("logo of an account without a logo: %v, %v", logo, err)
		}
		kit.Must(t, identity.SetProfile(ctx, f.DB, f.Account.ID,
			api.Profile{LegalName: new("Palm"), Logo: new("data:image/png;base64,AAAA")}))
		logo, err := identity.Logo(ctx, f.Tenant)
		kit.Must(t, err)
		found, err := identity.FindAccount(ctx, f.DB, f.Account.ID)
		kit.Must(t, err)
		if logo == nil || *logo != "data:image/png;base64,AAAA" || found.Profile.Logo != nil ||
			*found.Profile.LegalName != "Palm" {
			t.Errorf("logo %v, profile %+v", logo, found.Profile)
		}
		fixture.WantErr(t, identity.SetProfile(ctx, f.DB, base.ID{1}, api.Profile{}), base.ErrNotFound)
		for _, change := range []func() error{
			func() error { return identity.SuspendAccount(ctx, f.DB, base.ID{1}) },
			func() error { return identity.ReactivateAccount(ctx, f.DB, base.ID{1}) },
			func() error { _, err := identity.FindAccount(ctx, f.DB, base.ID{1}); return err },
			func() error { _, err := f.DB.Tenant(ctx, base.ID{1}); return err },
		} {
			fixture.WantErr(t, change(), base.ErrNotFound)
		}
	})
}
