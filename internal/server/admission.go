package server

import (
	"net/netip"
	"time"

	"quittance/internal/connlimit"
	"quittance/internal/fairlimit"
	"quittance/internal/source"
	"quittance/internal/store"
)

// defaultMaxRequests is how many calls are worked on at a time when the configuration does not say.
const defaultMaxRequests = 2048

const (
	// holderPart is the fraction of what is free that one holder may take, of anything.
	holderPart = 4
	// sidePart is the size of the pools beside that of API calls, as a fraction of it, and leastSide their size at least.
	sidePart  = 4
	leastSide = 8
	// strangerBytesPart is the fraction of the bytes of bodies that strangers may take together.
	strangerBytesPart = 4
	// longestAdmission is how long a stranger's request waits for a place. It is short beside what a client waits, and long
	// beside what the work of a stranger takes.
	longestAdmission = 2 * time.Second
)

// holder is who takes places: a company, or the network that a stranger comes from.
type holder struct {
	company store.ID
	network netip.Prefix
}

// admission bounds what requests take of this process at a time. API calls of companies, console requests of people who
// are logged in, and requests of strangers, who have presented no accepted credential, have pools of their own, so that
// none of them waits for another. In each, nobody gets more than a fraction of what is free.
type admission struct {
	// callers, users and strangers are places of requests that are worked on. A request has none while its client is waited
	// for.
	callers, users, strangers *fairlimit.Limiter[holder]
	// bytes and strangerBytes are those of bodies and of large answers.
	bytes, strangerBytes *fairlimit.Limiter[holder]
	// inFlight bounds the requests of companies, whether they are worked on or wait for their clients, and bySource and bySite
	// those of strangers, by /64 and /48. With HTTP/1.1 connections bound them already, with HTTP/2 or behind a proxy they do not.
	inFlight         *fairlimit.Limiter[store.ID]
	bySource, bySite *fairlimit.Limiter[netip.Prefix]
	anonymous        *anonymousLimiter
	credentials      *credentialCache
}

// newAdmission makes room for so many API calls, a quarter as many console requests and as many requests of strangers; for
// the bodies of 64 of the largest, or 64 MiB; and for as many requests in flight as there may be connections.
func newAdmission(config *Config, connections connlimit.Config) *admission {
	const bodies, leastBytes = 64, 64 << 20
	places := func(size int) *fairlimit.Limiter[holder] {
		return fairlimit.New[holder](size, fairlimit.Policy{Divisor: holderPart, Max: size})
	}
	side := max(leastSide, config.MaxRequests/sidePart)
	bytes := int(max(leastBytes, bodies*config.MaxBody))
	total, perSource := connections.Total, connections.PerSource
	return &admission{
		callers: places(config.MaxRequests), users: places(side), strangers: places(side),
		bytes: places(bytes), strangerBytes: places(bytes / strangerBytesPart),
		inFlight:    fairlimit.New[store.ID](total, fairlimit.Policy{Divisor: holderPart, Max: total}),
		bySource:    fairlimit.New[netip.Prefix](total, fairlimit.Policy{Divisor: 1, Max: perSource}),
		bySite:      fairlimit.New[netip.Prefix](total, fairlimit.Policy{Divisor: 1, Max: connlimit.WideFactor * perSource}),
		anonymous:   newAnonymousLimiter(config.AnonymousRate, config.Now),
		credentials: newCredentialCache(),
	}
}

// credential is the digest of the token or the session that a request presents, if it presents one.
type credential struct {
	digest    [32]byte
	presented bool
}

// begin is the first thing that is asked of a request, before any work: it bounds those in flight, and how many a minute
// a source may make without an accepted credential. console tells that the request is one for the console. The slot that
// it returns has to be left, whatever the error.
func (a *admission) begin(from source.Source, presented credential, console bool) (*slot, error) {
	s := &slot{admission: a, source: from, ofCompany: a.callers, places: a.strangers, holder: holder{network: from.Wide()}}
	if console {
		s.ofCompany = a.users
	}
	if presented.presented {
		if company, known := a.credentials.company(presented.digest); known {
			s.places, s.holder = s.ofCompany, holder{company: company}
			return s, s.fly(company)
		}
	}
	if !a.bySource.TryAcquire(from.Narrow(), 1) {
		return s, fairlimit.ErrFull
	}
	s.land = func() { a.bySource.Release(from.Narrow(), 1) }
	if from.HasWide() {
		if !a.bySite.TryAcquire(from.Wide(), 1) {
			return s, fairlimit.ErrFull
		}
		s.land = func() { a.bySource.Release(from.Narrow(), 1); a.bySite.Release(from.Wide(), 1) }
	}
	if err := a.anonymous.spend(from, 1); err != nil {
		return s, err
	}
	s.charged = true
	return s, nil
}

// Inside is how many requests are being worked on.
func (s *Server) Inside() int {
	return s.admission.callers.InUse() + s.admission.users.InUse() + s.admission.strangers.InUse()
}
