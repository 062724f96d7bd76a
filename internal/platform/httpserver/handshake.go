package httpserver

import (
	"context"
	"crypto"
	"crypto/tls"
	"errors"
	"io"
	"net/netip"

	"quittance/internal/platform/fairlimit"
	"quittance/internal/platform/source"
)

// errHandshake is the error of a handshake that timed out while it waited for its signature.
var errHandshake = errors.New("too many concurrent handshakes")

// handshakeLimiter limits the most expensive part of a TLS handshake, the signature of the server, which anybody can
// ask for. Few signatures are made at a time, and waiting sources take turns. A flood of handshakes from a few sources
// therefore leaves processors for the requests, and a new connection from elsewhere waits for a few signatures at most.
type handshakeLimiter struct {
	pool *fairlimit.Limiter[netip.Prefix]
}

// newHandshakeLimiter returns a limiter of most concurrent signatures, at least 1, of which one source gets at most
// half.
func newHandshakeLimiter(most int) handshakeLimiter {
	return handshakeLimiter{fairlimit.New[netip.Prefix](most, fairlimit.Policy{Divisor: 1, Max: most})}
}

// limit returns a certificate function whose certificates wait for the limiter before they sign.
func (h handshakeLimiter) limit(certificate func(*tls.ClientHelloInfo) (*tls.Certificate,
	error)) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		found, err := certificate(hello)
		if err != nil {
			return nil, err
		}
		signer, ok := found.PrivateKey.(crypto.Signer)
		if !ok {
			return nil, errors.New("the private key of the certificate cannot sign")
		}
		mine := *found
		mine.PrivateKey = &limitedSigner{Signer: signer, ctx: hello.Context(), pool: h.pool,
			from: source.Parse(hello.Conn.RemoteAddr().String()).Narrow()}
		return &mine, nil
	}
}

// limitedSigner is the private key for one handshake.
type limitedSigner struct {
	crypto.Signer
	ctx  context.Context //nolint:containedctx // crypto.Signer has no parameter for it, and the signer lives as long as the handshake
	pool *fairlimit.Limiter[netip.Prefix]
	from netip.Prefix
}

// Sign implements [crypto.Signer].
func (s *limitedSigner) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	ctx, cancel := context.WithTimeout(s.ctx, readHeaderTimeout) // net/http ends the handshake then
	defer cancel()
	if !s.pool.Acquire(ctx, s.from) {
		return nil, errHandshake
	}
	defer s.pool.Release(s.from, 1)
	return s.Signer.Sign(random, digest, opts)
}
