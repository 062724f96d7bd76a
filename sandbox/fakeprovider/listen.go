package fakeprovider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"quittance/internal/platform/connlimit"
	"quittance/internal/platform/httpserver"
)

// Run serves a provider sandbox on an address until ctx ends. It calls ready with the URL once it listens.
func Run(ctx context.Context, listen string, options Options, ready func(url string) error) (err error) {
	provider, err := New(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, provider.Close()) }()
	server, err := Listen(ctx, listen, httpserver.Config{Handler: provider,
		Log: cmp.Or(options.Log, slog.New(slog.DiscardHandler))})
	if err != nil {
		return fmt.Errorf("provider sandbox: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve() }()
	if err := ready("http://" + server.Address().String()); err != nil {
		return errors.Join(err, server.Close())
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return server.Close()
	}
}

// The limits of a party of a sandbox. The program that tries the service out is its only client, so there is none for
// each source. A request may be answered with silence on purpose, so its time is longer than that.
const (
	partyConnections = 4096
	partyTimeout     = 5 * time.Minute
)

// Listen returns an HTTP server for one of the parties of a sandbox, with limits in place of those of the
// configuration.
func Listen(ctx context.Context, address string, config httpserver.Config) (*httpserver.Server, error) {
	config.Connections, config.Timeout = connlimit.Config{Total: connlimit.Within(partyConnections, connlimit.Files())},
		partyTimeout
	return httpserver.Listen(ctx, address, config)
}
