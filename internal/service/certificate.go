package service

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"quittance/internal/secret"
)

// certificateEvery is how often the files of the certificate are looked at.
const certificateEvery = time.Second

// certificateFiles is the certificate of the API. It is read again when its files change, so that a renewed one needs no
// restart; one that cannot be read leaves the one before in use.
type certificateFiles struct {
	chain, key string
	log        *slog.Logger
	now        func() time.Time

	mu      sync.Mutex
	current *tls.Certificate
	looked  time.Time
	seen    [2]stamp
	fault   string // what was logged last
}

// stamp tells two versions of a file apart.
type stamp struct {
	at   time.Time
	size int64
}

// readCertificate reads a certificate for the first time.
func readCertificate(chain, key string, now func() time.Time, log *slog.Logger) (*certificateFiles, error) {
	c := &certificateFiles{chain: chain, key: key, log: log, now: now}
	return c, c.read(now())
}

// read reads both files if they have changed.
func (c *certificateFiles) read(now time.Time) error {
	c.looked = now
	var seen [2]stamp
	for n, path := range []string{c.chain, c.key} {
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		seen[n] = stamp{info.ModTime(), info.Size()}
	}
	if c.current != nil && seen == c.seen {
		return nil
	}
	if err := secret.CheckPrivateKey(c.key); err != nil {
		return fmt.Errorf("--tls-key: %w", err)
	}
	fresh, err := tls.LoadX509KeyPair(c.chain, c.key)
	if err != nil {
		return fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	c.current, c.seen = &fresh, seen
	return nil
}

// get returns the certificate for a handshake.
func (c *certificateFiles) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if now.Sub(c.looked) < certificateEvery {
		return c.current, nil
	}
	before := c.current
	fault := ""
	if err := c.read(now); err != nil {
		fault = err.Error()
	}
	ctx := hello.Context()
	switch {
	case fault != "" && fault != c.fault:
		c.log.ErrorContext(ctx, "cannot read the changed certificate: the one before stays in use", "error", fault)
	case c.current != before:
		c.log.InfoContext(ctx, "certificate read again", "file", c.chain)
	}
	c.fault = fault
	return c.current, nil
}
