package protocol_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/protocol"
	"quittance/test/kit"
	"quittance/test/providertest"
)

const credential = providertest.Credential

// adapter makes an adapter for a test server; edit changes its configuration.
func adapter(t *testing.T, url string, edit func(*provider.Config)) *protocol.Adapter {
	t.Helper()
	config := provider.Config{BaseURL: url, Credential: secret.New(credential), Timeout: kit.Patience(), Clock: time.Now}
	if edit != nil {
		edit(&config)
	}
	h, err := protocol.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// serve starts a server with one handler.
func TestEveryCallSpeaksTheProtocol(t *testing.T) {
	var got []string
	server := providertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprintf("%s %s auth=%t key=%q type=%q accept=%q encoding=%q body=%q", r.Method, r.RequestURI,
			r.Header.Get("Authorization") == "Bearer "+credential, r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type"),
			r.Header.Get("Accept"), r.Header.Get("Accept-Encoding"), body))
		fmt.Fprint(w, `{"purchases":[],"next_cursor":null,"has_more":false}`)
	})
	h := adapter(t, server.URL+"/tenant/7/", nil)
	h.Submit(t.Context(), provider.Document{Reference: "ref-1", Body: []byte("{}")})
	h.Status(t.Context(), provider.Query{Reference: "a/b?c"})
	h.Purchases(t.Context(), "x&y", 500)
	h.PurchaseDocument(t.Context(), "..")
	want := []string{
		`POST /tenant/7/v1/documents auth=true key="ref-1" type="application/json" accept="application/json" encoding="" body="{}"`,
		`GET /tenant/7/v1/documents/a%2Fb%3Fc auth=true key="" type="" accept="application/json" encoding="" body=""`,
		`GET /tenant/7/v1/purchases?cursor=x%26y&limit=100 auth=true key="" type="" accept="application/json" encoding="" body=""`,
		`GET /tenant/7/v1/purchases/%2E%2E/document auth=true key="" type="" accept="application/json" encoding="" body=""`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestStatusCodesAreKinds(t *testing.T) {
	const document, unknown = `{"reference":"ref-1"}`, `{"error":{"code":"unknown_reference","message":"no"}}`
	const submit, status, purchases, purchase = 1, 2, 4, 8
	const questions = status | purchases | purchase
	for _, c := range []struct {
		code  int
		body  string
		calls int
		kind  provider.Kind
		class provider.ErrorClass
	}{
		{200, document, submit | status | purchase, provider.Complete, ""},
		{200, document, purchases, provider.Ambiguous, provider.ClassProtocol},
		{202, document, submit, provider.Complete, ""},
		{202, document, questions, provider.Ambiguous, ""},
		{201, document, submit | questions, provider.Ambiguous, ""},
		{204, "", submit | questions, provider.Ambiguous, ""},
		{206, document, submit | questions, provider.Ambiguous, ""},
		{401, document, submit | questions, provider.Refused, ""},
		{403, document, submit | questions, provider.Refused, ""},
		{429, document, submit | questions, provider.Refused, ""},
		{404, unknown, questions, provider.UnknownReference, ""},
		{404, unknown, submit, provider.Ambiguous, ""},
		{404, `{"error":{"code":"not_found"}}`, submit | questions, provider.Ambiguous, ""},
		{404, `unknown_reference`, submit | questions, provider.Ambiguous, ""},
		{404, `{"error":{"code":"unknown_reference","code":"unknown_reference"}}`, questions, provider.Ambiguous, ""},
		{404, unknown + unknown, questions, provider.Ambiguous, ""},
		{200, unknown, purchases, provider.Ambiguous, provider.ClassProtocol},
		{300, document, submit | questions, provider.Ambiguous, provider.ClassRedirect},
		{304, "", submit | questions, provider.Ambiguous, provider.ClassRedirect},
		{308, document, submit | questions, provider.Ambiguous, provider.ClassRedirect},
		{400, unknown, submit | questions, provider.Ambiguous, ""},
		{409, document, submit | questions, provider.Ambiguous, ""},
		{500, document, submit | questions, provider.Ambiguous, ""},
		{503, document, submit | questions, provider.Ambiguous, ""},
		{999, document, submit | questions, provider.Ambiguous, ""},
	} {
		server := providertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.code)
			if c.body != "" {
				fmt.Fprint(w, c.body)
			}
		})
		h := adapter(t, server.URL, nil)
		_, page := h.Purchases(t.Context(), "", 1)
		for i, response := range []provider.Response{
			h.Submit(t.Context(), providertest.Document("ref-1")), h.Status(t.Context(), provider.Query{Reference: "ref-1"}),
			page, h.PurchaseDocument(t.Context(), "p"),
		} {
			if c.calls&(1<<i) == 0 {
				continue
			}
			if response.Kind != c.kind || response.ErrorClass != c.class || response.HTTPStatus != c.code ||
				string(response.Body) != c.body {
				t.Errorf("call %d: got %s %q with status %d and body %q; want %s %q with status %d and body %q",
					i, response.Kind, response.ErrorClass, response.HTTPStatus, response.Body, c.kind, c.class, c.code, c.body)
			}
		}
		server.Close()
	}
}

