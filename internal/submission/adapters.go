package submission

import (
	"errors"
	"fmt"
	"sync"

	"quittance/internal/provider"
	"quittance/internal/secret"
	"quittance/internal/store"
)

// Adapters keeps one adapter a connection, so that its network connections are used again. It is safe for concurrent
// use.
type Adapters struct {
	db      *store.DB
	connect func(store.Connection, secret.Text) (provider.Adapter, error)

	mu   sync.Mutex
	open map[store.ID]opened
}

// opened is an adapter and the connection as it was when it was made.
type opened struct {
	adapter    provider.Adapter
	connection store.Connection
}

// NewAdapters returns adapters that are made by connect from a connection and its credential.
func NewAdapters(db *store.DB, connect func(store.Connection, secret.Text) (provider.Adapter, error)) *Adapters {
	return &Adapters{db: db, connect: connect, open: map[store.ID]opened{}}
}

// ErrNoAdapter says that a connection cannot be spoken over, for instance because its credential does not open.
var ErrNoAdapter = errors.New("no adapter for the connection")

// For returns the adapter of a connection. A replaced credential gets a new adapter; calls under way keep the old one.
func (a *Adapters) For(c store.Connection) (provider.Adapter, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o, ok := a.open[c.ID]; ok && o.connection.UpdatedAt.Equal(c.UpdatedAt) {
		return o.adapter, nil
	}
	credential, err := a.db.Credential(c)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAdapter, err)
	}
	adapter, err := a.connect(c, credential)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAdapter, err)
	}
	a.open[c.ID] = opened{adapter: adapter, connection: c}
	return adapter, nil
}
