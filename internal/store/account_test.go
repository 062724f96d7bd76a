package store_test

import (
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/access"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
)

func digest(n byte) [32]byte { return [32]byte{31: n} }

func (f *fixture) token(t *testing.T, n byte, ttl time.Duration) [32]byte {
	t.Helper()
	_, err := f.CreateToken(t.Context(), f.user, store.NewToken{Digest: digest(n), ExpiresAt: f.Clock.Now().Add(ttl)})
	kit.Must(t, err)
	return digest(n)
}

// TestTokens checks that a token authenticates its company until it expires, is revoked, or its tenant is frozen.
func TestTokens(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		token := f.token(t, 10, time.Hour)
		session, err := f.Authenticate(ctx, token)
		kit.Must(t, err)
		if session.Tenant.Key() != f.tenant.Key() || session.Account.ID != f.account.ID ||
			session.Account.Company != f.account.Company ||
			session.User != f.user.ID || session.Digest != token {
			t.Errorf("session %+v is another user's", session)
		}
		_, err = session.Tenant.CreateInvoice(ctx, draft("INV-1"))
		kit.Must(t, err)
		_, err = f.Authenticate(ctx, digest(99))
		wantErr(t, err, store.ErrNotFound)

		f.Clock.Advance(time.Hour - time.Microsecond)
		_, err = f.Authenticate(ctx, token)
		kit.Must(t, err)
		f.Clock.Advance(time.Microsecond)
		_, err = f.Authenticate(ctx, token)
		wantErr(t, err, store.ErrNotFound)

		revoked, other := f.token(t, 11, time.Hour), f.token(t, 12, time.Hour)
		kit.Must(t, f.RevokeToken(ctx, revoked))
		kit.Must(t, f.RevokeToken(ctx, digest(99))) // revoking an unknown token succeeds
		_, err = f.Authenticate(ctx, revoked)
		wantErr(t, err, store.ErrNotFound)
		_, err = f.Authenticate(ctx, other)
		kit.Must(t, err)
	})
}

// TestFrozenTenant checks that a frozen tenant has no valid token and starts nothing new, and that its submissions stay
// readable.
func TestFrozenTenant(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		token := f.token(t, 10, time.Hour)
		drafted := f.create(t, "INV-1")
		f.subscribe(t, api.EventKinds[:]...)
		record(t, f.submit(t, "INV-2"), allFour("accepted", true), api.EventTerminal)
		f.exec(t, `update tenants set frozen_at = 1 where id = $1`, f.tenant.Key())

		_, err := f.Authenticate(ctx, token)
		wantErr(t, err, store.ErrNotFound)
		_, err = f.Tenant(ctx, f.account.ID)
		wantErr(t, err, store.ErrNotFound)
		_, err = f.CreateToken(ctx, f.user, store.NewToken{Digest: digest(11), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		wantErr(t, err, store.ErrNotFound)
		_, err = f.tenant.CreateInvoice(ctx, draft("INV-3"))
		wantErr(t, err, store.ErrNotFound)
		_, err = f.tenant.CreateSubscription(ctx, store.NewSubscription{URL: hookURL})
		wantErr(t, err, store.ErrNotFound)
		_, _, err = f.tenant.BeginSubmission(ctx, drafted.ID, intent())
		wantErr(t, err, store.ErrNotFound)
		scan, err := f.DueDeliveryQueues(ctx, store.ScanCursor{})
		kit.Must(t, err)
		if len(scan.Queues) != 0 {
			t.Errorf("%d queues of a frozen tenant are delivered", len(scan.Queues))
		}
		kept, err := view.Of(f.tenant).Invoices(ctx, view.InvoiceFilter{}, 1, 25)
		kit.Must(t, err)
		if kept.Total != 2 {
			t.Errorf("%d invoices are kept, want 2", kept.Total)
		}
	})
}

// TestSuspension checks that a suspension prevents logins and permanently revokes tokens, and that a reactivation only
// allows logins again.
func TestSuspension(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		token := f.token(t, 10, time.Hour)
		kit.Must(t, f.SuspendAccount(ctx, f.account.ID))
		since := f.Clock.Now()
		f.Clock.Advance(time.Minute)
		kit.Must(t, f.SuspendAccount(ctx, f.account.ID)) // a repetition changes nothing
		account, err := f.Account(ctx, f.account.ID)
		kit.Must(t, err)
		if account.Status != store.AccountSuspended || account.SuspendedAt == nil || !account.SuspendedAt.Equal(since) {
			t.Errorf("suspended account %+v, want it suspended since %v", account, since)
		}
		_, err = f.Authenticate(ctx, token)
		wantErr(t, err, store.ErrNotFound)
		_, err = f.CreateToken(ctx, f.user, store.NewToken{Digest: digest(11), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		wantErr(t, err, store.ErrSuspended)

		kit.Must(t, f.ReactivateAccount(ctx, f.account.ID))
		account, err = f.Account(ctx, f.account.ID)
		kit.Must(t, err)
		if account.Status != store.AccountActive || account.SuspendedAt != nil {
			t.Errorf("reactivated account %+v", account)
		}
		_, err = f.Authenticate(ctx, token)
		wantErr(t, err, store.ErrNotFound)
		_, err = f.Authenticate(ctx, f.token(t, 12, time.Hour))
		kit.Must(t, err)
	})
}

