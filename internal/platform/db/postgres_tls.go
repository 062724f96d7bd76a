package db

import (
	"crypto/tls"
	"net/netip"
	"strings"

	"github.com/jackc/pgx/v5"

	"quittance/internal/platform/problem"
)

// ErrUnverifiedServer says that somebody else on the network could read a connection to PostgreSQL, or pose as the
// server.
var ErrUnverifiedServer = problem.Setting(
	"production connects to PostgreSQL only over TLS with the server's certificate verified: " +
		"add sslmode=verify-full to the address, and sslrootcert=FILE for an authority of your own (a unix socket or a loopback address needs neither)")

// RequireVerifiedServer returns [ErrUnverifiedServer] for an address of PostgreSQL that allows connections without TLS,
// or with TLS but without verifying the server's certificate at least against an authority. Unix sockets and loopback
// addresses need no TLS, and other databases are not checked. The variables of libpq, such as PGSSLMODE, count as they
// do in [Open].
func RequireVerifiedServer(address string) error {
	if !IsPostgres(address) {
		return nil
	}
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return errNotPostgresURL
	}
	if !verifiedServer(config.Host, config.TLSConfig) {
		return ErrUnverifiedServer
	}
	for _, other := range config.Fallbacks {
		if !verifiedServer(other.Host, other.TLSConfig) {
			return ErrUnverifiedServer
		}
	}
	return nil
}

// IsPostgres reports whether an address names a PostgreSQL database.
func IsPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// verifiedServer reports whether only the server itself can be at the other end. In the modes verify-ca, and require
// with a root certificate, pgx verifies the chain in a callback.
func verifiedServer(host string, config *tls.Config) bool {
	if strings.HasPrefix(host, "/") || host == "localhost" {
		return true
	}
	if address, err := netip.ParseAddr(host); err == nil && address.Unmap().IsLoopback() {
		return true
	}
	return config != nil && (!config.InsecureSkipVerify || config.VerifyPeerCertificate != nil ||
		config.VerifyConnection != nil)
}
