package integration_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pquerna/otp/hotp"

	"quittance/test/kit"
)

// logins logs in, after every possible error with a password or a token.
func (s *canaryStory) logins() {
	wrong := s.canary("wrong password", " é ")
	s.want(401, "POST", loginPath, jsonOf("email", s.email, "password", wrong), nil)
	s.want(401, "POST", loginPath, jsonOf("email", "nobody@canary.example", "password", s.password), nil)
	s.want(422, "POST", loginPath, jsonOf("email", s.email, "passwort", wrong), nil)
	s.want(422, "POST", loginPath, `{"email":`+jsonOf("password", s.password)+`,"password":[`+jsonOf("p", s.password)+`]}`,
		nil)
	s.want(400, "POST", loginPath, jsonOf("email", s.email, "password", s.password)+"}", nil)
	s.want(415, "POST", loginPath, "password="+url.QueryEscape(s.password),
		map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
	s.want(400, "POST", loginPath+"?password="+url.QueryEscape(s.password), "{}", nil)
	got := s.want(200, "POST", loginPath, jsonOf("email", s.email, "password", s.password),
		map[string]string{"X-Request-Id": marker})
	token := s.field(got.body, "/data/token")
	s.add("token", token)
	for _, header := range []map[string]string{{"Authorization": "Bearer " + s.canary("no token", "")},
		{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(s.email+":"+s.password))},
		{"Authorization": token}, {"Authorization": "Bearer " + token + token}, {"Cookie": "token=" + token}} {
		s.want(401, "GET", invoicesPath, "", header)
	}
	s.want(401, "GET", invoicesPath+"?token="+token, "", nil)
	s.token = token
	s.want(400, "GET", invoicesPath+"?token="+token, "", nil)
	s.want(404, "GET", "/api/v1/"+token, "", nil)
	s.want(404, "GET", "/"+url.PathEscape(wrong), "", nil)
	s.raw("GET /%zz?token=" + token + " HTTP/1.1\r\nHost: a\r\n\r\n")
	s.raw("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + token + "\x00\r\n\r\n")
	s.raw("Authorization: Bearer " + token + "\r\n\r\n")
}

// raw sends bytes that are not a request unchanged and searches the response, which net/http writes.
func (s *canaryStory) raw(head string) {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, head); err != nil {
		s.t.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if err != nil || !bytes.HasPrefix(text, []byte("HTTP/1.1 400 ")) {
		s.t.Errorf("%q: response %q: %v", head, text, err)
	}
	s.scan("page raw", text)
}

// subscriptions creates webhook subscriptions whose receiver reveals their secrets.
func (s *canaryStory) subscriptions() {
	for _, path := range []string{"/500/raw", "/400/base64_from_byte_0", "/503/hex", "/500/percent", "/500/JSON",
		"/200/raw", "/500/cut", "/500/none"} {
		body := jsonOf("url", s.receiverURL+path, "description", marker)
		key := map[string]string{"Idempotency-Key": "key" + strings.ReplaceAll(path, "/", "-")}
		made := s.want(201, "POST", subscriptionsPath, body, key)
		secret := s.field(made.body, "/data/secret")
		s.add("signing secret of "+path, secret)
		s.receiver.trust(path, secret)
		again := s.want(201, "POST", subscriptionsPath, body, key)
		if again.header.Get("Idempotency-Replayed") == "" || bytes.Contains(again.body, []byte("whsec_")) {
			s.t.Errorf("the repeat is %v %s", again.header, again.body)
		}
	}
	inURL := s.canary("password of a destination", "")
	s.want(422, "POST", subscriptionsPath,
		jsonOf("url", "https://"+url.UserPassword("u", inURL).String()+"@hooks.example/"), nil)
	s.want(422, "POST", subscriptionsPath, jsonOf("url", "https://hooks.example/?token="+url.QueryEscape(inURL)), nil)
	s.want(422, "POST", subscriptionsPath, jsonOf("url", "https://hooks.example/", "secret", inURL), nil)
}

// apiKeys uses an API key in the right place and in every wrong one, also after its revocation.
func (s *canaryStory) apiKeys() {
	body := `{"name":"` + marker + `","scopes":["read","write"]}`
	header := map[string]string{"Idempotency-Key": "the-key"}
	made := s.want(201, "POST", apiKeysPath, body, header)
	key := s.field(made.body, "/data/key")
	s.add("API key", key)
	s.add("API key, without its ends", key[12:len(key)-6])
	if again := s.want(201, "POST", apiKeysPath, body, header); again.header.Get("Idempotency-Replayed") == "" {
		s.t.Errorf("the repeat is %v", again.header)
	}
	bearer := func(name, value string) map[string]string {
		return map[string]string{"Authorization": "Bearer " + key, name: value}
	}
	s.want(200, "GET", invoicesPath, "", bearer("X-Request-Id", key))
	s.want(200, "GET", invoicesPath, "", bearer("User-Agent", key))
	s.want(403, "GET", apiKeysPath, "", bearer("Accept", "*/*"))
	s.want(400, "GET", invoicesPath+"?external_id="+key, "", nil)
	s.want(400, "POST", invoicesPath, jsonOf("invoice_number", key), nil)
	s.want(400, "POST", invoicesPath, "{}", map[string]string{"Idempotency-Key": key})
	s.want(400, "POST", loginPath, jsonOf("email", key, "password", key), nil)
	s.want(404, "GET", invoicesPath+"/"+key, "", nil)
	for _, wrong := range []map[string]string{{"Authorization": "Basic " +
		base64.StdEncoding.EncodeToString([]byte(key+":"))}, {"Authorization": key},
		{"Authorization": "Bearer " + key + "0"}} {
		s.want(401, "GET", invoicesPath, "", wrong)
	}
	s.want(200, "GET", apiKeysPath, "", nil)
	s.want(200, "POST", apiKeysPath+"/"+s.field(made.body, "/data/id")+"/revoke", "", nil)
	s.want(401, "GET", invoicesPath, "", bearer("Accept", "*/*"))
}

// submissions submits an invoice for each way in which the provider echoes its credential.
func (s *canaryStory) submissions(round string, echoes []string) {
	for _, echo := range echoes {
		made := s.want(201, "POST", invoicesPath, draftBody(marker+"-"+round+"-"+echo, echo), nil)
		id := s.field(made.body, "/data/id")
		s.invoices = append(s.invoices, id)
		got := s.do("POST", invoicesPath+"/"+id+"/submit", "", nil)
		if !slices.Contains([]int{http.StatusOK, http.StatusAccepted, http.StatusBadGateway}, got.status) {
			s.t.Errorf("submission of %s: status %d: %s", echo, got.status, got.body)
		}
	}
}

// passwords changes the password, after attempts with errors.
func (s *canaryStory) passwords() {
	next := s.canary("next password", " é ")
	s.want(422, "POST", passwordPath, jsonOf("current_password", s.canary("wrong current password", ""),
		"new_password", next), nil)
	s.want(422, "POST", passwordPath, jsonOf("current_password", s.password, "new_password", s.password), nil)
	s.want(422, "POST", passwordPath, jsonOf("current_password", s.password,
		"new_password", strings.Repeat(s.canary("password without end", ""), 5)), nil)
	s.want(422, "POST", passwordPath, jsonOf("current_password", s.password, "new_password", next, "passwort", next), nil)
	s.want(200, "POST", passwordPath, jsonOf("current_password", s.password, "new_password", next), nil)
	s.want(401, "POST", loginPath, jsonOf("email", s.email, "password", s.password), nil)
	s.password = next
	got := s.want(200, "POST", loginPath, jsonOf("email", s.email, "password", next), nil)
	s.want(200, "POST", "/api/v1/client/auth/logout", "", nil)
	s.token = s.field(got.body, "/data/token")
	s.add("second token", s.token)
	s.secondFactor()
}

// secondFactor begins to use an authenticator app twice, confirms the second one, and logs in with a recovery code
// after errors.
func (s *canaryStory) secondFactor() {
	const totpPath = "/api/v1/client/auth/totp"
	var shared string
	for n := range 2 {
		begun := s.want(200, "POST", totpPath, "", nil)
		shared = s.field(begun.body, "/data/secret")
		s.add(fmt.Sprintf("secret %d of an authenticator app", n+1), shared)
	}
	code, err := hotp.GenerateCode(shared, uint64(time.Now().Unix()/30))
	if err != nil {
		s.t.Fatal(err)
	}
	confirmed := s.want(200, "POST", totpPath+"/confirm", jsonOf("code", code, "current_password", s.password), nil)
	for n := range 10 {
		s.add(fmt.Sprintf("recovery code %d", n+1), s.field(confirmed.body, fmt.Sprintf("/data/recovery_codes/%d", n)))
	}
	recovery := s.field(confirmed.body, "/data/recovery_codes/0")
	s.want(401, "POST", loginPath, jsonOf("email", s.email, "password", s.password,
		"otp", s.canary("wrong code", "")[:40]), nil)
	s.want(401, "POST", loginPath, jsonOf("email", s.email, "password", "wrong", "otp", recovery), nil)
	s.want(422, "POST", loginPath, jsonOf("email", s.email, "password", s.password, "opt", recovery), nil)
	s.want(200, "POST", loginPath, jsonOf("email", s.email, "password", s.password, "otp", recovery), nil)
	s.want(401, "POST", loginPath, jsonOf("email", s.email, "password", s.password, "otp", recovery), nil)
	s.want(200, "POST", totpPath+"/disable", jsonOf("current_password", s.password,
		"otp", s.field(confirmed.body, "/data/recovery_codes/1")), nil)
}

// settle waits until deliveries have failed permanently and the provider's documents for the company are retained.
func (s *canaryStory) settle() {
	s.t.Helper()
	for path, least := range map[string]int{"/api/v1/webhooks/deliveries?state=failed": 10,
		"/api/v1/webhooks/deliveries?state=delivered": 5, "/api/v1/client/incoming-invoices": 4} {
		if err := s.server.await(func() error {
			var list struct{ Pagination struct{ Total int } }
			err := json.Unmarshal(s.want(200, "GET", path, "", nil).body, &list)
			if err == nil && list.Pagination.Total < least {
				err = fmt.Errorf("%s has %d entries, want %d", path, list.Pagination.Total, least)
			}
			return err
		}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// pages reads everything that can be read.
func (s *canaryStory) pages() {
	for _, path := range []string{"/api/v1/client/account", "/api/v1/webhooks/events?limit=100",
		"/api/v1/client/credit-notes", "/openapi.json", "/healthz", "/readyz", "/docs", "/docs/guide",
		"/docs/webhooks", "/docs/operations", "/docs/ops/on-call", "/docs/sandbox", "/docs/provider-protocol",
		"/docs/reference", "/changelog", "/"} {
		s.do("GET", path, "", nil)
	}
	for _, path := range s.list(invoicesPath) {
		s.list(path + "/submissions")
		for _, evidence := range s.list(path + "/evidence") {
			s.document("/api/v1/client/evidence/" + filepath.Base(evidence))
		}
	}
	for _, path := range s.list("/api/v1/client/incoming-invoices") {
		s.list(path + "/revisions")
		s.document(path + "/revisions/1/document")
	}
	s.list(subscriptionsPath)
	s.list("/api/v1/webhooks/deliveries")
	base := s.base
	s.base = strings.TrimSuffix(s.metrics, "/metrics")
	metrics := s.want(200, "GET", "/metrics", "", nil)
	s.base = base
	checkMetricsTable(s.t, metrics.body)
}

// list reads all pages of a list, and each entry that has its own address.
func (s *canaryStory) list(path string) (entries []string) {
	s.t.Helper()
	for page := 1; ; page++ {
		var list struct {
			Data       []struct{ ID string }
			Pagination struct {
				HasMore bool `json:"has_more"`
			}
		}
		got := s.want(200, "GET", fmt.Sprintf("%s?per_page=100&page=%d", path, page), "", nil)
		if err := json.Unmarshal(got.body, &list); err != nil {
			s.t.Fatal(err)
		}
		for _, entry := range list.Data {
			entries = append(entries, path+"/"+entry.ID)
			s.do("GET", path+"/"+entry.ID, "", nil)
		}
		if !list.Pagination.HasMore {
			return entries
		}
	}
}

// document reads retained bytes and also searches their decoded form.
func (s *canaryStory) document(path string) {
	s.t.Helper()
	var document struct {
		Data struct {
			Body     []byte `json:"body_base64"`
			Withheld bool
		}
	}
	if err := json.Unmarshal(s.want(200, "GET", path, "", nil).body, &document); err != nil {
		s.t.Fatal(err)
	}
	s.scan("page decoded "+path, document.Data.Body)
	if document.Data.Withheld {
		s.withheld++
	}
}

// commands runs every administration command that prints something.
func (s *canaryStory) commands() {
	for _, args := range [][]string{{"account", "list", "--json"}, {"account", "list"},
		{"account", "show", s.account, "--json"}, {"account", "show", s.account}, {"connection", "list", "--json"},
		{"connection", "list"}, {"key", "list", "--json"}, {"key", "list"}, {"key", "rotate", "--resume", "--json"},
		{"evidence", "verify", "--json"}, {"migrate"}, {"account", "suspend", s.account, "--json"},
		{"account", "reactivate", s.account, "--json"}} {
		s.must(args...)
	}
	s.want(401, "GET", invoicesPath, "", nil) // a suspension ends every token
	s.add("third token", s.login())
	resolved := false
	for n, id := range s.invoices {
		if n%3 == 0 {
			s.must("evidence", "export", id)
		}
		var invoice struct {
			Data struct{ Submission *struct{ ID, Outcome string } }
		}
		if err := json.Unmarshal(s.want(200, "GET", invoicesPath+"/"+id, "", nil).body, &invoice); err != nil {
			s.t.Fatal(err)
		}
		if submission := invoice.Data.Submission; !resolved && submission != nil && submission.Outcome == "unknown" {
			s.must("submission", "resolve", submission.ID, "--reject", "--reason", "the provider has no such document", "--json")
			resolved = true
		}
	}
	if !resolved {
		s.t.Error("no outcome is unknown")
	}
}

func (s *canaryStory) login() string {
	s.t.Helper()
	s.token = ""
	s.token = s.field(s.want(200, "POST", loginPath, jsonOf("email", s.email, "password", s.password), nil).body,
		"/data/token")
	return s.token
}

// crash stops the server with a signal that makes it print its stacks, while a submission and a login are in progress.
func (s *canaryStory) crash(signal syscall.Signal) {
	s.t.Helper()
	made := s.want(201, "POST", invoicesPath, draftBody(marker+"-"+signal.String(), "hang"), nil)
	ended := make(chan error, 1)
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost,
		s.base+invoicesPath+"/"+s.field(made.body, "/data/id")+"/submit", http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	go func() {
		response, err := s.caller.Do(request)
		if err == nil {
			err = errors.Join(errors.New("a hanging submission got a response"), response.Body.Close())
		} else {
			err = nil
		}
		ended <- err
	}()
	kit.Receive(s.t, s.provider.hung, "the call of the provider")
	if err := s.server.command.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
	<-s.server.ended
	if err := <-ended; err != nil {
		s.t.Error(err)
	}
	text, err := os.ReadFile(s.server.log)
	if err != nil || !bytes.Contains(text, []byte("submission.(*Service)")) {
		s.t.Errorf("after %v the log has no stack of the submission: %v", signal, err)
	}
	s.scan("dump after "+signal.String(), text)
}
