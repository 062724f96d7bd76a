package backup_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/ops/backup"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/s3test"
)

// TestBucket writes backups to a bucket of a real store over TLS, lists, verifies and restores them, and removes the
// older one.
func TestBucket(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := ledgertest.Open(t, engine)
			fill(t, s)
			place := bucket(t, server, func(b *backup.Bucket) { b.Prefix = engine })
			older := write(t, s, place)
			s.Clock.Advance(time.Hour)
			made := write(t, s, place)
			kit.Must(t, verify(t.Context(), place, s.Options.Keys))
			done, err := backup.Retain(t.Context(), place, opener(s), made, 1, s.Clock.Now())
			if err != nil || len(done.Removed) != 1 || done.Removed[0] != older.Name {
				t.Errorf("retained %+v, %v", done, err)
			}
			entries, err := backup.List(t.Context(), place, opener(s))
			if err != nil || len(entries) != 1 || entries[0].Name != made.Name || entries[0].Manifest == nil {
				t.Errorf("the list is %+v, %v", entries, err)
			}
			left, err := os.ReadDir(filepath.Join(server.Files, engine))
			if err != nil || len(left) != 1 {
				t.Errorf("the bucket has %v, %v", left, err)
			}
			address := empty(t, engine)
			kit.Must(t, restore(t.Context(), place, s, address))
			usable(t, s, address)
		})
	}
}

// TestStoreInTrouble: single failures of a store are repeated and change nothing, lasting ones end a backup and a
// restore with an error, within bounds, and what a store has altered is not restored.
func TestStoreInTrouble(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s := ledgertest.Open(t, ledgertest.SQLite)
	fill(t, s)
	place := bucket(t, server, nil)

	// Every second request fails, each time in another way.
	var requests atomic.Int64
	flaky := []s3test.Fault{fails, drops, truncates}
	server.Misbehave(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if n := requests.Add(1); n%2 == 0 {
			flaky[n/2%int64(len(flaky))](w, r, forward)
			return
		}
		forward.ServeHTTP(w, r)
	})
	write(t, s, place)
	kit.Must(t, verify(t.Context(), place, s.Options.Keys))
	kit.Must(t, restore(t.Context(), place, s, empty(t, ledgertest.SQLite)))

	server.Misbehave(nil)
	s.Clock.Advance(time.Second)
	made := write(t, s, place) // the latest
	for name, fault := range map[string]s3test.Fault{"500": fails, "dropped": drops, "truncated": truncates,
		"denied": denies, "altered": alters} {
		server.Misbehave(fault)
		before := server.Requests()
		err := restore(t.Context(), place, s, empty(t, ledgertest.SQLite))
		if err == nil || name == "altered" && !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("%s: the restore ends with %v", name, err)
		}
		if spent := server.Requests() - before; spent < 1 || spent > 20 {
			t.Errorf("%s: %d requests", name, spent)
		}
		if name != "altered" && name != "truncated" { // they spoil what is read
			if _, err := backup.Write(t.Context(), s.DB, place,
				backup.Options{Keys: s.Options.Keys, Random: bytes.NewReader(make([]byte, 4))}); err == nil {
				t.Errorf("%s: a backup is complete", name)
			}
		}
		server.Misbehave(nil)
		if found, err := backup.Find(t.Context(), place, "", opener(s)); err != nil || found.Manifest().Name != made.Name {
			t.Errorf("%s: the latest backup is %+v, %v", name, found, err)
		}
	}
}

// TestStoreHangs: a store that does not answer, or stops in the middle, ends a backup and a restore with an error.
func TestStoreHangs(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s := ledgertest.Open(t, ledgertest.SQLite)
	patient := bucket(t, server, nil)
	write(t, s, patient)
	hurried := bucket(t, server, func(b *backup.Bucket) { b.Timeout = 200 * time.Millisecond })
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	hang := func(r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-ended:
		}
		panic(http.ErrAbortHandler)
	}
	for name, fault := range map[string]s3test.Fault{
		"at once": func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { hang(r) },
		"in the middle": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(http.StatusOK)
			w.Write([]byte("<"))                  //nolint:errcheck // the client may have gone
			http.NewResponseController(w).Flush() //nolint:errcheck // as above
			hang(r)
		},
	} {
		server.Misbehave(fault)
		if err := restore(t.Context(), hurried, s, empty(t, ledgertest.SQLite)); err == nil {
			t.Errorf("%s: the restore succeeds", name)
		}
		if _, err := backup.List(t.Context(), hurried, opener(s)); err == nil {
			t.Errorf("%s: the list succeeds", name)
		}
		if _, err := backup.Write(t.Context(), s.DB, hurried,
			backup.Options{Keys: s.Options.Keys, Random: bytes.NewReader(make([]byte, 4))}); err == nil {
			t.Errorf("%s: the backup succeeds", name)
		}
	}
}

