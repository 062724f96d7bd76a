package submission

import (
	"errors"
	"testing"
	"time"

	"quittance/internal/provider"
	"quittance/internal/provider/simulator"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/test/storetest"
)

// TestAdaptersAreBounded checks that a limited number of adapters is kept, the most recently used ones, and a changed
// connection gets a new adapter in place of the old one.
func TestAdaptersAreBounded(t *testing.T) {
	s := storetest.Open(t, storetest.SQLite)
	made := 0
	adapters := NewAdapters(s.DB, func(store.Connection, secret.Text) (provider.Adapter, error) {
		made++
		return simulator.New(time.Now, time.Second), nil
	})
	adapters.limit = 2
	var connections []store.Connection
	for _, email := range []string{"a@example.com", "b@example.com", "c@example.com"} {
		account, err := s.CreateAccount(t.Context(), "Palm", store.NewUser{Email: email})
		if err != nil {
			t.Fatal(err)
		}
		added, err := s.AddConnection(t.Context(), account.ID, store.NewConnection{Kind: "simulator", Environment: "sandbox",
			BaseURL: "https://p.example.com", Credential: secret.New("credential")})
		if err != nil {
			t.Fatal(err)
		}
		connections = append(connections, added)
	}
	changed := connections[0]
	changed.UpdatedAt = changed.UpdatedAt.Add(time.Second)
	for n, use := range []struct {
		connection store.Connection
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
	s := storetest.Open(t, storetest.SQLite)
	adapters := NewAdapters(s.DB, func(store.Connection, secret.Text) (provider.Adapter, error) {
		return simulator.New(time.Now, time.Second), nil
	})
	account, err := s.CreateAccount(t.Context(), "Palm", store.NewUser{Email: "a@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.AddConnection(t.Context(), account.ID, store.NewConnection{Kind: "http", Environment: "production",
		BaseURL: "https://p.example.com", Credential: secret.New("credential")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := adapters.For(c); err != nil {
		t.Fatal(err)
	}
	changed := c
	changed.Approval = &store.Approval{At: c.CreatedAt, By: "Mallory", Contract: "C-1", Release: "1"}
	if _, err := adapters.For(changed); !errors.Is(err, store.ErrChangedRow) || !errors.Is(err, ErrNoAdapter) {
		t.Errorf("a connection that was not approved: %v", err)
	}
	if _, err := adapters.For(c); err != nil {
		t.Errorf("the connection as it was: %v", err)
	}
}
