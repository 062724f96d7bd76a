package db

import (
	"crypto/tls"
	"errors"
	"net/netip"
	"strings"

	"github.com/jackc/pgx/v5"
)

// ErrUnverifiedServer says that a connection to PostgreSQL could be read or answered by somebody else on the network.
var ErrUnverifiedServer = errors.New("production connects to PostgreSQL only over TLS with the server's certificate verified: " +
	"add sslmode=verify-full to the address, and sslrootcert=FILE for an authority of your own (a unix socket or a loopback address needs neither)")

// RequireVerifiedServer returns [ErrUnverifiedServer] for an address of PostgreSQL over which TLS may be left out, or whose
// server's certificate is not verified, at least against an authority. Unix sockets and loopback addresses pass, and so does what is
// not PostgreSQL. The variables of libpq, such as PGSSLMODE, count as they do when it is opened.
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

// IsPostgres tells whether an address names a PostgreSQL database.
func IsPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// verifiedServer tells whether nobody but the server can be at the other end. The modes verify-ca, and require with a root
// certificate, check the chain in a function of their own.
func verifiedServer(host string, config *tls.Config) bool {
	if strings.HasPrefix(host, "/") || host == "localhost" {
		return true
	}
	if address, err := netip.ParseAddr(host); err == nil && address.Unmap().IsLoopback() {
		return true
	}
	return config != nil && (!config.InsecureSkipVerify || config.VerifyPeerCertificate != nil || config.VerifyConnection != nil)
}
