package service

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
)

const (
	// keysInterval is how often the key file is checked, so that an added key is loaded soon.
	keysInterval = time.Second
	// registerInterval is how often a server renews its registration; far below base.ServerTimeout.
	registerInterval = 10 * time.Second
)

// keyKeeper keeps the keys of a running server in step with the key file, provided that the file opens the sealed
// values of the database, and registers in the database which keys the server has loaded.
type keyKeeper struct {
	service *Service
	server  base.Server

	mu  sync.Mutex
	err error // the problem with the key file, if any
}

// newKeyKeeper registers the server for the first time. It fails when the server lacks a key of the database.
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
	if err := s.db.RegisterServer(ctx, server); err != nil {
		return nil, err
	}
	// What is written before anybody can call the server is sealed as it is. A database whose record of that was removed
	// is not served.
	return &keyKeeper{service: s, server: server}, ledger.SealAccess(ctx, s.db)
}

// run reloads keys and renews the registration until ctx ends.
func (k *keyKeeper) run(ctx context.Context) {
	clock := k.service.db.Now
	registered, keys := clock(), k.service.db.Keys()
	for range ticks(ctx, keysInterval) {
		// Every process does this each second, so this also finds an outage of the database in a process without workers.
		if err := k.service.db.RefreshKeys(ctx); ctx.Err() == nil && !k.service.outage.saw(ctx, "keys", err) {
			k.setError(ctx, err)
		}
		now := k.service.db.Keys()
		if changed := !now.Same(keys); changed || clock().Sub(registered) >= registerInterval {
			if err := k.service.db.RegisterServer(ctx, k.server); err != nil {
				if !k.service.outage.saw(ctx, "registration", err) {
					k.service.config.Log.WarnContext(ctx, "cannot register this server", "error", err)
				}
				continue
			}
			k.service.outage.saw(ctx, "registration", nil)
			if changed {
				k.service.config.Log.InfoContext(ctx, "keys loaded", "file", now.File(), "primary_key", now.PrimaryID())
			}
			registered, keys = clock(), now
			if err := ledger.SealAccess(ctx, k.service.db); err != nil {
				k.service.config.Log.ErrorContext(ctx, "cannot seal who may act", "error", err)
			}
		}
	}
}

// setError sets the error of the key file and logs changes.
func (k *keyKeeper) setError(ctx context.Context, err error) {
	k.mu.Lock()
	before := k.err
	k.err = err
	k.mu.Unlock()
	switch {
	case err != nil && (before == nil || before.Error() != err.Error()):
		k.service.config.Log.ErrorContext(ctx, "the key file is not right: not ready, and the loaded keys stay in use",
			"error", err)
	case err == nil && before != nil:
		k.service.config.Log.InfoContext(ctx, "the key file is right again")
	}
}

// ready returns nil if the key file opens the sealed values of the database.
func (k *keyKeeper) ready() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// close removes the registration.
func (k *keyKeeper) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := k.service.db.UnregisterServer(ctx, k.server); err != nil {
		k.service.config.Log.WarnContext(ctx, "cannot remove the registration of this server", "error", err)
	}
}
