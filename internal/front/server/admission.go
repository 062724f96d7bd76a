package server

import (
	"crypto/sha256"
	"net/netip"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/connlimit"
	"quittance/internal/platform/fairlimit"
	"quittance/internal/platform/source"
)

// defaultMaxRequests is how many API calls are worked on at a time unless the configuration says otherwise.
const defaultMaxRequests = 2048

const (
	// holderDivisor limits one holder to this fraction of the free capacity of any pool.
	holderDivisor = 4
	// sideDivisor is the ratio of the size of the API pool to that of the console and anonymous pools, which have at least
	// minSidePool slots.
	sideDivisor = 4
	minSidePool = 8
	// anonymousBytesDivisor limits all anonymous requests together to this fraction of the bytes of bodies.
	anonymousBytesDivisor = 4
	// anonymousWait is how long an anonymous request waits for a slot: little compared with the patience of a client, and
	// much compared with the work for an anonymous request.
	anonymousWait = 2 * time.Second
)

// holder is what a ticket counts against: a company, or the network that an anonymous request comes from.
type holder struct {
	company base.ID
	network netip.Prefix
}

// admission bounds the resources that concurrent requests use. API calls of companies, console requests of users who
// are logged in, and anonymous requests, which have presented no accepted credential, have separate pools, so that none
// of them waits for another. In each pool, one holder gets at most a fraction of the free capacity.
type admission struct {
	// api, console and anonymous are slots of requests that are being processed. A request holds none while the server
	// waits for its client.
	api, console, anonymous *fairlimit.Limiter[holder]
	// bytes and anonymousBytes are the memory of bodies and of large responses.
	bytes, anonymousBytes *fairlimit.Limiter[holder]
	// inFlight bounds the requests of companies, including those that wait for their clients. bySource and bySite bound
	// anonymous requests by /64 and /48. With HTTP/1.1 the connection limits suffice; with HTTP/2 or behind a proxy they
	// do not.
	inFlight         *fairlimit.Limiter[base.ID]
	bySource, bySite *fairlimit.Limiter[netip.Prefix]
	anonymousRate    *anonymousLimiter
	credentials      *credentialCache
}

// newAdmission returns an admission for config.MaxRequests API calls and a quarter as many console and anonymous
// requests each; for the bytes of 64 bodies of the largest size, at least 64 MiB; and for as many requests in flight as
// connections.
func newAdmission(config *Config, connections connlimit.Config) *admission {
	const bodies, minBytes = 64, 64 << 20
	pool := func(size int) *fairlimit.Limiter[holder] {
		return fairlimit.New[holder](size, fairlimit.Policy{Divisor: holderDivisor, Max: size})
	}
	side := max(minSidePool, config.MaxRequests/sideDivisor)
	bytes := int(max(minBytes, bodies*config.MaxBody))
	total, perSource := connections.Total, connections.PerSource
	return &admission{
		api: pool(config.MaxRequests), console: pool(side), anonymous: pool(side),
		bytes: pool(bytes), anonymousBytes: pool(bytes / anonymousBytesDivisor),
		inFlight: fairlimit.New[base.ID](total, fairlimit.Policy{Divisor: holderDivisor, Max: total}),
		bySource: fairlimit.New[netip.Prefix](total, fairlimit.Policy{Divisor: 1, Max: perSource}),
		bySite: fairlimit.New[netip.Prefix](total,
			fairlimit.Policy{Divisor: 1, Max: connlimit.WideFactor * perSource}),
		anonymousRate: newAnonymousLimiter(config.AnonymousRate, config.Now),
		credentials:   newCredentialCache(),
	}
}

// credential is what a request presents to prove who sends it: a token, a session or an API key.
type credential struct {
	// digest is that of the token, session or key, if presented.
	digest    [32]byte
	presented bool
	// environment is that of an API key; "" for a token or session. mistyped says that the credential begins like an API
	// key, but is none.
	environment string
	mistyped    bool
}

// recognizedBy returns the key under which the cache remembers that the credential was accepted. A key may be accepted
// from some networks only, so it is remembered for each source: whoever has stolen it counts as anonymous.
func (c credential) recognizedBy(from source.Source) [32]byte {
	if c.environment == "" {
		return c.digest
	}
	return sha256.Sum256(append(c.digest[:], from.String()...))
}

// admit runs before any other work for a request. It bounds the requests in flight, and how many requests a minute a
// source makes without an accepted credential. console means that the request is for the console. The caller must close
// the ticket even if admit returns an error.
func (a *admission) admit(from source.Source, presented credential, console bool) (*ticket, error) {
	t := &ticket{admission: a, source: from, tenantPool: a.api, pool: a.anonymous, holder: holder{network: from.Wide()}}
	if console {
		t.tenantPool = a.console
	}
	if presented.presented {
		if company, known := a.credentials.company(presented.recognizedBy(from)); known {
			t.pool, t.holder = t.tenantPool, holder{company: company}
			return t, t.trackInFlight(company)
		}
	}
	if !a.bySource.TryAcquire(from.Narrow(), 1) {
		return t, fairlimit.ErrFull
	}
	t.releaseInFlight = func() { a.bySource.Release(from.Narrow(), 1) }
	if from.HasWide() {
		if !a.bySite.TryAcquire(from.Wide(), 1) {
			return t, fairlimit.ErrFull
		}
		t.releaseInFlight = func() { a.bySource.Release(from.Narrow(), 1); a.bySite.Release(from.Wide(), 1) }
	}
	if err := a.anonymousRate.spend(from, 1); err != nil {
		return t, err
	}
	t.charged = true
	return t, nil
}

// ActiveRequests returns how many requests are being worked on.
func (s *Server) ActiveRequests() int {
	return s.admission.api.InUse() + s.admission.console.InUse() + s.admission.anonymous.InUse()
}
