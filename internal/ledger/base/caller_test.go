package base_test

import (
	"sync"
	"testing"

	"quittance/client/api"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// TestRoleChangesUnderLoad checks that a change of a user's role does not wait for what the user does: a user with many
// calls always has one under way. What the user begins afterwards is refused.
func TestRoleChangesUnderLoad(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		caller := base.Session{User: f.User.ID, Tenant: f.Tenant}.For(access.Write).Tenant
		kit.Must(t, fixture.Second(identity.AddUser(ctx, f.DB, f.Account.ID,
			identity.NewUser{Email: "second@example.com", Name: "Second", Role: access.Owner, PasswordHash: "$2"})))
		made, err := invoices.Create(ctx, caller, fixture.Draft("INV-1"))
		kit.Must(t, err)
		under, released, updated := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		release := sync.OnceFunc(func() { close(released) })
		defer release()
		update := func(change func([]byte) (api.Draft, error)) error {
			return fixture.Second(invoices.Update(ctx, caller, made.ID, func(int64) bool { return true }, change))
		}
		go func() {
			updated <- update(func([]byte) (api.Draft, error) {
				close(under)
				<-released
				return *fixture.Draft("INV-2"), nil
			})
		}()
		kit.Receive(t, under, "the call is under way")
		if f.Engine() == ledgertest.SQLite {
			release() // a file has one writer at a time
		}
		kit.Must(t, identity.SetRole(ctx, f.DB, f.Account.ID, f.User.ID, access.Viewer))
		release()
		kit.Must(t, kit.Receive(t, updated, "the end of the call"))
		fixture.WantErr(t, update(func([]byte) (api.Draft, error) { return *fixture.Draft("INV-3"), nil }), base.ErrForbidden)
	})
}
