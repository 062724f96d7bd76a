package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ops/service"
	"quittance/test/kit"
)

// few returns a configuration so small that a company may have eight active requests if no other company has any.
func few(c *service.Config) {
	c.MaxRequests, c.ProviderTimeout, c.PollFirst = 40, time.Minute, time.Hour
}

// TestRequestSlotsAreShared checks that requests beyond a company's share of the slots fail at once with 503,
// Retry-After and the envelope. Other companies and the health checks get responses meanwhile. Afterwards there are
// free slots again.
func TestRequestSlotsAreShared(t *testing.T) {
	onFirst(t, few, func(t *testing.T, s *system) {
		provider := newHangingProvider(t)
		hit, other := s.company(t), s.connected(t)
		hit.connect(t, provider.url, service.Sandbox)
		provider.hang()
		const burst, share = 30, 8
		var ids []string
		for range burst {
			ids = append(ids, hit.draft(t, hit.numbered("")))
		}
		token := hit.token(t)
		responses := make(chan response, burst)
		var group sync.WaitGroup
		for _, id := range ids {
			group.Go(func() {
				a, err := hit.try(t.Context(), request{method: http.MethodPost, path: invoicesPath + "/" + id + "/submit",
					token: token})
				if err != nil {
					t.Error(err)
				}
				responses <- a
			})
		}
		for range burst - share {
			a := kit.Receive(t, responses, "a request is refused")
			a.want(t, http.StatusServiceUnavailable, api.CodeUnavailable)
			if a.header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
			}
		}
		kit.Until(t, "a call in each slot", func() bool { _, highest := provider.counts(); return highest == share })
		hit.get(t, "/api/v1/client/account").want(t, http.StatusServiceUnavailable, api.CodeUnavailable)
		for range 20 {
			other.get(t, "/api/v1/client/account").want(t, http.StatusOK, "")
			s.send(t, request{method: http.MethodGet, path: "/healthz"}).want(t, http.StatusOK, "")
			s.send(t, request{method: http.MethodGet, path: "/readyz"}).want(t, http.StatusOK, "")
		}
		if _, highest := provider.counts(); highest != share {
			t.Errorf("%d calls were inside the provider, want %d", highest, share)
		}
		provider.recover()
		group.Wait()
		hit.get(t, "/api/v1/client/account").want(t, http.StatusOK, "")
	})
}

// TestSlowBodiesHoldNoSlots checks that a client that begins a request and sends its body slowly blocks no other
// client, whether its credential is known or not.
func TestSlowBodiesHoldNoSlots(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	onFirst(t, few, func(t *testing.T, s *system) {
		c := s.company(t)
		token := c.token(t)
		for n := range 60 {
			conn := s.dial(t)
			head := "POST /api/v1/client/auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{\"email\":"
			if n%2 == 0 {
				head = strings.Replace(strings.Replace(head, "auth/login", "invoices", 1), "\r\n\r\n",
					"\r\nAuthorization: Bearer "+token+"\r\n\r\n", 1)
			}
			if _, err := conn.Write([]byte(head)); err != nil {
				t.Fatal(err)
			}
		}
		// Each of them holds a slot until its head is read, so a request may find no free slot at first.
		for range 20 {
			kit.Until(t, "a concurrent login", func() bool { return s.login(t, c.email, password).status == http.StatusOK })
			kit.Until(t, "a concurrent draft", func() bool {
				return c.post(t, invoicesPath,
					c.numbered("")).status == http.StatusCreated
			})
		}
	})
}

