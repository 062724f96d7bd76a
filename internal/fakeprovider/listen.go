package fakeprovider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Run serves a provider sandbox on an address until ctx ends. It calls ready with the URL once it listens.
func Run(ctx context.Context, listen string, options Options, ready func(url string) error) (err error) {
	provider, err := New(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, provider.Close()) }()
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("provider sandbox: %w", err)
	}
	server := NewHTTPServer(provider)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if err := ready("http://" + listener.Addr().String()); err != nil {
		return errors.Join(err, server.Close())
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return server.Close()
	}
}

// NewHTTPServer returns an HTTP server with limits for one of the parties of a sandbox.
func NewHTTPServer(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
}
