package identity_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestInvitation checks that an invitation adds one user with its address and role, once and until it expires, and that
// it is not usable after it is replaced or revoked, after its inviter is disabled or may not invite any more, or while
// the account is suspended.
func TestInvitation(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		usable := func(n byte) bool {
			t.Helper()
			found, err := identity.FindUsableInvitation(ctx, f.DB, fixture.Digest(n))
			if err != nil && !errors.Is(err, base.ErrNotFound) || err == nil &&
				(found.Company != f.Account.Company || found.Account != f.Account.ID) {
				t.Errorf("invitation %d: %+v, %v", n, found, err)
			}
			return err == nil
		}
		made := f.Invite(t, 60, "books@example.com", access.Accountant)
		listed, err := identity.Invitations(ctx, f.Tenant)
		kit.Must(t, err)
		fixture.WantEqual(t, "invitations", listed, []identity.Invitation{made})
		joined, err := identity.Join(ctx, f.DB, fixture.Digest(60), identity.NewUser{Name: "Books",
			PasswordHash: "$2", Email: "ignored@example.com", Role: access.Owner}, identity.NewProof{})
		kit.Must(t, err)
		fixture.WantEqual(t, "joined", joined, base.User{Account: f.Account.ID, ID: joined.ID, Email: "books@example.com",
			Name: "Books", Role: access.Accountant, PasswordHash: "$2", CreatedAt: f.Clock.Now()})
		_, err = identity.Join(ctx, f.DB, fixture.Digest(60), identity.NewUser{Name: "Again", PasswordHash: "$3"},
			identity.NewProof{})
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = identity.Invite(ctx, f.Tenant, new(fixture.As(f.User.ID)),
			identity.NewInvitation{Email: "books@example.com", Role: access.Viewer,
				Digest: fixture.Digest(61), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		fixture.WantErr(t, err, base.ErrExists)

		f.Invite(t, 62, "new@example.com", access.Viewer)
		replaced := f.Invite(t, 63, "new@example.com", access.Developer)
		if usable(62) || !usable(63) {
			t.Error("the replaced invitation is usable")
		}
		fixture.WantErr(t, fixture.Second(identity.RevokeInvitation(ctx, f.Tenant, fixture.As(joined.ID), replaced.ID)),
			base.ErrForbidden)
		fixture.WantErr(t, fixture.Second(identity.RevokeInvitation(ctx, f.Decoy.Tenant, fixture.As(f.Decoy.User.ID),
			replaced.ID)), base.ErrNotFound)
		kit.Must(t, fixture.Second(identity.RevokeInvitation(ctx, f.Tenant, fixture.As(f.User.ID), replaced.ID)))
		fixture.WantErr(t, fixture.Second(identity.RevokeInvitation(ctx, f.Tenant, fixture.As(f.User.ID), replaced.ID)),
			base.ErrNotFound)
		if usable(63) {
			t.Error("the revoked invitation is usable")
		}

		f.Invite(t, 64, "late@example.com", access.Viewer)
		f.Clock.Advance(72*time.Hour - time.Microsecond)
		if !usable(64) {
			t.Error("the invitation has ended early")
		}
		f.Clock.Advance(time.Microsecond)
		if _, err := identity.Join(ctx, f.DB, fixture.Digest(64), identity.NewUser{Name: "Late",
			PasswordHash: "$2"}, identity.NewProof{}); usable(64) ||
			!errors.Is(err, base.ErrNotFound) {
			t.Errorf("an expired invitation is usable: %v", err)
		}
		if listed, err := identity.Invitations(ctx, f.Tenant); err != nil || len(listed) != 1 {
			t.Errorf("%d invitations, %v; want the expired one", len(listed), err)
		}

		f.Clock.Advance(8 * 24 * time.Hour)
		f.Invite(t, 65, "other@example.com", access.Viewer)
		if listed, err := identity.Invitations(ctx, f.Tenant); err != nil || len(listed) != 1 ||
			listed[0].Email != "other@example.com" {
			t.Errorf("%+v, %v; want the new one alone", listed, err)
		}
		kit.Must(t, identity.SuspendAccount(ctx, f.DB, f.Account.ID))
		if _, err := identity.Join(ctx, f.DB, fixture.Digest(65), identity.NewUser{Name: "Other", PasswordHash: "$2"},
			identity.NewProof{}); usable(65) || !errors.Is(err, base.ErrNotFound) {
			t.Errorf("an invitation of a suspended account is usable: %v", err)
		}
		kit.Must(t, identity.ReactivateAccount(ctx, f.DB, f.Account.ID))
		if !usable(65) {
			t.Error("the invitation of a reactivated account is not usable")
		}

		kit.Must(t, identity.SetRole(ctx, f.DB, f.Account.ID, joined.ID, access.Owner))
		for n, end := range map[byte]func() error{
			70: func() error { return identity.DisableUser(ctx, f.DB, f.Account.ID, joined.ID, false) },
			71: func() error { return identity.SetRole(ctx, f.DB, f.Account.ID, joined.ID, access.Viewer) },
		} {
			kit.Must(t, identity.EnableUser(ctx, f.DB, f.Account.ID, joined.ID))
			kit.Must(t, identity.SetRole(ctx, f.DB, f.Account.ID, joined.ID, access.Owner))
			_, err := identity.Invite(ctx, f.Tenant, new(fixture.As(joined.ID)),
				identity.NewInvitation{Email: fmt.Sprintf("by-%d@example.com", n),
					Role: access.Owner, Digest: fixture.Digest(n), ExpiresAt: f.Clock.Now().Add(time.Hour)})
			kit.Must(t, err)
			kit.Must(t, end())
			if usable(n) {
				t.Errorf("invitation %d is usable after its inviter", n)
			}
		}
		_, err = identity.Invite(ctx, f.Tenant, new(fixture.As(joined.ID)),
			identity.NewInvitation{Email: "no@example.com", Role: access.Viewer,
				Digest: fixture.Digest(72), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		fixture.WantErr(t, err, base.ErrForbidden)
		_, err = identity.Invite(ctx, f.Tenant, nil, identity.NewInvitation{Email: "administered@example.com",
			Role: access.Owner, Digest: fixture.Digest(73), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		if !usable(73) || !usable(65) {
			t.Error("the invitations of others have ended")
		}
		wantActs(t, f, map[string]int{"user.invite": 8, "user.join": 1, "invitation.revoke": 3})
	})
}

// wantActs counts the acts of the fixture's company in the audit log.
func wantActs(t *testing.T, f *fixture.Fixture, want map[string]int) {
	t.Helper()
	for act, n := range want {
		if got := len(f.Audited(t, act)); got != n {
			t.Errorf("%d entries of %s, want %d", got, act, n)
		}
	}
}

// TestInvitationOfAnotherCompanysUser checks that the company that invites does not learn whether another company has a
// user with the address, and that whoever joins with the link that was shown proves nothing.
func TestInvitationOfAnotherCompanysUser(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		f.Invite(t, 60, f.Decoy.User.Email, access.Owner)
		joined, err := identity.Join(t.Context(), f.DB, fixture.Digest(60), identity.NewUser{Name: "Twice",
			PasswordHash: "$2"}, identity.NewProof{})
		kit.Must(t, err)
		if joined.ProvedAt != nil {
			t.Errorf("joined %+v", joined)
		}
		fixture.WantEqual(t, "who may log in", logins(t, f, f.Decoy.User.Email, base.ID{}), []base.ID{f.Decoy.User.ID,
			joined.ID})
	})
}

// TestInvitationsAtOnce checks that of concurrent uses of an invitation one adds a user, and that a use beside a
// revocation either comes first or fails.
func TestInvitationsAtOnce(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.Invite(t, 60, "one@example.com", access.Viewer)
		var joined atomic.Int32
		fixture.Race(8, func(i int) {
			if _, err := identity.Join(ctx, f.DB, fixture.Digest(60), identity.NewUser{Name: fmt.Sprint(i),
				PasswordHash: "$2"}, identity.NewProof{}); err == nil {
				joined.Add(1)
			} else if !errors.Is(err, base.ErrNotFound) {
				t.Error(err)
			}
		})
		if joined.Load() != 1 {
			t.Errorf("%d uses succeeded, want 1", joined.Load())
		}
		made := f.Invite(t, 61, "two@example.com", access.Viewer)
		var uses, revocations atomic.Int32
		fixture.Race(2, func(i int) {
			if i == 0 {
				if _, err := identity.Join(ctx, f.DB, fixture.Digest(61), identity.NewUser{Name: "Two",
					PasswordHash: "$2"}, identity.NewProof{}); err == nil {
					uses.Add(1)
				}
			} else if _, err := identity.RevokeInvitation(ctx, f.Tenant, fixture.As(f.User.ID), made.ID); err == nil {
				revocations.Add(1)
			}
		})
		if uses.Load()+revocations.Load() != 1 {
			t.Errorf("%d uses and %d revocations succeeded, want one of them", uses.Load(), revocations.Load())
		}
	})
}

// TestUsersAreBounded checks that users and pending invitations together are bounded, and that replacing an invitation
// needs no place.
func TestUsersAreBounded(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		for n := range identity.MaxUsers - 1 {
			_, err := identity.Invite(t.Context(), f.Tenant, nil,
				identity.NewInvitation{Email: fmt.Sprintf("p%d@example.com", n),
					Role: access.Viewer, Digest: [32]byte{7, byte(n), byte(n >> 8)}, ExpiresAt: f.Clock.Now().Add(time.Hour)})
			kit.Must(t, err)
		}
		_, err := identity.Invite(t.Context(), f.Tenant, nil, identity.NewInvitation{Email: "more@example.com",
			Role: access.Viewer, Digest: fixture.Digest(60), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		fixture.WantErr(t, err, base.ErrLimit)
		f.Invite(t, 61, "p1@example.com", access.Viewer)
	})
}
