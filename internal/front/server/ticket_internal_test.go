package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"quittance/internal/account"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/connlimit"
	"quittance/internal/platform/fairlimit"
	"quittance/internal/platform/secret"
	"quittance/internal/platform/source"
)

// TestMemoryIsReservedAsBodiesArrive checks that a body of any length is read to its end, whether it was announced
// correctly or not. The memory that is reserved for it is proportional to what has arrived, and is released. If there
// is no memory left, reading fails in the middle.
func TestMemoryIsReservedAsBodiesArrive(t *testing.T) {
	company := base.ID{1}
	a := smallAdmission(t)
	for _, length := range []int{0, 1, 4095, 4096, 4097, 64 << 10, 1 << 20} {
		for _, announced := range []int64{-1, 0, int64(length), 1 << 40} {
			for _, owner := range []base.ID{{}, company} {
				text := bytes.Repeat([]byte("x"), length)
				s := &ticket{admission: a, holder: holder{company: owner}}
				got, err := s.read(iotest.HalfReader(bytes.NewReader(text)), announced)
				if err != nil || !bytes.Equal(got, text) {
					t.Fatalf("%d bytes of %d, error %v", len(got), length, err)
				}
				if used := s.bytesPool().InUse(); used < length || used > 2*length+64<<10 {
					t.Errorf("%d bytes are reserved for %d", used, length)
				}
				s.close()
			}
		}
	}
	if a.bytes.InUse() != 0 {
		t.Errorf("%d bytes are left", a.bytes.InUse())
	}
	a.bytes = fairlimit.New[holder](100<<10, fairlimit.Policy{Divisor: holderDivisor, Max: 100 << 10})
	s := &ticket{admission: a, holder: holder{company: company}}
	if _, err := s.read(strings.NewReader(strings.Repeat("x", 90<<10)), -1); !errors.Is(err, fairlimit.ErrFull) {
		t.Errorf("error %v, want ErrFull", err)
	}
	other := &ticket{admission: a, holder: holder{company: base.ID{2}}}
	if _, err := other.read(strings.NewReader("{}"), 2); err != nil {
		t.Errorf("no memory for two bytes of another company: %v", err)
	}
	s.close()
	broken := errors.New("the client closed the connection")
	if got, err := s.read(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)), 3); !errors.Is(err,
		broken) || string(got) != "abc" {
		t.Errorf("%q, error %v", got, err)
	}
	s.close()
	other.close()
	if a.bytes.InUse() != 0 {
		t.Errorf("%d bytes are left", a.bytes.InUse())
	}
}

// smallAdmission returns an admission with low limits.
func smallAdmission(t *testing.T) *admission {
	t.Helper()
	return newAdmission(&Config{MaxRequests: 8, MaxBody: 1 << 20, AnonymousRate: 10, Now: time.Now},
		connlimit.Config{Total: 64, PerSource: 4})
}

