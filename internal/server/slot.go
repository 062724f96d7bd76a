package server

import (
	"context"
	"errors"
	"io"
	"net/http"

	"quittance/internal/fairlimit"
	"quittance/internal/source"
	"quittance/internal/store"
)

// slot is what one request holds: being in flight, a place while it is worked on, and bytes.
type slot struct {
	admission *admission
	source    source.Source
	// ofCompany is the pool of its place once its company is known; places is the pool of the one it has or had last.
	ofCompany, places *fairlimit.Limiter[holder]
	holder            holder
	// exempt requests are answered whatever there is to do.
	exempt  bool
	inside  bool
	bytes   int
	charged bool // by the limit of strangers
	land    func()
}

// stranger tells that no credential of the request has been accepted.
func (s *slot) stranger() bool { return s.holder.company.IsZero() }

// fly counts the request among those of a company that are in flight, instead of those it was counted among.
func (s *slot) fly(company store.ID) error {
	if s.land != nil {
		s.land()
		s.land = nil
	}
	if !s.admission.inFlight.TryAcquire(company, 1) {
		return fairlimit.ErrFull
	}
	s.land = func() { s.admission.inFlight.Release(company, 1) }
	return nil
}

// enter takes a place, unless the request has one. A stranger waits for it, because strangers come in bursts of which
// each takes little; a company is told at once to try again.
func (s *slot) enter(ctx context.Context) error {
	switch {
	case s.inside || s.exempt:
		return nil
	case s.stranger():
		ctx, cancel := context.WithTimeout(ctx, longestAdmission)
		defer cancel()
		s.inside = s.places.Acquire(ctx, s.holder)
	default:
		s.inside = s.places.TryAcquire(s.holder, 1)
	}
	if !s.inside {
		return fairlimit.ErrFull
	}
	return nil
}

// pause gives the place back while the client is waited for: whoever sends or reads slowly keeps nobody out.
func (s *slot) pause() {
	if s.inside {
		s.places.Release(s.holder, 1)
		s.inside = false
	}
}

// leave gives everything back.
func (s *slot) leave() {
	s.pause()
	s.giveBytes()
	if s.land != nil {
		s.land()
		s.land = nil
	}
}

func (s *slot) giveBytes() {
	if s.bytes > 0 {
		s.bytesPool().Release(s.holder, s.bytes)
		s.bytes = 0
	}
}

func (s *slot) bytesPool() *fairlimit.Limiter[holder] {
	if s.stranger() {
		return s.admission.strangerBytes
	}
	return s.admission.bytes
}

// reserve takes room for so many bytes until the request ends.
func (s *slot) reserve(n int) error {
	if !s.bytesPool().TryAcquire(s.holder, n) {
		return fairlimit.ErrFull
	}
	s.bytes += n
	return nil
}

// release gives so many of the reserved bytes back.
func (s *slot) release(n int) {
	s.bytesPool().Release(s.holder, n)
	s.bytes -= n
}

// identify makes the company of an accepted credential the holder. What the request has costed as a stranger's is not
// counted any more.
func (s *slot) identify(ctx context.Context, company store.ID) error {
	if s.charged {
		s.admission.anonymous.refund(s.source, 1)
		s.charged = false
	}
	if s.holder.company == company {
		return nil
	}
	s.pause()
	s.giveBytes()
	s.places, s.holder = s.ofCompany, holder{company: company}
	if err := s.fly(company); err != nil {
		return err
	}
	return s.enter(ctx)
}

// disown makes a stranger of a request whose credential was accepted before and is not any more.
func (s *slot) disown() error {
	if !s.stranger() {
		s.pause()
		s.giveBytes()
		s.places, s.holder = s.admission.strangers, holder{network: s.source.Wide()}
	}
	return s.charge(1)
}

// charge counts a request, or what it costs beyond the usual, against the limit of strangers of its source.
func (s *slot) charge(n int64) error {
	if n == 1 && s.charged {
		return nil
	}
	s.charged = true
	return s.admission.anonymous.spend(s.source, n)
}

// authenticate asks for the session of a credential, with the place of who presents it: a company's, when the credential
// was accepted here before, otherwise a stranger's. [store.ErrNotFound] says that it is not accepted.
func (s *slot) authenticate(ctx context.Context, digest [32]byte, look func(context.Context, [32]byte) (store.Session, error)) (store.Session, error) {
	if err := s.enter(ctx); err != nil {
		return store.Session{}, err
	}
	session, err := look(ctx, digest)
	if errors.Is(err, store.ErrNotFound) {
		s.admission.credentials.remove(digest)
		if limited := s.disown(); limited != nil {
			return store.Session{}, limited
		}
		return store.Session{}, err
	}
	if err != nil {
		return store.Session{}, err
	}
	s.admission.credentials.add(digest, session.Account.ID)
	return session, s.identify(ctx, session.Account.ID)
}

// read reads a body of announced bytes, negative when it is not known, to its end. Its room is taken as it arrives: who
// announces much and sends little takes little, and nearly nothing as long as nobody knows who it is.
func (s *slot) read(body io.Reader, announced int64) ([]byte, error) {
	const least, usual = 512, 64 << 10
	first := least
	if !s.stranger() {
		first = int(max(min(announced+1, usual), least)) // one more, for the end to be seen without growing
	}
	raw := []byte{}
	for {
		if len(raw) == cap(raw) {
			more := max(first, cap(raw))
			if err := s.reserve(more); err != nil {
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

// readForm reads the body of a request of at most so many bytes, without a place meanwhile. The error is a
// [*http.MaxBytesError] when there are more.
func (s *slot) readForm(ctx context.Context, r *http.Request, most int64) ([]byte, error) {
	s.pause()
	if r.ContentLength > most {
		return nil, &http.MaxBytesError{Limit: most}
	}
	raw, err := s.read(http.MaxBytesReader(nil, r.Body, most), r.ContentLength)
	if err != nil {
		return nil, err
	}
	return raw, s.enter(ctx)
}
