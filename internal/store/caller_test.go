package store_test

import (
	"sync"
	"testing"

	"quittance/client/api"
	"quittance/internal/access"
	"quittance/internal/store"
	"quittance/test/kit"
	"quittance/test/storetest"
)

// TestRoleChangesUnderLoad checks that a change of a user's role does not wait for what the user does: a user with many
// calls always has one under way. What the user begins afterwards is refused.
func TestRoleChangesUnderLoad(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		caller := store.Session{User: f.user.ID, Tenant: f.tenant}.For(access.Write).Tenant
		kit.Must(t, second(f.AddUser(ctx, f.account.ID,
			store.NewUser{Email: "second@example.com", Name: "Second", Role: access.Owner, PasswordHash: "$2"})))
		made, err := caller.CreateInvoice(ctx, draft("INV-1"))
		kit.Must(t, err)
		under, released, updated := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		release := sync.OnceFunc(func() { close(released) })
		defer release()
		update := func(change func([]byte) (api.Draft, error)) error {
			return second(caller.UpdateInvoice(ctx, made.ID, func(int64) bool { return true }, change))
		}
		go func() {
			updated <- update(func([]byte) (api.Draft, error) {
				close(under)
				<-released
				return *draft("INV-2"), nil
			})
		}()
		kit.Receive(t, under, "the call is under way")
		if f.Engine() == storetest.SQLite {
			release() // a file has one writer at a time
		}
		kit.Must(t, f.SetRole(ctx, f.account.ID, f.user.ID, access.Viewer))
		release()
		kit.Must(t, kit.Receive(t, updated, "the end of the call"))
		wantErr(t, update(func([]byte) (api.Draft, error) { return *draft("INV-3"), nil }), store.ErrForbidden)
	})
}