func TestRetryAfterIsReadAndCapped(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "3600": time.Hour, "3601": time.Hour, "99999999999999999999999999": time.Hour,
		"-5": 0, "soon": 0, "1.5": 0, now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		now.Add(-time.Hour).Format(http.TimeFormat): 0, now.Add(24 * time.Hour).Format(http.TimeFormat): time.Hour,
	} {
		server := providertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		h := adapter(t, server.URL, func(c *provider.Config) { c.Clock = func() time.Time { return now } })
		if response := h.Status(t.Context(), provider.Query{Reference: "ref-1"}); response.RetryAfter != want ||
			response.Kind != provider.Refused {
			t.Errorf("%q: want %s, got %+v", value, want, response)
		}
	}
}

func TestPurchaseDocumentsBeyondTheBoundKeepSizeAndDigest(t *testing.T) {
	for _, c := range []struct {
		size            int
		retained, whole bool
	}{
		{0, true, true}, {provider.MaxPurchaseDocument, true, true}, {provider.MaxPurchaseDocument + 1, false, true},
		{provider.MaxPurchaseScan, false, true}, {provider.MaxPurchaseScan + 1, false, false},
	} {
		document := bytes.Repeat([]byte("x"), c.size)
		digest := sha256.Sum256(document)
		server := providertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			// The adapter disconnects if the response is too large.
			_, _ = w.Write(document)
		})
		response := adapter(t, server.URL, nil).PurchaseDocument(t.Context(), "p")
		body := response.Body
		response.Body = nil
		if response.Kind != provider.Complete || response.Truncated == c.retained || c.retained != (len(body) == c.size) ||
			response.MediaType != "application/xml" {
			t.Errorf("%d bytes: body of %d, %+v", c.size, len(body), response)
		}
		if c.whole && (response.SHA256 != hex.EncodeToString(digest[:]) || response.Size != int64(c.size)) || !c.whole &&
			response.SHA256 != "" {
			t.Errorf("%d bytes: size %d, digest %q", c.size, response.Size, response.SHA256)
		}
		if tooLarge := response.ErrorClass == provider.ClassTooLarge; tooLarge == c.retained {
			t.Errorf("%d bytes: class %q", c.size, response.ErrorClass)
		}
		server.Close()
	}
}

func TestPurchasePagesKeepWhatCannotBeRead(t *testing.T) {
	const page = `{"purchases":[{"id":"a","total_amount":10.50,"supplier_name":"S","extra":[1]},7,{"id":"b","total_amount":"10"},` +
		`{"id":"c","id":"d"},{"id":"e","sha256":null},{"id":"f","currency":1},{},{"id":"g","supplier_name":"` + "\xff" +
		`"}],` +
		`"next_cursor":"n","has_more":true,"later":{}}`
	server := providertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) })
	got, response := adapter(t, server.URL, nil).Purchases(t.Context(), "m", 10)
	if response.Kind != provider.Complete || got.NextCursor != "n" || !got.HasMore {
		t.Fatalf("%+v %+v", got, response)
	}
	var seen []string
	for _, p := range got.Purchases {
		seen = append(seen, fmt.Sprintf("%s:%t:%s", p.ID, p.Unreadable, p.TotalAmount))
		if !strings.Contains(page, string(p.Raw)) || len(p.Raw) == 0 {
			t.Errorf("raw %q", p.Raw)
		}
	}
	if want := "a:false:10.50 :true: b:true: :true: e:false: f:true: :true: g:true:"; strings.Join(seen, " ") != want {
		t.Fatalf("got %q, want %q", seen, want)
	}
	if _, response := adapter(t, server.URL, nil).Purchases(t.Context(), "n", 10); response.Kind != provider.Complete {
		t.Fatalf("%+v", response)
	}
	if stuck, _ := adapter(t, server.URL, nil).Purchases(t.Context(), "n", 10); stuck.HasMore {
		t.Fatal("a cursor that does not move promises more")
	}
}

