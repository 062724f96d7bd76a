package integration_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"quittance/test/kit"
)

// caller makes HTTP calls. Each caller has its own connections, so that a restarted server causes no surprise.
type caller struct{ client *http.Client }

// newCaller returns a caller that also trusts the authority in a PEM file; "" for none.
func newCaller(authority string) (caller, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	if authority != "" {
		text, err := os.ReadFile(authority)
		if err != nil {
			return caller{}, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return caller{}, fmt.Errorf("%s contains no certificate", authority)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return caller{client: &http.Client{Transport: transport, Timeout: kit.Patience(), CheckRedirect: refuse}}, nil
}

// answer is a response.
type response struct {
	status int
	header http.Header
	body   []byte
}

func (c caller) call(method, url, token, body string) (response, error) {
	return c.keyed(method, url, token, "", body)
}

// keyed is call with an Idempotency-Key; "" for none.
func (c caller) keyed(method, url, token, key, body string) (response, error) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return response{}, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	return readResponse(c.client.Do(request))
}

// form sends a form, as a browser does.
func (c caller) form(address string, values url.Values) (response, error) {
	return readResponse(c.client.PostForm(address, values))
}

func readResponse(received *http.Response, err error) (response, error) {
	if err != nil {
		return response{}, err
	}
	defer received.Body.Close()
	text, err := io.ReadAll(received.Body)
	return response{status: received.StatusCode, header: received.Header, body: text}, err
}

// call makes a call of a script, to the provider with its credential and to any other address with the token.
func (w *world) call(method, url, body string) (response, error) {
	token := w.ts.Getenv("TOKEN")
	if strings.HasPrefix(url, "/") {
		url = w.ts.Getenv("BASE_URL") + url
	} else if provider := w.ts.Getenv("PROVIDER_URL"); provider != "" && strings.HasPrefix(url, provider) {
		token = w.ts.Getenv("PROVIDER_CREDENTIAL")
	}
	c, err := newCaller("")
	if err != nil {
		return response{}, err
	}
	return c.call(method, url, token, body)
}

func (w *world) http(args []string) error {
	if len(args) < 2 || len(args) > 4 {
		return errUsage
	}
	status, body := "200", ""
	if len(args) > 2 {
		status = args[2]
	}
	if len(args) > 3 {
		body = args[3]
		if file, ok := strings.CutPrefix(body, "@"); ok {
			body = w.ts.ReadFile(file)
		}
	}
	got, err := w.call(args[0], os.Expand(args[1], w.ts.Getenv), os.Expand(body, w.ts.Getenv))
	if err != nil {
		return err
	}
	w.last = got.body
	if err := errors.Join(w.show(got)...); err != nil {
		return err
	}
	if strconv.Itoa(got.status) != status {
		return fmt.Errorf("status %d, want %s: %s", got.status, status, got.body)
	}
	return nil
}

// show writes the body to the script's standard output and the headers to its standard error.
func (w *world) show(got response) []error {
	_, err := fmt.Fprintf(w.ts.Stdout(), "%s\n", got.body)
	var header bytes.Buffer
	headerErr := got.header.Write(&header)
	_, writeErr := w.ts.Stderr().Write(header.Bytes())
	return []error{err, headerErr, writeErr}
}

func (w *world) login(args []string) error {
	if len(args) > 1 {
		return errUsage
	}
	status := append(args, "200")[0]
	credentials, err := json.Marshal(map[string]string{"email": w.ts.Getenv("EMAIL"), "password": w.ts.Getenv("PASSWORD")})
	if err != nil {
		return err
	}
	if err := w.http([]string{http.MethodPost, "/api/v1/client/auth/login", status, string(credentials)}); err != nil {
		return err
	}
	if status != "200" {
		return nil
	}
	return w.save([]string{"TOKEN", "/data/token"})
}

// draftBody returns a complete draft with the given number and recipient.
func draftBody(number, recipient string) string {
	body := strings.Replace(exampleDraft(time.Now()), `"INV-1"`, strconv.Quote(number), 1)
	return strings.Replace(body, `"1234567890"`, strconv.Quote(recipient), 1)
}

func (w *world) draft(args []string) error {
	if len(args) < 2 || len(args) > 3 {
		return errUsage
	}
	body := draftBody(args[1], append(args, "1234567890")[2])
	if err := w.http([]string{http.MethodPost, "/api/v1/client/invoices", "201", body}); err != nil {
		return err
	}
	return w.save([]string{args[0], "/data/id"})
}

func (w *world) race(args []string) error {
	if len(args) < 3 {
		return errUsage
	}
	count, err := strconv.Atoi(args[0])
	if err != nil {
		return errors.Join(errUsage, err)
	}
	split := slices.IndexFunc(args[1:], func(arg string) bool { _, err := strconv.Atoi(arg); return err == nil }) + 1
	if split < 2 {
		return errUsage
	}
	urls, allowed := args[1:split], args[split:]
	var calls sync.WaitGroup
	problems := make(chan error, count*len(urls))
	for range count {
		for _, url := range urls {
			calls.Go(func() {
				got, err := w.call(http.MethodPost, url, "")
				if err == nil && !slices.Contains(allowed, strconv.Itoa(got.status)) {
					err = fmt.Errorf("status %d: %s", got.status, got.body)
				}
				problems <- err
			})
		}
	}
	calls.Wait()
	close(problems)
	for problem := range problems {
		err = errors.Join(err, problem)
	}
	return err
}

func (w *world) parse(args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	w.last = []byte(w.ts.ReadFile(args[0]))
	return nil
}

func (w *world) save(args []string) error {
	if len(args) != 2 {
		return errUsage
	}
	value, err := pointed(w.last, args[1])
	if err == nil {
		w.ts.Setenv(args[0], value)
	}
	return err
}

func (w *world) json(args []string) error {
	if len(args) != 2 {
		return errUsage
	}
	return wantAt(w.last, args[0], args[1])
}

func (w *world) get(args []string) error {
	if len(args) != 3 {
		return errUsage
	}
	got, err := w.call(http.MethodGet, os.Expand(args[0], w.ts.Getenv), "")
	if err != nil {
		return err
	}
	if got.status != http.StatusOK {
		return fmt.Errorf("status %d: %s", got.status, got.body)
	}
	return wantAt(got.body, args[1], args[2])
}

func (w *world) ledger(args []string) error {
	return w.get(append([]string{w.ts.Getenv("PROVIDER_URL") + "/control/ledger"}, args...))
}

func wantAt(body []byte, pointer, want string) error {
	got, err := pointed(body, pointer)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%s is %s, want %s, in %.1000s", pointer, got, want, body)
	}
	return nil
}

