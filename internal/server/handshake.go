package server

import (
	"context"
	"crypto"
	"crypto/tls"
	"errors"
	"io"
	"net/netip"

	"quittance/internal/fairlimit"
	"quittance/internal/source"
)

// errHandshake is why a handshake ends that has waited for its signature for as long as a handshake may take.
var errHandshake = errors.New("too many handshakes at this moment")

// handshakes bounds the dearest part of a TLS handshake, the signature of the server, because anybody can ask for one: few
// are made at a time, and sources that wait take turns. So a flood of handshakes from a few sources leaves processors to the
// requests, and a new connection from elsewhere waits for a few signatures at most.
type handshakes struct {
	turns *fairlimit.Limiter[netip.Prefix]
}

// newHandshakes has so many signatures made at a time, of which one source gets no more than half; from 1.
func newHandshakes(most int) handshakes {
	return handshakes{fairlimit.New[netip.Prefix](most, fairlimit.Policy{Divisor: 1, Max: most})}
}

// bound returns a certificate function whose certificates sign in turn.
func (h handshakes) bound(certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
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
		mine.PrivateKey = &turnSigner{Signer: signer, ctx: hello.Context(), turns: h.turns, from: source.Parse(hello.Conn.RemoteAddr().String()).Narrow()}
		return &mine, nil
	}
}

// turnSigner is the private key for one handshake.
type turnSigner struct {
	crypto.Signer
	ctx   context.Context //nolint:containedctx // crypto.Signer has no parameter for it, and the signer lives as long as the handshake
	turns *fairlimit.Limiter[netip.Prefix]
	from  netip.Prefix
}

// Sign implements [crypto.Signer].
func (s *turnSigner) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	ctx, cancel := context.WithTimeout(s.ctx, readHeaderTimeout) // net/http ends a handshake then
	defer cancel()
	if !s.turns.Acquire(ctx, s.from) {
		return nil, errHandshake
	}
	defer s.turns.Release(s.from, 1)
	return s.Signer.Sign(random, digest, opts)
}
