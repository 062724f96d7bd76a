package identity_test

import (
	"errors"
	"testing"
	"time"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// to returns a change to the given values.
func to(role access.Role, active bool) func(identity.UserChange) (identity.UserChange, error) {
	return func(identity.UserChange) (identity.UserChange, error) {
		return identity.UserChange{Role: role, Active: active}, nil
	}
}

// TestChangeUser checks that an owner changes the users of the own company and nobody else does, that a change of
// several values is whole, and that the last active owner stays.
func TestChangeUser(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.Clock.Advance(time.Second)
		id, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Email: "second@example.com",
			Name: "Second", Role: access.Viewer, PasswordHash: "$2"})
		kit.Must(t, err)
		changed, err := identity.ChangeUser(ctx, f.Tenant, fixture.As(f.User.ID), id,
			func(present identity.UserChange) (identity.UserChange, error) {
				if present != (identity.UserChange{Email: "second@example.com", Role: access.Viewer, Active: true}) {
					t.Errorf("present %+v", present)
				}
				return identity.UserChange{Role: access.Owner, Active: false}, nil
			})
		kit.Must(t, err)
		if changed.Role != access.Owner || changed.DisabledAt == nil {
			t.Errorf("changed %+v", changed)
		}
		// a disabled owner
		fixture.WantErr(t, fixture.Second(identity.ChangeUser(ctx, f.Tenant, fixture.As(id), f.User.ID, to(access.Viewer,
			true))), base.ErrForbidden)
		fixture.WantErr(t, fixture.Second(identity.ChangeUser(ctx, f.Tenant, fixture.As(f.User.ID), f.User.ID,
			to(access.Viewer, true))), identity.ErrLastOwner)
		fixture.WantErr(t, fixture.Second(identity.ChangeUser(ctx, f.Tenant, fixture.As(f.User.ID), f.User.ID,
			to(access.Owner, false))), identity.ErrLastOwner)
		fixture.WantErr(t, fixture.Second(identity.ChangeUser(ctx, f.Tenant, fixture.As(f.User.ID), f.Decoy.User.ID,
			to(access.Viewer, true))), base.ErrNotFound)
		fixture.WantErr(t, fixture.Second(identity.ChangeUser(ctx, f.Tenant, fixture.As(f.Decoy.User.ID), id,
			to(access.Viewer, true))), base.ErrForbidden)
		refused := errors.New("refused")
		fixture.WantErr(t, fixture.Second(identity.ChangeUser(ctx, f.Tenant, fixture.As(f.User.ID),
			id, func(now identity.UserChange) (identity.UserChange, error) { return now, refused })), refused)
		kit.Must(t, fixture.Second(identity.ChangeUser(ctx, f.Tenant, fixture.As(f.User.ID), id, to(access.Owner, true))))
		// another owner is left
		kit.Must(t, fixture.Second(identity.ChangeUser(ctx, f.Tenant, fixture.As(f.User.ID), f.User.ID, to(access.Viewer,
			true))))
		fixture.WantErr(t, fixture.Second(identity.ChangeUser(ctx, f.Tenant, fixture.As(f.User.ID), id, to(access.Viewer,
			true))), base.ErrForbidden)
		fixture.WantErr(t, identity.SetRole(ctx, f.DB, f.Account.ID, id, access.Viewer), identity.ErrLastOwner)
		kit.Must(t, identity.SetRole(ctx, f.DB, f.Account.ID, f.User.ID, access.Owner))
		users, total, err := identity.Users(ctx, f.Tenant, 1, 1)
		kit.Must(t, err)
		if total != 2 || len(users) != 1 || users[0].ID != f.User.ID {
			t.Errorf("%d of %d users", len(users), total)
		}
		if users, total, err = identity.Users(ctx, f.Tenant, 1<<60, 100); err != nil || total != 2 || len(users) != 0 {
			t.Errorf("past the end: %d of %d users, %v", len(users), total, err)
		}
	})
}

// TestOwnersAtOnce checks that an owner stays when two owners remove each other, or themselves, at the same time.
func TestOwnersAtOnce(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		id, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Email: "second@example.com",
			Name: "Second", Role: access.Owner, PasswordHash: "$2"})
		kit.Must(t, err)
		owners := [2]base.ID{f.User.ID, id}
		for round := range 8 {
			fixture.Race(2, func(i int) {
				by, user := owners[i], owners[1-i]
				if round%2 == 1 {
					user = by
				}
				change := to(access.Viewer, true)
				if round%4 > 1 {
					change = to(access.Owner, false)
				}
				if _, err := identity.ChangeUser(ctx, f.Tenant, fixture.As(by), user, change); err != nil && !errors.Is(err,
					base.ErrForbidden) &&
					!errors.Is(err, identity.ErrLastOwner) {
					t.Error(err)
				}
			})
			if left := f.Number(t, `select count(*) from users where account_id = $1 and role = 'owner' and disabled_at is null`,
				f.Account.ID[:]); left != 1 {
				t.Errorf("round %d: %d active owners are left, want 1", round, left)
			}
			for _, owner := range owners {
				kit.Must(t, identity.EnableUser(ctx, f.DB, f.Account.ID, owner))
				kit.Must(t, identity.SetRole(ctx, f.DB, f.Account.ID, owner, access.Owner))
			}
		}
	})
}
