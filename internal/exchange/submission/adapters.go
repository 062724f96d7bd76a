package submission

import (
	"container/list"
	"errors"
	"fmt"
	"sync"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
)

// maxAdapters is the number of adapters that are kept: the most recently used ones.
const maxAdapters = 4096

// Adapters keeps one adapter for each connection, so that network connections are reused. It is safe for concurrent
// use.
type Adapters struct {
	db      *base.DB
	connect func(invoices.Connection, secret.Text) (provider.Adapter, error)

	limit int // how many adapters are kept

	mu   sync.Mutex
	open map[base.ID]*list.Element
	used list.List // of *opened, most recently used first
}

// opened is an adapter with the connection that it was made for, as it was then.
type opened struct {
	adapter    provider.Adapter
	connection invoices.Connection
}

// NewAdapters returns adapters that connect makes from a connection and its credential.
func NewAdapters(db *base.DB, connect func(invoices.Connection, secret.Text) (provider.Adapter, error)) *Adapters {
	return &Adapters{db: db, connect: connect, limit: maxAdapters, open: map[base.ID]*list.Element{}}
}

// ErrNoAdapter says that a connection cannot be used, for instance because its credential cannot be decrypted.
var ErrNoAdapter = errors.New("no adapter for the connection")

// For returns the adapter of a connection. It makes a new adapter if the connection has changed, for instance its
// credential. Calls in progress keep their adapter. An adapter that is no longer kept closes its idle connections by
// itself. The error wraps [base.ErrChangedRow] if another program has altered the connection's row.
func (a *Adapters) For(c invoices.Connection) (provider.Adapter, error) {
	// Decrypt the credential every time, even for an adapter that is kept: this proves that the connection and its
	// approval are as they were recorded.
	credential, err := invoices.Credential(a.db, c)
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
	if oldest := a.used.Back(); a.used.Len() > a.limit {
		delete(a.open, a.used.Remove(oldest).(*opened).connection.ID)
	}
	return adapter, nil
}
