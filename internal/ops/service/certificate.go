package service

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"quittance/internal/platform/secret"
)

// certificateInterval is how often the files of the certificate are checked.
const certificateInterval = time.Second

// certificateFiles is the certificate of the API. It is loaded again when its files change, so that a renewed
// certificate needs no restart. If loading fails, the previous certificate stays in use.
type certificateFiles struct {
	chain, key string
	log        *slog.Logger
	now        func() time.Time

	mu        sync.Mutex
	current   *tls.Certificate
	expires   time.Time
	checked   time.Time
	stamps    [2]fileVersion
	lastError string // logged last; "" after success
}

// fileVersion distinguishes two versions of a file.
type fileVersion struct {
	modified time.Time
	size     int64
}

// certificate returns the function that finds the certificate of the API, nil for plain HTTP.
func (s *Service) certificate() (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	if s.config.TLSCert == "" {
		s.metrics.observeCertificate(func() time.Time { return time.Unix(0, 0) })
		return nil, nil
	}
	files, err := readCertificate(s.config.TLSCert, s.config.TLSKey, s.db.Now, s.config.Log)
	if err != nil {
		return nil, err
	}
	s.metrics.observeCertificate(files.expiry)
	return files.get, nil
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
	expires, err := firstExpiry(fresh.Certificate)
	if err != nil {
		return fmt.Errorf("--tls-cert: %w", err)
	}
	c.current, c.expires, c.stamps = &fresh, expires, versions
	return nil
}

// firstExpiry returns when the first certificate of a chain, each in DER form, expires: clients reject the whole chain
// then.
func firstExpiry(chain [][]byte) (first time.Time, err error) {
	for n, der := range chain {
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return time.Time{}, err
		}
		if n == 0 || certificate.NotAfter.Before(first) {
			first = certificate.NotAfter
		}
	}
	return first, nil
}

// expiry returns when the certificate in use expires. It loads changed files as a handshake does, so that an idle
// server reports a renewal too.
func (c *certificateFiles) expiry() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh(context.Background())
	return c.expires
}

// get returns the certificate for a handshake.
func (c *certificateFiles) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh(hello.Context())
	return c.current, nil
}

// refresh loads changed files, at most once in [certificateInterval]. The caller holds mu.
func (c *certificateFiles) refresh(ctx context.Context) {
	now := c.now()
	if now.Sub(c.checked) < certificateInterval {
		return
	}
	before := c.current
	failure := ""
	if err := c.load(now); err != nil {
		failure = err.Error()
	}
	switch {
	case failure != "" && failure != c.lastError:
		c.log.ErrorContext(ctx, "cannot load the changed certificate: the previous one stays in use", "error", failure)
	case c.current != before:
		c.log.InfoContext(ctx, "certificate loaded again", "file", c.chain)
	}
	c.lastError = failure
}
