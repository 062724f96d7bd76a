package remote

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client"
	"quittance/client/receiver"
)

// TestVerify checks the reasons of webhooks verify.
func TestVerify(t *testing.T) {
	const key = "whsec_example"
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	body := `{"schema_version":"service-webhook-v2","id":"E","event":"einvoice.terminal"}`
	now := time.Now().UTC()
	recent, old := now.Format(time.RFC3339Nano), now.AddDate(0, 0, -30).Format(time.RFC3339Nano)
	signed := func(timestamp, body string) string { return receiver.Signature([]byte(key), timestamp, []byte(body)) }
	for name, c := range map[string]struct {
		timestamp, signature, body string
		want                       string
	}{
		"valid":        {recent, signed(recent, body), body, ""},
		"changed body": {recent, signed(recent, body), body + " ", "the signature does not match"},
		"changed timestamp": {now.Add(time.Second).Format(time.RFC3339Nano), signed(recent, body),
			body, "the signature does not match"},
		"no signature":      {recent, "", body, `--signature: "" is not v1= and 64`},
		"a short signature": {recent, "v1=5e4f", body, `--signature: "v1=5e4f" is not v1= and 64`},
		"no timestamp":      {"", signed("", body), body, `--timestamp: "" is not a time such as`},
		"another timestamp": {"yesterday", signed("yesterday", body), body,
			`--timestamp: "yesterday" is not a time such as`},
		"no body":                {recent, signed(recent, ""), "", "standard input is empty"},
		"old":                    {old, signed(old, body), body, "the timestamp is outside the tolerance"},
		"no event in the body":   {recent, signed(recent, "{}"), "{}", "the body is not an event envelope"},
		"a body that is no JSON": {recent, signed(recent, "x"), "x", "standard input is not JSON"},
	} {
		var out bytes.Buffer
		err := webhooksVerifyCmd{SecretFile: file, Timestamp: c.timestamp, Signature: c.signature,
			Tolerance: receiver.DefaultTolerance}.Run(
			Environment{Context: t.Context(), In: strings.NewReader(c.body), Out: &out, Now: time.Now})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), "not valid: ") || err != nil &&
			!strings.Contains(err.Error(), c.want) ||
			(err == nil) != strings.HasPrefix(out.String(), "valid: einvoice.terminal E") {
			t.Errorf("%s: %v, %q", name, err, out.String())
		}
	}
}

// TestTail checks that a follower gets every event that happens after it has begun, once, and none before.
func TestTail(t *testing.T) {
	events := &company{}
	events.add(4)
	server := httptest.NewServer(events)
	defer server.Close()
	service, err := client.New(client.Config{BaseURL: server.URL, APIKey: "key"})
	if err != nil {
		t.Fatal(err)
	}
	waits := 0
	var out bytes.Buffer
	var got []string
	f := feed{env: Environment{Context: t.Context(), Out: &out, Err: &out}, service: service,
		wait: func(context.Context, time.Duration) error {
			if waits++; waits == 4 {
				return errIdle
			}
			events.add(waits - 1)
			return nil
		}}
	if err := f.tail(t.Context(), "C", func(e event) error {
		got = append(got, e.ID)
		return nil
	}); !errors.Is(err, errIdle) {
		t.Fatal(err)
	}
	if want := []string{"event-4", "event-5", "event-6"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
