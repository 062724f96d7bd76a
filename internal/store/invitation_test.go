package store_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/access"
	"quittance/internal/store"
	"quittance/test/kit"
)

// invite makes an invitation by the company's first user, with the digest of n.
func (f *fixture) invite(t *testing.T, n byte, email string, role access.Role) store.Invitation {
	t.Helper()
	made, err := f.tenant.Invite(t.Context(), new(as(f.user.ID)),
		store.NewInvitation{Email: email, Role: role, Digest: digest(n), ExpiresAt: f.Clock.Now().Add(72 * time.Hour)})
	kit.Must(t, err)
	return made
}

// TestInvitation checks that an invitation adds one user with its address and role, once and until it expires, and that
// it is not usable after it is replaced or revoked, after its inviter is disabled or may not invite any more, or while
// the account is suspended.
func TestInvitation(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		usable := func(n byte) bool {
			t.Helper()
			found, err := f.UsableInvitation(ctx, digest(n))
			if err != nil && !errors.Is(err, store.ErrNotFound) || err == nil &&
				(found.Company != f.account.Company || found.Account != f.account.ID) {
				t.Errorf("invitation %d: %+v, %v", n, found, err)
			}
			return err == nil
		}
		made := f.invite(t, 60, "books@example.com", access.Accountant)
		listed, err := f.tenant.Invitations(ctx)
		kit.Must(t, err)
		wantEqual(t, "invitations", listed, []store.Invitation{made})
		joined, err := f.Join(ctx, digest(60), store.NewUser{Name: "Books", PasswordHash: "$2", Email: "ignored@example.com",
			Role: access.Owner}, store.NewProof{})
		kit.Must(t, err)
		wantEqual(t, "joined", joined, store.User{Account: f.account.ID, ID: joined.ID, Email: "books@example.com",
			Name: "Books", Role: access.Accountant, PasswordHash: "$2", CreatedAt: f.Clock.Now()})
		_, err = f.Join(ctx, digest(60), store.NewUser{Name: "Again", PasswordHash: "$3"}, store.NewProof{})
		wantErr(t, err, store.ErrNotFound)
		_, err = f.tenant.Invite(ctx, new(as(f.user.ID)), store.NewInvitation{Email: "books@example.com", Role: access.Viewer,
			Digest: digest(61), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		wantErr(t, err, store.ErrExists)

		f.invite(t, 62, "new@example.com", access.Viewer)
		replaced := f.invite(t, 63, "new@example.com", access.Developer)
		if usable(62) || !usable(63) {
			t.Error("the replaced invitation is usable")
		}
		wantErr(t, second(f.tenant.RevokeInvitation(ctx, as(joined.ID), replaced.ID)), store.ErrForbidden)
		wantErr(t, second(f.decoy.tenant.RevokeInvitation(ctx, as(f.decoy.user.ID), replaced.ID)), store.ErrNotFound)
		kit.Must(t, second(f.tenant.RevokeInvitation(ctx, as(f.user.ID), replaced.ID)))
		wantErr(t, second(f.tenant.RevokeInvitation(ctx, as(f.user.ID), replaced.ID)), store.ErrNotFound)
		if usable(63) {
			t.Error("the revoked invitation is usable")
		}

		f.invite(t, 64, "late@example.com", access.Viewer)
		f.Clock.Advance(72*time.Hour - time.Microsecond)
		if !usable(64) {
			t.Error("the invitation has ended early")
		}
		f.Clock.Advance(time.Microsecond)
		if _, err := f.Join(ctx, digest(64), store.NewUser{Name: "Late", PasswordHash: "$2"}, store.NewProof{}); usable(64) ||
			!errors.Is(err, store.ErrNotFound) {
			t.Errorf("an expired invitation is usable: %v", err)
		}
		if listed, err := f.tenant.Invitations(ctx); err != nil || len(listed) != 1 {
			t.Errorf("%d invitations, %v; want the expired one", len(listed), err)
		}

		f.Clock.Advance(8 * 24 * time.Hour)
		f.invite(t, 65, "other@example.com", access.Viewer)
		if listed, err := f.tenant.Invitations(ctx); err != nil || len(listed) != 1 ||
			listed[0].Email != "other@example.com" {
			t.Errorf("%+v, %v; want the new one alone", listed, err)
		}
		kit.Must(t, f.SuspendAccount(ctx, f.account.ID))
		if _, err := f.Join(ctx, digest(65), store.NewUser{Name: "Other", PasswordHash: "$2"},
			store.NewProof{}); usable(65) || !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an invitation of a suspended account is usable: %v", err)
		}
		kit.Must(t, f.ReactivateAccount(ctx, f.account.ID))
		if !usable(65) {
			t.Error("the invitation of a reactivated account is not usable")
		}

		kit.Must(t, f.SetRole(ctx, f.account.ID, joined.ID, access.Owner))
		for n, end := range map[byte]func() error{
			70: func() error { return f.DisableUser(ctx, f.account.ID, joined.ID, false) },
			71: func() error { return f.SetRole(ctx, f.account.ID, joined.ID, access.Viewer) },
		} {
			kit.Must(t, f.EnableUser(ctx, f.account.ID, joined.ID))
			kit.Must(t, f.SetRole(ctx, f.account.ID, joined.ID, access.Owner))
			_, err := f.tenant.Invite(ctx, new(as(joined.ID)), store.NewInvitation{Email: fmt.Sprintf("by-%d@example.com", n),
				Role: access.Owner, Digest: digest(n), ExpiresAt: f.Clock.Now().Add(time.Hour)})
			kit.Must(t, err)
			kit.Must(t, end())
			if usable(n) {
				t.Errorf("invitation %d is usable after its inviter", n)
			}
		}
		_, err = f.tenant.Invite(ctx, new(as(joined.ID)), store.NewInvitation{Email: "no@example.com", Role: access.Viewer,
			Digest: digest(72), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		wantErr(t, err, store.ErrForbidden)
		_, err = f.tenant.Invite(ctx, nil, store.NewInvitation{Email: "administered@example.com", Role: access.Owner,
			Digest: digest(73), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		if !usable(73) || !usable(65) {
			t.Error("the invitations of others have ended")
		}
		wantActs(t, f, map[string]int{"user.invite": 8, "user.join": 1, "invitation.revoke": 3})
	})
}

// second returns the second of two values.
func second[T any](_ T, err error) error { return err }

// wantActs counts the acts of the fixture's company in the audit log.
func wantActs(t *testing.T, f *fixture, want map[string]int) {
	t.Helper()
	for act, n := range want {
		if got := len(f.audited(t, act)); got != n {
			t.Errorf("%d entries of %s, want %d", got, act, n)
		}
	}
}

// TestInvitationOfAnotherCompanysUser checks that the company that invites does not learn whether another company has a
// user with the address, and that whoever joins with the link that was shown proves nothing.
func TestInvitationOfAnotherCompanysUser(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		f.invite(t, 60, f.decoy.user.Email, access.Owner)
		joined, err := f.Join(t.Context(), digest(60), store.NewUser{Name: "Twice", PasswordHash: "$2"}, store.NewProof{})
		kit.Must(t, err)
		if joined.ProvedAt != nil {
			t.Errorf("joined %+v", joined)
		}
		wantEqual(t, "who may log in", f.logins(t, f.decoy.user.Email, store.ID{}), []store.ID{f.decoy.user.ID, joined.ID})
	})
}

// TestInvitationsAtOnce checks that of concurrent uses of an invitation one adds a user, and that a use beside a
// revocation either comes first or fails.
func TestInvitationsAtOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.invite(t, 60, "one@example.com", access.Viewer)
		var joined atomic.Int32
		race(8, func(i int) {
			if _, err := f.Join(ctx, digest(60), store.NewUser{Name: fmt.Sprint(i), PasswordHash: "$2"},
				store.NewProof{}); err == nil {
				joined.Add(1)
			} else if !errors.Is(err, store.ErrNotFound) {
				t.Error(err)
			}
		})
		if joined.Load() != 1 {
			t.Errorf("%d uses succeeded, want 1", joined.Load())
		}
		made := f.invite(t, 61, "two@example.com", access.Viewer)
		var uses, revocations atomic.Int32
		race(2, func(i int) {
			if i == 0 {
				if _, err := f.Join(ctx, digest(61), store.NewUser{Name: "Two", PasswordHash: "$2"}, store.NewProof{}); err == nil {
					uses.Add(1)
				}
			} else if _, err := f.tenant.RevokeInvitation(ctx, as(f.user.ID), made.ID); err == nil {
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		for n := range store.MaxUsers - 1 {
			_, err := f.tenant.Invite(t.Context(), nil, store.NewInvitation{Email: fmt.Sprintf("p%d@example.com", n),
				Role: access.Viewer, Digest: [32]byte{7, byte(n), byte(n >> 8)}, ExpiresAt: f.Clock.Now().Add(time.Hour)})
			kit.Must(t, err)
		}
		_, err := f.tenant.Invite(t.Context(), nil, store.NewInvitation{Email: "more@example.com", Role: access.Viewer,
			Digest: digest(60), ExpiresAt: f.Clock.Now().Add(time.Hour)})
		wantErr(t, err, store.ErrLimit)
		f.invite(t, 61, "p1@example.com", access.Viewer)
	})
}
