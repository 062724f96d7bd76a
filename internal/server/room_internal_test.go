package server

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"quittance/internal/share"
	"quittance/internal/store"
)

// TestBodiesTakeRoomAsTheyArrive: a body of any length, announced rightly or not, is read whole; its room is as large as what
// came of it and given back; and a body for which there is no room is refused in the midst of it.
func TestBodiesTakeRoomAsTheyArrive(t *testing.T) {
	company := store.ID{1}
	r := newRoom(8, 1<<20)
	for _, length := range []int{0, 1, 4095, 4096, 4097, 64 << 10, 1 << 20} {
		for _, announced := range []int64{-1, 0, int64(length), 1 << 40} {
			for _, holder := range []store.ID{{}, company} {
				text := bytes.Repeat([]byte("x"), length)
				s := stay{room: r, holder: holder}
				got, err := s.read(iotest.HalfReader(bytes.NewReader(text)), announced)
				if err != nil || !bytes.Equal(got, text) {
					t.Fatalf("%d bytes of %d, error %v", len(got), length, err)
				}
				if used := r.bytes.Used(); used < length || used > 2*length+64<<10 {
					t.Errorf("%d bytes take room for %d", length, used)
				}
				s.leave()
			}
		}
	}
	if r.bytes.Used() != 0 {
		t.Errorf("%d bytes are left", r.bytes.Used())
	}
	r.bytes = share.NewPool[store.ID](100<<10, share.Rule{Part: roomPart, Most: 100 << 10})
	s := stay{room: r, holder: company}
	if _, err := s.read(strings.NewReader(strings.Repeat("x", 90<<10)), -1); !errors.Is(err, errNoRoom) {
		t.Errorf("error %v, want no room", err)
	}
	other := stay{room: r, holder: store.ID{2}}
	if _, err := other.read(strings.NewReader("{}"), 2); err != nil {
		t.Errorf("no room for another company's two bytes: %v", err)
	}
	s.leave()
	broken := errors.New("the client broke off")
	if got, err := s.read(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)), 3); !errors.Is(err, broken) || string(got) != "abc" {
		t.Errorf("%q, error %v", got, err)
	}
	s.leave()
	other.leave()
	if r.bytes.Used() != 0 {
		t.Errorf("%d bytes are left", r.bytes.Used())
	}
}
