package server

import (
	"context"
	"errors"
	"io"
	"net/http"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/fairlimit"
	"quittance/internal/platform/source"
)

// ticket is the right of one request to be processed. It holds a slot of a pool while the request is processed, bytes
// of memory, and one of the requests that its tenant or source may have in flight.
type ticket struct {
	admission *admission
	source    source.Source
	// tenantPool is the pool of the slot once the tenant is known; pool is the pool of the current or last slot.
	tenantPool, pool *fairlimit.Limiter[holder]
	holder           holder
	// exempt requests are always processed.
	exempt          bool
	acquired        bool
	bytes           int
	charged         bool // against the limit of anonymous requests
	releaseInFlight func()
}

// anonymous reports whether no credential of the request has been accepted.
func (t *ticket) anonymous() bool { return t.holder.company.IsZero() }

// trackInFlight counts the request among the requests in flight of a tenant, and no longer among those of its source.
func (t *ticket) trackInFlight(company base.ID) error {
	if t.releaseInFlight != nil {
		t.releaseInFlight()
		t.releaseInFlight = nil
	}
	if !t.admission.inFlight.TryAcquire(company, 1) {
		return fairlimit.ErrFull
	}
	t.releaseInFlight = func() { t.admission.inFlight.Release(company, 1) }
	return nil
}

// acquire takes a slot, unless the ticket holds one. Anonymous requests wait for it, because they come in bursts and
// each takes little time. The request of a tenant fails at once with [fairlimit.ErrFull], and the response has
// Retry-After.
func (t *ticket) acquire(ctx context.Context) error {
	switch {
	case t.acquired || t.exempt:
		return nil
	case t.anonymous():
		ctx, cancel := context.WithTimeout(ctx, anonymousWait)
		defer cancel()
		t.acquired = t.pool.Acquire(ctx, t.holder)
	default:
		t.acquired = t.pool.TryAcquire(t.holder, 1)
	}
	if !t.acquired {
		return fairlimit.ErrFull
	}
	return nil
}

// release releases the slot. It is called while the server waits for the client, so that a client that sends or reads
// slowly blocks no other request.
func (t *ticket) release() {
	if t.acquired {
		t.pool.Release(t.holder, 1)
		t.acquired = false
	}
}

// close releases everything that the ticket holds.
func (t *ticket) close() {
	t.release()
	t.releaseAllBytes()
	if t.releaseInFlight != nil {
		t.releaseInFlight()
		t.releaseInFlight = nil
	}
}

func (t *ticket) releaseAllBytes() {
	if t.bytes > 0 {
		t.bytesPool().Release(t.holder, t.bytes)
		t.bytes = 0
	}
}

func (t *ticket) bytesPool() *fairlimit.Limiter[holder] {
	if t.anonymous() {
		return t.admission.anonymousBytes
	}
	return t.admission.bytes
}

// reserveBytes reserves n bytes of memory until the request ends.
func (t *ticket) reserveBytes(n int) error {
	if !t.bytesPool().TryAcquire(t.holder, n) {
		return fairlimit.ErrFull
	}
	t.bytes += n
	return nil
}

// releaseBytes releases n reserved bytes.
func (t *ticket) releaseBytes(n int) {
	t.bytesPool().Release(t.holder, n)
	t.bytes -= n
}

// setTenant makes the tenant of an accepted credential the holder of the ticket. The request no longer counts as
// anonymous.
func (t *ticket) setTenant(ctx context.Context, company base.ID) error {
	if t.charged {
		t.admission.anonymousRate.refund(t.source, 1)
		t.charged = false
	}
	if t.holder.company == company {
		return nil
	}
	t.release()
	t.releaseAllBytes()
	t.pool, t.holder = t.tenantPool, holder{company: company}
	if err := t.trackInFlight(company); err != nil {
		return err
	}
	return t.acquire(ctx)
}

// clearTenant makes the request anonymous: its credential was accepted earlier and is no longer valid.
func (t *ticket) clearTenant() error {
	if !t.anonymous() {
		t.release()
		t.releaseAllBytes()
		t.pool, t.holder = t.admission.anonymous, holder{network: t.source.Wide()}
	}
	return t.charge(1)
}

// charge counts n requests against the limit of anonymous requests of the source. The request itself is counted once.
func (t *ticket) charge(n int64) error {
	if n == 1 && t.charged {
		return nil
	}
	t.charged = true
	return t.admission.anonymousRate.spend(t.source, n)
}

// authenticate looks up the session of a credential. Meanwhile the ticket holds a slot: of the tenant if the credential
// was accepted here before, otherwise an anonymous one. The error is [base.ErrNotFound] if the credential is not
// accepted, and a [*base.SourceNetworkError] if it is not accepted from this source.
func (t *ticket) authenticate(ctx context.Context, presented credential,
	lookUp func(context.Context, [32]byte) (base.Session, error)) (base.Session, error) {
	if err := t.acquire(ctx); err != nil {
		return base.Session{}, err
	}
	known := presented.recognizedBy(t.source)
	session, err := lookUp(ctx, presented.digest)
	if _, elsewhere := errors.AsType[*base.SourceNetworkError](err); elsewhere || errors.Is(err, base.ErrNotFound) {
		t.admission.credentials.remove(known)
		if limited := t.clearTenant(); limited != nil {
			return base.Session{}, limited
		}
		return base.Session{}, err
	}
	if err != nil {
		return base.Session{}, err
	}
	t.admission.credentials.add(known, session.Account.ID)
	return session, t.setTenant(ctx, session.Account.ID)
}

// read reads a body to its end. announced is the length that the client announced, negative if unknown. Memory is
// reserved as the body arrives, so that a client that announces much and sends little reserves little. An anonymous
// request begins with a small buffer.
func (t *ticket) read(body io.Reader, announced int64) ([]byte, error) {
	const smallBuffer, usualBuffer, growth = 512, 64 << 10, 1 << 20 // the buffer of a large file is not doubled
	first := smallBuffer
	if !t.anonymous() {
		first = int(max(min(announced+1, usualBuffer), smallBuffer)) // one more byte, so that the end is seen without growing
	}
	raw := []byte{}
	for {
		if len(raw) == cap(raw) {
			more := max(first, min(cap(raw), growth))
			if err := t.reserveBytes(more); err != nil {
				return nil, err
			}
			raw = append(make([]byte, 0, cap(raw)+more), raw...)
		}
		n, err := body.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		if errors.Is(err, io.EOF) {
			return raw, nil
		}
		if err != nil {
			return raw, err
		}
	}
}

// readForm reads the body of a request and holds no slot meanwhile. The error is a [*http.MaxBytesError] if the body
// has more than limit bytes.
func (t *ticket) readForm(ctx context.Context, r *http.Request, limit int64) ([]byte, error) {
	t.release()
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	raw, err := t.read(http.MaxBytesReader(nil, r.Body, limit), r.ContentLength)
	if err != nil {
		return nil, err
	}
	return raw, t.acquire(ctx)
}
