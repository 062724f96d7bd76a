package integration_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"quittance/client/api"
)

// chosenPassword is the password that users of a test choose to replace their first one.
const chosenPassword = "a synthetic passphrase for tests"

// session logs a user in to the console for the first time, chooses another password, and returns the session's cookie.
func (f *fleet) session(t *testing.T, base, email, password string) string {
	t.Helper()
	given := f.form(t, base+"/login", "", url.Values{"email": {email}, "password": {password}})
	return f.form(t, base+"/password", given, url.Values{"current": {password}, "new": {chosenPassword}})
}

// form sends a form that starts a session, and returns its cookie.
func (f *fleet) form(t *testing.T, to, session string, fields url.Values) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader(fields.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Cookie", session)
	response, err := f.caller.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	cookies := response.Cookies()
	if response.StatusCode != http.StatusSeeOther || len(cookies) != 1 {
		t.Fatalf("%s: %d %v", to, response.StatusCode, cookies)
	}
	return cookies[0].Name + "=" + cookies[0].Value
}

// page requests a page of the console and returns the status, the number of bytes, and its last bytes.
func (f *fleet) page(url, session string) (status int, retryAfter string, size int64, last string, err error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, "", 0, "", err
	}
	request.Header.Set("Accept", "text/html")
	request.Header.Set("Cookie", session)
	response, err := f.caller.client.Do(request)
	if err != nil {
		return 0, "", 0, "", err
	}
	defer response.Body.Close()
	var end tail
	size, err = io.Copy(&end, response.Body)
	return response.StatusCode, response.Header.Get("Retry-After"), size, string(end), err
}

// tail keeps only the last bytes written to it: all pages together would need more memory than the server under test.
type tail []byte

func (t *tail) Write(text []byte) (int, error) {
	*t = append(*t, text[max(0, len(text)-64):]...)
	*t = (*t)[max(0, len(*t)-64):]
	return len(text), nil
}

// TestConsoleReadingFitsInMemory checks that forty concurrent large pages of one company, of a draft of 0.9 MB and of
// one of a tenth of that with as many lines, keep the process below maxReading. Each page must be complete or ask to
// come again, and all pages and calls of another company must succeed meanwhile.
func TestConsoleReadingFitsInMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	onDatabases(t, func(t *testing.T, database string) {
		t.Parallel()
		f := newFleet(t, built(t, releasedProduct), database)
		first := f.address(t, f.world.running["first"])
		var large, long api.Data[api.Invoice]
		f.must(t, http.MethodPost, first+"/api/v1/client/invoices", largeDraft(1), &large)
		f.must(t, http.MethodPost, first+"/api/v1/client/invoices",
			strings.ReplaceAll(largeDraft(2), strings.Repeat("x", 800), ""), &long)
		made := f.command(t, "", "account", "create", "--company", "Other LLC", "--email", "owner@other.example", "--json",
			"--database", f.database, "--key-file", "key.json")
		if err := f.world.running["first"].stop(); err != nil { // its memory is that of writing
			t.Fatal(err)
		}
		delete(f.world.running, "first")
		base := f.start(t, "reader")
		reader := f.world.running["reader"]
		session := f.session(t, base, "owner@palm.example", f.password)
		other := f.session(t, base, "owner@other.example", at0(t, made, "/password"))
		token := f.secondToken(t, base, chosenPassword)
		reader.resetPeak(t)
		for _, path := range []string{large.Data.ID + "/edit", large.Data.ID, large.Data.ID + "/credit",
			long.Data.ID + "/edit"} {
			statuses := f.besides(t, base, path, session, other, token)
			if statuses[http.StatusOK] < 2 || statuses[http.StatusOK]+statuses[http.StatusServiceUnavailable] != 40 {
				t.Errorf("%s: responses %v", path, statuses)
			}
			t.Logf("%s: %v, peak %d MiB", path, statuses, reader.peak(t))
		}
		if peak := reader.peak(t); peak > maxReading {
			t.Errorf("the process had %d MiB, want at most %d", peak, maxReading)
		}
	})
}

// secondToken returns a bearer token of the other company's user.
func (f *fleet) secondToken(t *testing.T, base, password string) string {
	t.Helper()
	var login api.Data[api.Login]
	f.must(t, http.MethodPost, base+"/api/v1/client/auth/login",
		fmt.Sprintf(`{"email":"owner@other.example","password":%q}`, password), &login)
	return login.Data.Token
}

// besides requests a page of an invoice forty times at once, while another company works, and returns the number of
// responses by status.
func (f *fleet) besides(t *testing.T, base, path, session, other, token string) map[int]int {
	t.Helper()
	var mu sync.Mutex
	statuses := map[int]int{}
	var running, beside sync.WaitGroup
	for range 40 {
		running.Go(func() {
			status, again, size, last, err := f.page(base+"/invoices/"+path, session)
			if err != nil || !strings.HasSuffix(strings.TrimSpace(last), "</html>") || status == http.StatusServiceUnavailable &&
				again == "" || status == http.StatusOK && size < 100_000 {
				t.Errorf("%s: %d %q, %d bytes to %q, %v", path, status, again, size, last, err)
			}
			mu.Lock()
			statuses[status]++
			mu.Unlock()
		})
	}
	ended := make(chan struct{})
	beside.Go(func() {
		for {
			status, _, _, _, err := f.page(base+"/invoices", other)
			got, callErr := f.caller.call(http.MethodGet, base+"/api/v1/client/account", token, "")
			if err != nil || callErr != nil || status != http.StatusOK || got.status != http.StatusOK || !json.Valid(got.body) {
				t.Errorf("another company: %d %v, %d %v", status, err, got.status, callErr)
			}
			select {
			case <-ended:
				return
			default:
			}
		}
	})
	running.Wait()
	close(ended)
	beside.Wait()
	return statuses
}