// TestAnonymousRequestsDoNotDelayCallers checks that the server serves health checks and callers whose credential was
// accepted before, however many anonymous requests are active.
func TestAnonymousRequestsDoNotDelayCallers(t *testing.T) {
	running, db := newTestServer(t, io.Discard)
	s, ok := running.Config.Handler.(*Server)
	if !ok {
		t.Fatal("another handler")
	}
	s.admission = smallAdmission(t)
	made, err := identity.CreateAccount(t.Context(), db.DB, "Palm", identity.NewUser{Email: "a@example.com",
		PasswordHash: "x"})
	if err != nil {
		t.Fatal(err)
	}
	user, err := db.UserByEmail(t.Context(), "a@example.com")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(path, token string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	if _, err := identity.CreateToken(t.Context(), db.DB, user,
		identity.NewToken{Digest: secret.Digest(secret.New("known")), ExpiresAt: db.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if status := ask(client+"/account", "known"); status != http.StatusOK {
		t.Fatalf("the first call answered %d", status)
	}
	taken := 0
	for n := range 256 {
		if s.admission.anonymous.TryAcquire(holder{network: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}),
			32)}, 1) {
			taken++
		}
	}
	if taken != minSidePool {
		t.Fatalf("anonymous requests acquired %d slots, want all %d", taken, minSidePool)
	}
	for path, want := range map[string]int{client + "/account": http.StatusOK, "/healthz": http.StatusOK} {
		if status := ask(path, "known"); status != want {
			t.Errorf("%s answered %d, want %d", path, status, want)
		}
	}
	if status := ask(client+"/account", "unknown"); status != http.StatusServiceUnavailable {
		t.Errorf("an anonymous request without a slot answered %d", status)
	}
	// A request with a credential that is no longer accepted is anonymous.
	if err := identity.RevokeToken(t.Context(), db.DB, secret.Digest(secret.New("known"))); err != nil {
		t.Fatal(err)
	}
	if status := ask(client+"/account", "known"); status != http.StatusUnauthorized {
		t.Errorf("a revoked token answered %d", status)
	}
	if status := ask(client+"/account", "known"); status != http.StatusServiceUnavailable {
		t.Errorf("the second call with a revoked token answered %d, want that of an anonymous request", status)
	}
	if _, known := s.admission.credentials.company(secret.Digest(secret.New("known"))); known || made.ID.IsZero() {
		t.Error("a revoked token is in the cache")
	}
}

// TestCredentialCache checks that the size of the cache is bounded, and that credentials in use are not evicted.
func TestCredentialCache(t *testing.T) {
	c := newCredentialCache()
	digest := func(n int) (d [32]byte) {
		d[0], d[1], d[2] = byte(n), byte(n>>8), byte(n>>16)
		return d
	}
	for n := range 5 * cachedCredentials {
		c.add(digest(n), base.ID{1})
		if n%1000 == 0 {
			c.add(digest(7), base.ID{2}) // each request of its owner adds it again
		}
	}
	if held := len(c.current) + len(c.previous); held > 2*cachedCredentials {
		t.Errorf("%d credentials are held", held)
	}
	if company, ok := c.company(digest(7)); !ok || company != (base.ID{2}) {
		t.Error("a credential in use was evicted")
	}
	if _, ok := c.company(digest(5*cachedCredentials - 1)); !ok {
		t.Error("the last credential is not in the cache")
	}
	if _, ok := c.company(digest(8)); ok {
		t.Error("an old credential was not evicted")
	}
}

// TestAnonymousLimiter checks that counts end with their minute, the number of counts is bounded, and refunded requests
// do not count.
func TestAnonymousLimiter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := newAnonymousLimiter(3, func() time.Time { return now })
	one := source.Parse("192.0.2.1")
	for n := range 5 {
		err := l.spend(one, 1)
		if limited, ok := errors.AsType[*account.LimitedError](err); ok != (n >= 3) ||
			ok && (limited.Limit.Reset <= 0 || limited.Limit.Reset > time.Minute) {
			t.Errorf("request %d: %v", n, err)
		}
	}
	l.refund(one, 1)
	if err := l.spend(one, 2); err == nil {
		t.Error("two requests were allowed although one is left")
	}
	if err := l.spend(one, 1); err != nil {
		t.Errorf("a refunded request counts: %v", err)
	}
	now = now.Add(time.Minute)
	if err := l.spend(one, 3); err != nil {
		t.Errorf("the next minute: %v", err)
	}
	for n := range maxSources + 100 {
		_ = l.spend(source.Of(netip.AddrFrom4([4]byte{11, byte(n >> 16), byte(n >> 8), byte(n)})), 1)
	}
	if len(l.windows) > maxSources+1 {
		t.Errorf("%d sources are held", len(l.windows))
	}
	now = now.Add(2 * time.Minute)
	if err := l.spend(one, 1); err != nil || len(l.windows) != 1 {
		t.Errorf("%d sources are held after their minute: %v", len(l.windows), err)
	}
}