// TestEndlessAnswers: no answer of a store makes a command read without bound.
func TestEndlessAnswers(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	place := bucket(t, server, nil)
	const (
		name  = "20260131T220000.250Z-4f1c22ab"
		list  = `<?xml version="1.0"?><ListBucketResult>`
		entry = `<CommonPrefixes><Prefix>company/quittance/` + name + `/</Prefix></CommonPrefixes>`
	)
	names := func() {
		if found, err := place.Names(t.Context()); err == nil {
			t.Errorf("the names are %v", found)
		}
	}
	more := strings.Repeat("x", 10_000)
	for what, test := range map[string]struct {
		status      int
		begin, more string
		request     func()
	}{
		"page of a list": {http.StatusOK, list, strings.Repeat(entry, 100), names},
		"name in a list": {http.StatusOK, list + "<Prefix>", more, names},
		"error":          {http.StatusInternalServerError, `<?xml version="1.0"?><Error><Message>`, more, names},
		"refusal":        {http.StatusForbidden, "", more, names},
		"part": {http.StatusOK, "", more, func() {
			if text, err := place.Get(t.Context(), name, "part-000001", 1000); err == nil {
				t.Errorf("the part has %d bytes", len(text))
			}
		}},
		// the status counts
		"answer to a put": {http.StatusOK, "", more,
			func() { _ = place.Put(t.Context(), name, "part-000001", []byte("text")) }},
		"answer to a removal": {http.StatusOK, "", more,
			func() { _ = place.Remove(t.Context(), name, []string{"part-000001"}) }},
	} {
		const far = 64 << 20 // the most that the store sends; more than four attempts may read, with what sockets hold
		var sent atomic.Int64
		server.Misbehave(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			_, err := io.Copy(io.Discard, r.Body)
			w.WriteHeader(test.status)
			for text := test.begin; err == nil && sent.Load() < far; text = test.more {
				var n int
				n, err = io.WriteString(w, text)
				sent.Add(int64(n))
			}
			panic(http.ErrAbortHandler)
		})
		if test.request(); sent.Load() >= far {
			t.Errorf("%s: %d bytes are read", what, sent.Load())
		}
	}
}

// TestMessageOfAStore: what a store says is shown in part, and without what a terminal would obey.
func TestMessageOfAStore(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	server.Misbehave(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, "Denied.\x1b[2J\n"+strings.Repeat("x", 10_000)) //nolint:errcheck // the client may have gone
	})
	_, err := bucket(t, server, nil).Names(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the store answered 400 400 Bad Request: Denied. [2J xxx") ||
		len(err.Error()) > 500 {
		t.Errorf("the error is %q", err)
	}
}

// The faults of a store.

func fails(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.WriteHeader(http.StatusInternalServerError)
}

func drops(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

func denies(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.WriteHeader(http.StatusForbidden)
	w.Write([]byte(`<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>`)) //nolint:errcheck // the client may have gone
}

// truncates ends the connection after half of the answer.
func truncates(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	answer := httptest.NewRecorder()
	forward.ServeHTTP(answer, r)
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	w.Write(answer.Body.Bytes()[:answer.Body.Len()/2]) //nolint:errcheck // the client may have gone
	http.NewResponseController(w).Flush()              //nolint:errcheck // as above
	panic(http.ErrAbortHandler)
}

// alters changes a byte in the middle of every part that is read.
func alters(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	answer := httptest.NewRecorder()
	forward.ServeHTTP(answer, r)
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	body := answer.Body.Bytes()
	if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/part-") && len(body) > 0 {
		body[len(body)/2] ^= 1
	}
	w.Write(body) //nolint:errcheck // the client may have gone
}

// TestRefusedCredentials: wrong credentials, none, and a certificate of an unknown authority are errors at once, and no
// error has a secret.
func TestRefusedCredentials(t *testing.T) {
	server := s3test.Start(t)
	s := ledgertest.Open(t, ledgertest.SQLite)
	const canary = "canary-of-a-secret-key"
	for name, change := range map[string]func(b *backup.Bucket){
		"another secret": func(*backup.Bucket) { t.Setenv("AWS_SECRET_ACCESS_KEY", canary) },
		"no credentials": func(*backup.Bucket) {
			t.Setenv("AWS_SECRET_ACCESS_KEY", "")
			t.Setenv("AWS_ACCESS_KEY_ID",
				"")
		},
		"another bucket":    func(b *backup.Bucket) { b.Name = "elsewhere" },
		"another authority": func(b *backup.Bucket) { b.CA = "" },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := backup.Write(t.Context(), s.DB, bucket(t, server, change),
				backup.Options{Keys: s.Options.Keys, Random: bytes.NewReader(make([]byte, 4))})
			if err == nil || strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), s3test.SecretKey) {
				t.Errorf("the backup ends with %v", err)
			}
			t.Log(err)
		})
	}
}

// TestCredentialsFile reads the credentials from a file.
func TestCredentialsFile(t *testing.T) {
	server := s3test.Start(t)
	file := filepath.Join(t.TempDir(), "credentials")
	kit.Must(t, os.WriteFile(file, []byte("[default]\naws_access_key_id = "+s3test.AccessKey+"\naws_secret_access_key = "+
		s3test.SecretKey+"\n"), 0o600))
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	s := ledgertest.Open(t, ledgertest.SQLite)
	write(t, s, bucket(t, server, nil))
}

// TestEndpoint: a backup is not sent in the clear to another machine, and an endpoint has no path and no credentials.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	for endpoint, accepted := range map[string]bool{
		"": true, "https://s3.example": true, "https://s3.example:9000/": true, "http://127.0.0.1:9000": true,
		"http://localhost:9000": true, "http://[::1]:9000": true,
		"http://s3.example": false, "http://10.0.0.1:9000": false, "https://user:password@s3.example": false,
		"https://s3.example/path": false, "s3.example": false, "ftp://s3.example": false,
	} {
		_, err := backup.OpenS3(backup.Bucket{Name: "b", Endpoint: endpoint})
		if (err == nil) != accepted {
			t.Errorf("%q: %v", endpoint, err)
		}
		if err != nil && (strings.Contains(err.Error(), "password") || !strings.Contains(err.Error(), "--s3-endpoint")) {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}
