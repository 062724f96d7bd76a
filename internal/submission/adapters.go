package submission

import (
	"container/list"
	"errors"
	"fmt"
	"sync"

	"quittance/internal/provider"
	"quittance/internal/secret"
	"quittance/internal/store"
)

// maxOpen is how many adapters are kept, those that were used last.
const maxOpen = 4096

// Adapters keeps one adapter a connection, so that its network connections are used again. It is safe for concurrent
// use.
type Adapters struct {
	db      *store.DB
	connect func(store.Connection, secret.Text) (provider.Adapter, error)

	most int

	mu   sync.Mutex
	open map[store.ID]*list.Element
	used list.List // of *opened, the last used first
}

// opened is an adapter and the connection as it was when it was made.
type opened struct {
	adapter    provider.Adapter
	connection store.Connection
}

// NewAdapters returns adapters that are made by connect from a connection and its credential.
func NewAdapters(db *store.DB, connect func(store.Connection, secret.Text) (provider.Adapter, error)) *Adapters {
	return &Adapters{db: db, connect: connect, most: maxOpen, open: map[store.ID]*list.Element{}}
}

// ErrNoAdapter says that a connection cannot be spoken over, for instance because its credential does not open.
var ErrNoAdapter = errors.New("no adapter for the connection")

// For returns the adapter of a connection. A replaced credential gets a new adapter. Calls under way keep the one they have,
// and what is no longer kept here ends its idle connections by itself. An error wraps [store.ErrChangedRow] when the
// connection was changed other than through this program.
func (a *Adapters) For(c store.Connection) (provider.Adapter, error) {
	// Opened each time, for a kept adapter too: that the credential opens is what shows that the connection, its approval
	// included, is what was recorded.
	credential, err := a.db.Credential(c)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAdapter, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := a.open[c.ID]
	if kept != nil {
		if o := kept.Value.(*opened); o.connection.UpdatedAt.Equal(c.UpdatedAt) {
			a.used.MoveToFront(kept)
			return o.adapter, nil
		}
	}
	adapter, err := a.connect(c, credential)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAdapter, err)
	}
	if kept != nil {
		a.used.Remove(kept)
	}
	a.open[c.ID] = a.used.PushFront(&opened{adapter: adapter, connection: c})
	if oldest := a.used.Back(); a.used.Len() > a.most {
		delete(a.open, a.used.Remove(oldest).(*opened).connection.ID)
	}
	return adapter, nil
}
