package store_test

import (
	"errors"
	"testing"
	"time"

	"quittance/internal/access"
	"quittance/internal/store"
	"quittance/test/kit"
)

// as returns the session of a user.
func as(user store.ID) store.Session { return store.Session{User: user} }

// to returns a change to the given values.
func to(role access.Role, active bool) func(store.UserChange) (store.UserChange, error) {
	return func(store.UserChange) (store.UserChange, error) {
		return store.UserChange{Role: role, Active: active}, nil
	}
}

// TestChangeUser checks that an owner changes the users of the own company and nobody else does, that a change of
// several values is whole, and that the last active owner stays.
func TestChangeUser(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.Clock.Advance(time.Second)
		id, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: "second@example.com", Name: "Second",
			Role: access.Viewer, PasswordHash: "$2"})
		kit.Must(t, err)
		changed, err := f.tenant.ChangeUser(ctx, as(f.user.ID), id, func(present store.UserChange) (store.UserChange, error) {
			if present != (store.UserChange{Email: "second@example.com", Role: access.Viewer, Active: true}) {
				t.Errorf("present %+v", present)
			}
			return store.UserChange{Role: access.Owner, Active: false}, nil
		})
		kit.Must(t, err)
		if changed.Role != access.Owner || changed.DisabledAt == nil {
			t.Errorf("changed %+v", changed)
		}
		// a disabled owner
		wantErr(t, second(f.tenant.ChangeUser(ctx, as(id), f.user.ID, to(access.Viewer, true))), store.ErrForbidden)
		wantErr(t, second(f.tenant.ChangeUser(ctx, as(f.user.ID), f.user.ID, to(access.Viewer, true))), store.ErrLastOwner)
		wantErr(t, second(f.tenant.ChangeUser(ctx, as(f.user.ID), f.user.ID, to(access.Owner, false))), store.ErrLastOwner)
		wantErr(t, second(f.tenant.ChangeUser(ctx, as(f.user.ID), f.decoy.user.ID, to(access.Viewer, true))),
			store.ErrNotFound)
		wantErr(t, second(f.tenant.ChangeUser(ctx, as(f.decoy.user.ID), id, to(access.Viewer, true))), store.ErrForbidden)
		refused := errors.New("refused")
		wantErr(t, second(f.tenant.ChangeUser(ctx, as(f.user.ID),
			id, func(now store.UserChange) (store.UserChange, error) { return now, refused })), refused)
		kit.Must(t, second(f.tenant.ChangeUser(ctx, as(f.user.ID), id, to(access.Owner, true))))
		// another owner is left
		kit.Must(t, second(f.tenant.ChangeUser(ctx, as(f.user.ID), f.user.ID, to(access.Viewer, true))))
		wantErr(t, second(f.tenant.ChangeUser(ctx, as(f.user.ID), id, to(access.Viewer, true))), store.ErrForbidden)
		wantErr(t, f.SetRole(ctx, f.account.ID, id, access.Viewer), store.ErrLastOwner)
		kit.Must(t, f.SetRole(ctx, f.account.ID, f.user.ID, access.Owner))
		users, total, err := f.tenant.Users(ctx, 1, 1)
		kit.Must(t, err)
		if total != 2 || len(users) != 1 || users[0].ID != f.user.ID {
			t.Errorf("%d of %d users", len(users), total)
		}
		if users, total, err = f.tenant.Users(ctx, 1<<60, 100); err != nil || total != 2 || len(users) != 0 {
			t.Errorf("past the end: %d of %d users, %v", len(users), total, err)
		}
	})
}

// TestOwnersAtOnce checks that an owner stays when two owners remove each other, or themselves, at the same time.
func TestOwnersAtOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		id, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: "second@example.com", Name: "Second", Role: access.Owner,
			PasswordHash: "$2"})
		kit.Must(t, err)
		owners := [2]store.ID{f.user.ID, id}
		for round := range 8 {
			race(2, func(i int) {
				by, user := owners[i], owners[1-i]
				if round%2 == 1 {
					user = by
				}
				change := to(access.Viewer, true)
				if round%4 > 1 {
					change = to(access.Owner, false)
				}
				if _, err := f.tenant.ChangeUser(ctx, as(by), user, change); err != nil && !errors.Is(err, store.ErrForbidden) &&
					!errors.Is(err, store.ErrLastOwner) {
					t.Error(err)
				}
			})
			if left := f.number(t, `select count(*) from users where account_id = $1 and role = 'owner' and disabled_at is null`,
				f.account.ID[:]); left != 1 {
				t.Errorf("round %d: %d active owners are left, want 1", round, left)
			}
			for _, owner := range owners {
				kit.Must(t, f.EnableUser(ctx, f.account.ID, owner))
				kit.Must(t, f.SetRole(ctx, f.account.ID, owner, access.Owner))
			}
		}
	})
}