// wantCount compares a number with "3", or with "3+" for three or more.
func wantCount(want string, got int) error {
	least, open := strings.CutSuffix(want, "+")
	n, err := strconv.Atoi(least)
	if err != nil {
		return errors.Join(errUsage, err)
	}
	if got != n && (!open || got < n) {
		return fmt.Errorf("there are %d, want %s", got, want)
	}
	return nil
}

// pointed returns the value that a JSON pointer (RFC 6901) selects in a document: a string unchanged, anything else as
// JSON. A final /- selects the length of a list.
func pointed(document []byte, pointer string) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber() // amounts keep their digits
	var value any
	if err := decoder.Decode(&value); err != nil {
		return "", fmt.Errorf("%w in %q", err, document)
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		missing := fmt.Errorf("there is no %s in %.1000s", pointer, document)
		switch in := value.(type) {
		case map[string]any:
			member, ok := in[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
			if !ok {
				return "", missing
			}
			value = member
		case []any:
			if token == "-" {
				value = len(in)
				continue
			}
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || n >= len(in) {
				return "", missing
			}
			value = in[n]
		default:
			return "", missing
		}
	}
	if text, ok := value.(string); ok {
		return text, nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// exampleDraft returns a complete draft with the current date.
func exampleDraft(now time.Time) string {
	return fmt.Sprintf(
		`{"invoice_number":"INV-1","recipient_name":"Palm Trading LLC","recipient_network_id":"1234567890",`+
			`"buyer_endpoint_scheme":"0235","buyer_street":"12 Harbour Road","buyer_city":"Dubai","buyer_subdivision":"DXB","buyer_country":"AE",`+
			`"total_amount":1050.00,"currency":"AED","issue_date":"%s","due_date":"%s","payment_means_code":"30",`+
			`"items":[{"item_code":"SKU-7","name":"Consulting","description":"Integration workshop","unit_code":"HUR","quantity":10,"base_quantity":1,`+
			`"net_unit_price":100.00,"gross_unit_price":100.00,"discount_amount":0,"vat_category":"S","vat_rate":5}]}`,
		now.Format(time.DateOnly), now.AddDate(0, 0, 30).Format(time.DateOnly))
}
