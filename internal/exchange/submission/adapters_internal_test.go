package submission

import (
	"errors"
	"testing"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/simulator"
	"quittance/test/ledgertest"
)

// TestAdaptersAreBounded checks that a limited number of adapters is kept, the most recently used ones, and a changed
// connection gets a new adapter in place of the old one.
func TestAdaptersAreBounded(t *testing.T) {
	s := ledgertest.Open(t, ledgertest.SQLite)
	made := 0
	adapters := NewAdapters(s.DB, func(invoices.Connection, secret.Text) (provider.Adapter, error) {
		made++
		return simulator.New(time.Now, time.Second), nil
	})
	adapters.limit = 2
	var connections []invoices.Connection
	for _, email := range []string{"a@example.com", "b@example.com", "c@example.com"} {
		account, err := identity.CreateAccount(t.Context(), s.DB, "Palm", identity.NewUser{Email: email})
		if err != nil {
			t.Fatal(err)
		}
		added, err := invoices.AddConnection(t.Context(), s.DB, account.ID, invoices.NewConnection{Kind: "simulator",
			Environment: "sandbox", BaseURL: "https://p.example.com", Credential: secret.New("credential")})
		if err != nil {
			t.Fatal(err)
		}
		connections = append(connections, added)
	}
	changed := connections[0]
	changed.UpdatedAt = changed.UpdatedAt.Add(time.Second)
	for n, use := range []struct {
		connection invoices.Connection
		made       int
	}{{connections[0], 1}, {connections[1], 2}, {connections[0], 2}, {connections[2], 3}, {connections[0], 3},
		{connections[1], 4}, {connections[0], 4}, {changed, 5}, {changed, 5}, {connections[1], 5}} {
		if _, err := adapters.For(use.connection); err != nil || made != use.made {
			t.Errorf("use %d: %d adapters were made, want %d; error %v", n, made, use.made, err)
		}
	}
	if len(adapters.open) != 2 || adapters.used.Len() != 2 {
		t.Errorf("%d and %d adapters are kept, want 2", len(adapters.open), adapters.used.Len())
	}
}

// TestKeptAdapterOfChangedConnection checks that a kept adapter is not used for a connection that was altered in the
// database, even if its time of change was not.
func TestKeptAdapterOfChangedConnection(t *testing.T) {
	s := ledgertest.Open(t, ledgertest.SQLite)
	adapters := NewAdapters(s.DB, func(invoices.Connection, secret.Text) (provider.Adapter, error) {
		return simulator.New(time.Now, time.Second), nil
	})
	account, err := identity.CreateAccount(t.Context(), s.DB, "Palm", identity.NewUser{Email: "a@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := invoices.AddConnection(t.Context(), s.DB, account.ID, invoices.NewConnection{Kind: "http",
		Environment: "production", BaseURL: "https://p.example.com", Credential: secret.New("credential")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := adapters.For(c); err != nil {
		t.Fatal(err)
	}
	changed := c
	changed.Approval = &invoices.Approval{At: c.CreatedAt, By: "Mallory", Contract: "C-1", Release: "1"}
	if _, err := adapters.For(changed); !errors.Is(err, base.ErrChangedRow) || !errors.Is(err, ErrNoAdapter) {
		t.Errorf("a connection that was not approved: %v", err)
	}
	if _, err := adapters.For(c); err != nil {
		t.Errorf("the connection as it was: %v", err)
	}
}
