package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"quittance/internal/store"
)

const (
	// keysEvery is how often the key file is looked at, so that a key that was added is loaded soon.
	keysEvery = time.Second
	// announceEvery is how often a server says that it runs; well within store.ServerTimeout.
	announceEvery = 10 * time.Second
)

// keyKeeper keeps the keys of a running server what the key file says, as long as that opens what the database has sealed, and
// announces to other processes which keys the server has loaded.
type keyKeeper struct {
	service *Service
	server  store.Server

	mu    sync.Mutex
	fault error // why the keys are not right, nil when they are
}

// newKeyKeeper announces the server for the first time. It fails when the server lacks a key of the database.
func (s *Service) newKeyKeeper(ctx context.Context) (*keyKeeper, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	role := "all"
	switch {
	case !s.config.Workers:
		role = "api"
	case !s.config.API:
		role = "worker"
	}
	server, err := s.db.NewServer(fmt.Sprintf("%s:%d", host, os.Getpid()), s.config.Version, role)
	if err != nil {
		return nil, err
	}
	return &keyKeeper{service: s, server: server}, s.db.RegisterServer(ctx, server)
}

// run keeps the keys until ctx ends.
func (k *keyKeeper) run(ctx context.Context) {
	ticker := time.NewTicker(keysEvery)
	defer ticker.Stop()
	clock := k.service.db.Now
	announced, keys := clock(), k.service.db.Keys()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := k.service.db.RefreshKeys(ctx); !errors.Is(err, store.ErrUnavailable) { // otherwise nothing is known, and the server is not ready anyway
			k.note(ctx, err)
		}
		now := k.service.db.Keys()
		if changed := !now.Same(keys); changed || clock().Sub(announced) >= announceEvery {
			if err := k.service.db.RegisterServer(ctx, k.server); err != nil {
				k.service.config.Log.WarnContext(ctx, "cannot announce this server", "error", err)
				continue
			}
			if changed {
				k.service.config.Log.InfoContext(ctx, "keys loaded", "file", now.File(), "primary_key", now.PrimaryID())
			}
			announced, keys = clock(), now
			if err := k.service.db.BindSecrets(ctx); err != nil {
				k.service.config.Log.WarnContext(ctx, "cannot bind secrets to their rows", "error", err)
			}
		}
	}
}

// note remembers whether the keys are right, and logs it when that changes.
func (k *keyKeeper) note(ctx context.Context, fault error) {
	k.mu.Lock()
	before := k.fault
	k.fault = fault
	k.mu.Unlock()
	switch {
	case fault != nil && (before == nil || before.Error() != fault.Error()):
		k.service.config.Log.ErrorContext(ctx, "the key file is not right: not ready, the keys in memory stay in use", "error", fault)
	case fault == nil && before != nil:
		k.service.config.Log.InfoContext(ctx, "the key file is right again")
	}
}

// ready tells whether the keys are those under which the database is sealed.
func (k *keyKeeper) ready() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fault
}

// end withdraws the announcement.
func (k *keyKeeper) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := k.service.db.UnregisterServer(ctx, k.server); err != nil {
		k.service.config.Log.WarnContext(ctx, "cannot withdraw the announcement of this server", "error", err)
	}
}
