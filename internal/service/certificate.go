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

// certificateInterval is how often the files of the certificate are checked.
const certificateInterval = time.Second

// certificateFiles is the certificate of the API. It is loaded again when its files change, so that a renewed certificate needs
// no restart. If loading fails, the previous certificate stays in use.
type certificateFiles struct {
	chain, key string
	log        *slog.Logger
	now        func() time.Time

	mu        sync.Mutex
	current   *tls.Certificate
	checked   time.Time
	stamps    [2]fileVersion
	lastError string // logged last; "" after success
}

// fileVersion distinguishes two versions of a file.
type fileVersion struct {
	modified time.Time
	size     int64
}

// readCertificate loads a certificate for the first time.
func readCertificate(chain, key string, now func() time.Time, log *slog.Logger) (*certificateFiles, error) {
	c := &certificateFiles{chain: chain, key: key, log: log, now: now}
	return c, c.load(now())
}

// load loads both files if they have changed.
func (c *certificateFiles) load(now time.Time) error {
	c.checked = now
	var versions [2]fileVersion
	for n, path := range []string{c.chain, c.key} {
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		versions[n] = fileVersion{info.ModTime(), info.Size()}
	}
	if c.current != nil && versions == c.stamps {
		return nil
	}
	if err := secret.CheckPrivateKey(c.key); err != nil {
		return fmt.Errorf("--tls-key: %w", err)
	}
	fresh, err := tls.LoadX509KeyPair(c.chain, c.key)
	if err != nil {
		return fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	c.current, c.stamps = &fresh, versions
	return nil
}

// get returns the certificate for a handshake.
func (c *certificateFiles) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if now.Sub(c.checked) < certificateInterval {
		return c.current, nil
	}
	before := c.current
	failure := ""
	if err := c.load(now); err != nil {
		failure = err.Error()
	}
	ctx := hello.Context()
	switch {
	case failure != "" && failure != c.lastError:
		c.log.ErrorContext(ctx, "cannot load the changed certificate: the previous one stays in use", "error", failure)
	case c.current != before:
		c.log.InfoContext(ctx, "certificate loaded again", "file", c.chain)
	}
	c.lastError = failure
	return c.current, nil
}