// TestConnectionsAreBounded checks that a connection beyond the bound replaces the one that has been idle for longest,
// and that one beyond the bound of its source replaces a connection of that source.
func TestConnectionsAreBounded(t *testing.T) {
	for name, change := range map[string]func(*service.Config){
		"in all":       func(c *service.Config) { c.MaxRequests = 2 },
		"for a source": func(c *service.Config) { c.ConnectionsPerSource, c.TrustedProxies = 16, nil },
	} {
		t.Run(name, func(t *testing.T) {
			onFirst(t, change, func(t *testing.T, s *system) {
				s.http.CloseIdleConnections()
				// The server keeps a connection that its last client has closed for a moment, which counts meanwhile.
				kit.Until(t, "as many connections as the bound", func() bool {
					var open []net.Conn
					for range 3 * 16 {
						open = append(open, s.dial(t))
						if !respondsOn(open[len(open)-1]) {
							t.Fatal("a new connection is not answered")
						}
					}
					kept := 0
					for _, conn := range open {
						if respondsOn(conn) {
							kept++
						}
					}
					if kept > 16 || kept < 15 {
						t.Fatalf("%d of %d connections are open, want 16", kept, len(open))
					}
					return kept == 16
				})
			})
		})
	}
}

// dial opens a connection to a system until the end of the test.
func (s *system) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// answersOn reports whether a request on a connection gets a response.
func respondsOn(conn net.Conn) bool {
	if _, err := fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		return false
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	return err == nil && response.StatusCode == http.StatusOK && response.Body.Close() == nil
}

// TestSlowUsersHoldNoSlots checks that a user who is logged in and sends a form slowly, or does not read a page, holds
// no slot meanwhile. The same company and others get pages although there are more such requests than the company may
// have slots.
func TestSlowUsersHoldNoSlots(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	const requests = 4 // a company gets two slots
	for name, slow := range map[string]struct {
		sent   string
		active func(*testing.T, net.Conn) bool
	}{
		"forms":     {"POST /invoices/new HTTP/1.1\r\nHost: a\r\nCookie: COOKIE\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\na", pending},
		"documents": {strings.Repeat("GET PATH HTTP/1.1\r\nHost: a\r\nCookie: COOKIE\r\n\r\n", 4), begun},
	} {
		t.Run(name, func(t *testing.T) {
			onFirst(t, few, func(t *testing.T, s *system) {
				email, paths := withIncoming(t, s.db, map[string][]byte{"large": make([]byte, 3<<20)})
				clients := []*http.Client{loggedIn(t, s.base, email, http.DefaultTransport),
					loggedIn(t, s.base, s.company(t).email, http.DefaultTransport)}
				head := strings.ReplaceAll(strings.ReplaceAll(slow.sent, "COOKIE", sessionCookie(t, clients[0], s.base)),
					"PATH", paths["large"])
				// Slow requests lose their connections after a while, so each attempt opens new ones.
				kit.Until(t, "pages during slow requests", func() bool {
					var slowConns []net.Conn
					defer func() {
						for _, conn := range slowConns {
							_ = conn.Close()
						}
					}()
					for range requests {
						// A request holds a slot until it is slow, so the next one may find none.
						kit.Until(t, "a slow request", func() bool {
							conn := s.dial(t)
							if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
								t.Fatal(err)
							}
							if _, err := conn.Write([]byte(head)); err != nil {
								t.Fatal(err)
							}
							if !slow.active(t, conn) {
								_ = conn.Close()
								return false
							}
							slowConns = append(slowConns, conn)
							return true
						})
					}
					for _, client := range clients {
						response, err := client.Get(s.base + "/invoices")
						if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusOK {
							return false
						}
					}
					return name != "forms" || !slices.ContainsFunc(slowConns, func(conn net.Conn) bool { return !pending(t, conn) })
				})
			})
		})
	}
}

// begun reports whether the response with a document has begun on a connection.
func begun(t *testing.T, conn net.Conn) bool {
	t.Helper()
	const wanted = "HTTP/1.1 200"
	if err := conn.SetReadDeadline(time.Now().Add(kit.Patience())); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, len(wanted))
	_, err := io.ReadFull(conn, head)
	return err == nil && string(head) == wanted
}

// unanswered reports whether a connection gets no response within a time in which an error would have arrived.
func pending(t *testing.T, conn net.Conn) bool {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Read(make([]byte, 1))
	return os.IsTimeout(err)
}

// sessionCookie returns the value of the Cookie header of a session.
func sessionCookie(t *testing.T, client *http.Client, base string) string {
	t.Helper()
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, cookie := range client.Jar.Cookies(at) {
		return cookie.Name + "=" + cookie.Value
	}
	t.Fatal("no session")
	return ""
}
