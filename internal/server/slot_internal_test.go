package server

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"quittance/internal/connlimit"
	"quittance/internal/share"
	"quittance/internal/store"
)

// TestBodiesTakeRoomAsTheyArrive: a body of any length, announced rightly or not, is read whole; its room is as large as what
// came of it and given back; and a body for which there is no room is refused in the midst of it.
func TestBodiesTakeRoomAsTheyArrive(t *testing.T) {
	company := store.ID{1}
	a := roomy(t)
	for _, length := range []int{0, 1, 4095, 4096, 4097, 64 << 10, 1 << 20} {
		for _, announced := range []int64{-1, 0, int64(length), 1 << 40} {
			for _, owner := range []store.ID{{}, company} {
				text := bytes.Repeat([]byte("x"), length)
				s := &slot{admission: a, holder: holder{company: owner}}
				got, err := s.read(iotest.HalfReader(bytes.NewReader(text)), announced)
				if err != nil || !bytes.Equal(got, text) {
					t.Fatalf("%d bytes of %d, error %v", len(got), length, err)
				}
				if used := s.bytesPool().Used(); used < length || used > 2*length+64<<10 {
					t.Errorf("%d bytes take room for %d", length, used)
				}
				s.leave()
			}
		}
	}
	if a.bytes.Used() != 0 {
		t.Errorf("%d bytes are left", a.bytes.Used())
	}
	a.bytes = share.NewPool[holder](100<<10, share.Rule{Part: holderPart, Most: 100 << 10})
	s := &slot{admission: a, holder: holder{company: company}}
	if _, err := s.read(strings.NewReader(strings.Repeat("x", 90<<10)), -1); !errors.Is(err, share.ErrFull) {
		t.Errorf("error %v, want no room", err)
	}
	other := &slot{admission: a, holder: holder{company: store.ID{2}}}
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
	if a.bytes.Used() != 0 {
		t.Errorf("%d bytes are left", a.bytes.Used())
	}
}

// roomy is an admission with room for little.
func roomy(t *testing.T) *admission {
	t.Helper()
	return newAdmission(&Config{MaxRequests: 8, MaxBody: 1 << 20, AnonymousRate: 10, Now: time.Now}, connlimit.Config{Total: 64, PerSource: 4})
}