func FuzzPurchasePage(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"purchases":[{"id":"a"}],"next_cursor":"b","has_more":true}`,
		`{"purchases":[[[[`, `{"purchases":[],"purchases":[],"has_more":false}`} {
		f.Add([]byte(seed))
	}
	body := []byte(nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	f.Cleanup(server.Close)
	h, err := protocol.New(provider.Config{BaseURL: server.URL, Credential: secret.New(credential), Clock: time.Now})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		body = text
		page, response := h.Purchases(t.Context(), "c", 10)
		if response.Kind != provider.Complete && len(page.Purchases) > 0 {
			t.Fatalf("purchases from %+v", response)
		}
		for _, p := range page.Purchases {
			if !bytes.Contains(text, p.Raw) || p.ID == "" && !p.Unreadable {
				t.Fatalf("%+v", p)
			}
		}
	})
}

func TestConfigurationIsRefused(t *testing.T) {
	for _, url := range []string{
		"", "https://", "https://:443", "ftp://example.com", "http://example.com", "http://192.0.2.1",
		"http://localhost.example.com",
		"https://user@example.com", "https://user:pw@example.com", "https://example.com?", "https://example.com/?a=b",
		"https://example.com/#",
		"https://example.com:0", "https://example.com:65536", "https:example.com", "//example.com",
		"http://127.0.0.1.example.com", "https://exa mple.com",
	} {
		if _, err := provider.ParseBaseURL(url); !errors.Is(err, provider.ErrBaseURL) {
			t.Errorf("%q: %v", url, err)
		}
	}
	for _, url := range []string{"https://example.com", "https://example.com:8443/a/b/", "http://127.0.0.1:8081",
		"http://localhost:1/x", "http://[::1]:80"} {
		if _, err := provider.ParseBaseURL(url); err != nil {
			t.Errorf("%q: %v", url, err)
		}
	}
	good := provider.Config{BaseURL: "https://example.com", Credential: secret.New("x"), Clock: time.Now}
	for name, edit := range map[string]func(*provider.Config) error{
		"credential of two lines": func(c *provider.Config) error {
			c.Credential = secret.New("a\nb")
			return provider.ErrCredential
		},
		"no credential": func(c *provider.Config) error {
			c.Credential = secret.Text{}
			return provider.ErrCredential
		},
		"credential not ASCII": func(c *provider.Config) error {
			c.Credential = secret.New("é")
			return provider.ErrCredential
		},
		"no clock":             func(c *provider.Config) error { c.Clock = nil; return provider.ErrConfig },
		"negative time-out":    func(c *provider.Config) error { c.Timeout = -1; return provider.ErrConfig },
		"negative connections": func(c *provider.Config) error { c.MaxConns = -1; return provider.ErrConfig },
		"address": func(c *provider.Config) error {
			c.BaseURL = "http://example.com"
			return provider.ErrBaseURL
		},
	} {
		config := good
		want := edit(&config)
		if _, err := protocol.New(config); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnEchoOfTheCredentialIsSeenInEveryForm(t *testing.T) {
	var reply string
	header := http.Header{}
	server := providertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for name := range header {
			w.Header()[name] = header[name]
		}
		fmt.Fprint(w, reply)
	})
	h := adapter(t, server.URL, nil)
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.StringMatching(`[a-zA-Z{" ]{0,8}`).Draw(t, "before")
		after := rapid.StringMatching(`[a-zA-Z{" ]{0,8}`).Draw(t, "after")
		form := rapid.SampledFrom(echoForms).Draw(t, "form")
		reply = before + form(before, credential, after) + after
		if response := h.Status(t.Context(), provider.Query{Reference: "ref-1"}); !response.Echoed {
			t.Fatalf("not seen in %q", reply)
		}
	})
	reply = "nothing"
	for _, innocent := range []string{"", "psk_live", strings.Repeat("ab", 4000), "%zz\\u12", "\\", "%", "&"} {
		reply = innocent
		if response := h.Status(t.Context(), provider.Query{Reference: "ref-1"}); response.Echoed {
			t.Errorf("seen in %q", innocent)
		}
	}
	header.Set("X-Debug", "Bearer "+credential)
	if response := h.Status(t.Context(), provider.Query{Reference: "ref-1"}); !response.Echoed {
		t.Error("not seen in a header")
	}
}

func TestATruncatedEchoIsSeen(t *testing.T) {
	for _, kept := range []int{8, len(credential) - 1} {
		server := providertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			// The adapter disconnects if the response is too large.
			_, _ = io.WriteString(w, strings.Repeat(" ", provider.MaxResponse-kept)+credential+"tail")
		})
		if response := adapter(t, server.URL, nil).Status(t.Context(),
			provider.Query{Reference: "ref-1"}); !response.Echoed || !response.Truncated ||
			len(response.Body) != provider.MaxResponse {
			t.Errorf("%d bytes of the credential are kept: echoed %v, truncated %v, body of %d", kept, response.Echoed,
				response.Truncated, len(response.Body))
		}
	}
}

func TestCertificatesAreChecked(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 {
			t.Errorf("protocol %s", r.Proto)
		}
		fmt.Fprint(w, "{}")
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	if response := adapter(t, server.URL, nil).Submit(t.Context(),
		providertest.Document("ref-1")); response.Kind != provider.NotSent || response.ErrorClass != provider.ClassTLS {
		t.Errorf("an unknown authority: %+v", response)
	}
	trusted := func(c *provider.Config) {
		c.RootCAs = x509.NewCertPool()
		c.RootCAs.AddCert(server.Certificate())
	}
	if response := adapter(t, server.URL, trusted).Submit(t.Context(),
		providertest.Document("ref-1")); response.Kind != provider.Complete {
		t.Errorf("a trusted authority: %+v", response)
	}
	other := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	if response := adapter(t, other, trusted).Submit(t.Context(),
		providertest.Document("ref-1")); response.Kind != provider.NotSent || response.ErrorClass != provider.ClassTLS {
		t.Errorf("another name: %+v", response)
	}
}