// TestSuspensionRace checks that no token survives a suspension that runs beside a login.
func TestSuspensionRace(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		race(12, func(i int) {
			if i == 6 {
				must2(t, f.SuspendAccount(t.Context(), f.account.ID))
				return
			}
			// It may be refused, and then creates no token.
			_, _ = f.CreateToken(t.Context(), f.user, store.NewToken{Digest: digest(byte(20 + i)),
				ExpiresAt: f.Clock.Now().Add(time.Hour)})
		})
		kit.Must(t, f.ReactivateAccount(t.Context(), f.account.ID))
		for i := range 12 {
			_, err := f.Authenticate(t.Context(), digest(byte(20+i)))
			wantErr(t, err, store.ErrNotFound)
		}
	})
}

// must2 is must for other goroutines than the test's own, and for functions with a result.
func must2(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// TestUsers checks that a proved e-mail address belongs to one user of the whole service.
func TestUsers(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		_, err := f.CreateAccount(ctx, "Other", store.NewUser{Email: f.user.Email, Proved: true})
		wantErr(t, err, store.ErrProvedElsewhere)
		accounts, err := f.Accounts(ctx, 100)
		kit.Must(t, err)
		if len(accounts) != 2 {
			t.Errorf("%d accounts after a refused one, want 2", len(accounts))
		}
		_, err = f.AddUser(ctx, f.account.ID, store.NewUser{Role: access.Owner, Email: f.user.Email})
		wantErr(t, err, store.ErrExists)
		_, err = f.AddUser(ctx, store.ID{1}, store.NewUser{Role: access.Owner, Email: "new@example.com"})
		wantErr(t, err, store.ErrNotFound)
		f.Clock.Advance(time.Second)
		id, err := f.AddUser(ctx, f.account.ID, store.NewUser{Role: access.Owner, Email: "second@example.com", Name: "Second",
			PasswordHash: "$2"})
		kit.Must(t, err)
		users, err := f.Users(ctx, f.account.ID)
		kit.Must(t, err)
		wantEqual(t, "users", users, []store.User{f.user,
			{Account: f.account.ID, ID: id, Email: "second@example.com", Name: "Second", Role: access.Owner, PasswordHash: "$2",
				CreatedAt: f.Clock.Now()}})
		_, err = f.UserByEmail(ctx, "SECOND@example.com")
		wantErr(t, err, store.ErrNotFound)

		var made atomic.Int32
		race(8, func(int) {
			if _, err := f.CreateAccount(ctx, "Race", store.NewUser{Email: "race@example.com", Proved: true}); err == nil {
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		kit.Must(t, f.SetProfile(ctx, f.account.ID, api.Profile{LegalName: new("Palm <Trading> LLC"), City: new("Dubai")}))
		kit.Must(t, f.SetProfile(ctx, f.account.ID, api.Profile{LegalName: new("Palm <Trading> LLC")}))
		session, err := f.Authenticate(ctx, f.token(t, 10, time.Hour))
		kit.Must(t, err)
		if p := session.Account.Profile; p.LegalName == nil || *p.LegalName != "Palm <Trading> LLC" || p.City != nil {
			t.Errorf("profile %+v", p)
		}
		if logo, err := f.tenant.Logo(ctx); err != nil || logo != nil {
			t.Errorf("logo of an account without a logo: %v, %v", logo, err)
		}
		kit.Must(t, f.SetProfile(ctx, f.account.ID,
			api.Profile{LegalName: new("Palm"), Logo: new("data:image/png;base64,AAAA")}))
		logo, err := f.tenant.Logo(ctx)
		kit.Must(t, err)
		found, err := f.Account(ctx, f.account.ID)
		kit.Must(t, err)
		if logo == nil || *logo != "data:image/png;base64,AAAA" || found.Profile.Logo != nil ||
			*found.Profile.LegalName != "Palm" {
			t.Errorf("logo %v, profile %+v", logo, found.Profile)
		}
		wantErr(t, f.SetProfile(ctx, store.ID{1}, api.Profile{}), store.ErrNotFound)
		for _, change := range []func() error{
			func() error { return f.SuspendAccount(ctx, store.ID{1}) },
			func() error { return f.ReactivateAccount(ctx, store.ID{1}) },
			func() error { _, err := f.Account(ctx, store.ID{1}); return err },
			func() error { _, err := f.Tenant(ctx, store.ID{1}); return err },
		} {
			wantErr(t, change(), store.ErrNotFound)
		}
	})
}
