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
		want                       error
	}{
		"valid":                  {recent, signed(recent, body), body, nil},
		"changed body":           {recent, signed(recent, body), body + " ", receiver.ErrSignature},
		"changed timestamp":      {now.Add(time.Second).Format(time.RFC3339Nano), signed(recent, body), body, receiver.ErrSignature},
		"no signature":           {recent, "", body, receiver.ErrSignature},
		"old":                    {old, signed(old, body), body, receiver.ErrTimestamp},
		"no event in the body":   {recent, signed(recent, "{}"), "{}", receiver.ErrBody},
		"a body that is no JSON": {recent, signed(recent, "x"), "x", receiver.ErrBody},
	} {
		var out bytes.Buffer
		err := webhooksVerifyCmd{SecretFile: file, Timestamp: c.timestamp, Signature: c.signature, Tolerance: receiver.DefaultTolerance}.Run(
			Environment{Context: t.Context(), In: strings.NewReader(c.body), Out: &out, Now: time.Now})
		if !errors.Is(err, c.want) || (err == nil) != strings.HasPrefix(out.String(), "valid: einvoice.terminal E") {
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
	f := feed{env: Environment{Context: t.Context(), Out: &out, Err: &out}, service: service, wait: func(context.Context, time.Duration) error {
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
