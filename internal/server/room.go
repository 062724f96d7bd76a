package server

import (
	"errors"
	"io"
	"net/http"

	"quittance/api"
	"quittance/internal/share"
	"quittance/internal/store"
)

// defaultMaxRequests is how many requests are worked on at a time when the configuration does not say.
const defaultMaxRequests = 2048

// roomPart is the fraction of the free room that one company may take, and everybody whose company is not known yet
// together.
const roomPart = 4

// room bounds what requests take of this process at a time: places to be worked on, and bytes of bodies. A holder is a company,
// or the zero identifier for everybody whose company is not known (yet).
type room struct {
	places, bytes *share.Pool[store.ID]
}

// newRoom makes room for so many requests, and for the bodies of 64 of the largest, or 64 MiB.
func newRoom(requests int, maxBody int64) *room {
	const bodies, least = 64, 64 << 20
	size := int(max(least, bodies*maxBody))
	return &room{places: share.NewPool[store.ID](requests, share.Rule{Part: roomPart, Most: requests}),
		bytes: share.NewPool[store.ID](size, share.Rule{Part: roomPart, Most: size})}
}

// errNoRoom is why a request is refused that found no room.
var errNoRoom = errors.New("too many requests at a time")

// crowded is the refusal of a request that found no room. Room is made as soon as some other request ends.
func crowded() error {
	return &refusal{code: api.CodeUnavailable, header: map[string]string{"Retry-After": "1"}, cause: errNoRoom}
}

// stay is what one request has of the room.
type stay struct {
	room   *room
	holder store.ID
	inside bool
	bytes  int
}

// enter takes a place.
func (s *stay) enter() error {
	if s.inside = s.room.places.Take(s.holder, 1); !s.inside {
		return crowded()
	}
	return nil
}

// pause gives the place back while the client is waited for: nobody who sends his body slowly keeps others out.
func (s *stay) pause() {
	if s.inside {
		s.room.places.Give(s.holder, 1)
		s.inside = false
	}
}

// become makes the company of the caller the holder.
func (s *stay) become(company store.ID) error {
	s.pause()
	s.holder = company
	return s.enter()
}

// leave gives everything back.
func (s *stay) leave() {
	s.pause()
	if s.bytes > 0 {
		s.room.bytes.Give(s.holder, s.bytes)
		s.bytes = 0
	}
}

// read reads a body of announced bytes, negative when it is not known, to its end. Its room is taken as it arrives: who
// announces much and sends little takes little, and nearly nothing as long as nobody knows who it is.
func (s *stay) read(body io.Reader, announced int64) ([]byte, error) {
	const least, usual = 4 << 10, 64 << 10
	first := least
	if !s.holder.IsZero() {
		first = int(max(min(announced+1, usual), least)) // one more, for the end to be seen without growing
	}
	raw := []byte{}
	for {
		if len(raw) == cap(raw) {
			more := max(first, cap(raw))
			if !s.room.bytes.Take(s.holder, more) {
				return nil, crowded()
			}
			s.bytes += more
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

// Inside is how many requests are being worked on.
func (s *Server) Inside() int { return s.room.places.Used() }

// exempt tells whether a request is answered however many others there are: who asks whether the process is well has to
// be told.
func exempt(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }
