package receiver_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/client/receiver"
)

const (
	secret    = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	timestamp = "2026-03-01T09:30:00.123456Z"
	eventID   = "0195500e-7c00-7000-8000-000000000001"
	body      = `{"schema_version":"service-webhook-v2","id":"0195500e-7c00-7000-8000-000000000001","event":"einvoice.status.changed",` +
		`"resource_type":"submission","resource_id":"0195500e-7c00-7000-8000-000000000002","occurred_at":"2026-03-01T09:30:00.123456Z",` +
		`"payload":{"submission_state":"accepted_by_provider","provider_invoice_state":null,"tax_authority_state":null,"receiver_state":null,` +
		`"invoice_id":"0195500e-7c00-7000-8000-000000000003","invoice_number":"INV-2026-0001"}}`
	// Computed with OpenSSL: printf '%s' "$timestamp.$body" | openssl dgst -sha256 -hmac "$secret".
	signature = "v1=49c7a77d458f9a95d173d51a9e0e48b7578f5516d8506dce03a45c4cdb1d61d1"
)

var occurred = time.Date(2026, 3, 1, 9, 30, 0, 123_456_000, time.UTC)

// clock returns a clock whose time is age after the event.
func clock(age time.Duration) func() time.Time {
	return func() time.Time { return occurred.Add(age) }
}

// verifier returns a verifier with the right secret, a minute after the event.
func verifier() receiver.Verifier {
	return receiver.Verifier{Secrets: []string{secret}, Now: clock(time.Minute)}
}

// headers returns the header of the genuine callback, with name replaced by value for each pair.
func headers(pairs ...string) http.Header {
	h := http.Header{}
	h.Set("X-Webhook-Event", "einvoice.status.changed")
	h.Set("X-Webhook-Delivery", eventID)
	h.Set("X-Webhook-Timestamp", timestamp)
	h.Set("X-Webhook-Signature", signature)
	for pair := range slices.Chunk(pairs, 2) {
		h.Set(pair[0], pair[1])
	}
	return h
}

func TestVerifyReturnsTheEventOfAGenuineCallback(t *testing.T) {
	event, err := verifier().Verify(headers(), []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if event.ID != eventID || event.Event != api.EventStatusChanged || event.ResourceType != api.ResourceSubmission ||
		event.OccurredAt != timestamp {
		t.Errorf("event %+v", event)
	}
	var payload api.SubmissionPayload
	if err := json.Unmarshal(event.Payload, &payload); err != nil {
		t.Fatal(err)
	}
	if payload.InvoiceNumber != "INV-2026-0001" || payload.SubmissionState == nil ||
		*payload.SubmissionState != "accepted_by_provider" || payload.ReceiverState != nil {
		t.Errorf("payload %+v", payload)
	}
}

func TestSignatureKnownValue(t *testing.T) {
	if got := receiver.Signature([]byte(secret), timestamp, []byte(body)); got != signature {
		t.Errorf("signature %s, want %s", got, signature)
	}
}

func TestVerifyRejects(t *testing.T) {
	// resigned returns the genuine header with another timestamp and the right signature for it and a body.
	resigned := func(timestamp, body string, pairs ...string) http.Header {
		return headers(append(pairs, "X-Webhook-Timestamp", timestamp,
			"X-Webhook-Signature", receiver.Signature([]byte(secret), timestamp, []byte(body)))...)
	}
	replaced := func(part, by string) string { return strings.Replace(body, part, by, 1) }
	for name, c := range map[string]struct {
		header http.Header
		body   string
		want   error
	}{
		"no header":    {http.Header{}, body, receiver.ErrSignature},
		"no signature": {headers("X-Webhook-Signature", ""), body, receiver.ErrSignature},
		"other version": {headers("X-Webhook-Signature", strings.Replace(signature, "v1=", "v2=", 1)), body,
			receiver.ErrSignature},
		"no version": {headers("X-Webhook-Signature", strings.TrimPrefix(signature, "v1=")), body,
			receiver.ErrSignature},
		"upper-case digest": {headers("X-Webhook-Signature", "v1="+strings.ToUpper(signature[3:])), body,
			receiver.ErrSignature},
		"cut signature": {headers("X-Webhook-Signature", signature[:len(signature)-1]), body,
			receiver.ErrSignature},
		"longer signature": {headers("X-Webhook-Signature", signature+"0"), body, receiver.ErrSignature},
		"other timestamp": {headers("X-Webhook-Timestamp", "2026-03-01T09:30:00.123457Z"), body,
			receiver.ErrSignature},
		"same time, other text": {headers("X-Webhook-Timestamp", "2026-03-01T09:30:00.123456+00:00"), body,
			receiver.ErrSignature},
		"no timestamp":             {headers("X-Webhook-Timestamp", ""), body, receiver.ErrSignature},
		"body with a space":        {headers(), body + " ", receiver.ErrSignature},
		"body with another number": {headers(), replaced("INV-2026-0001", "INV-2026-0002"), receiver.ErrSignature},
		"empty body":               {headers(), "", receiver.ErrSignature},
		"signed nonsense time":     {resigned("yesterday", body), body, receiver.ErrTimestamp},
		"signed empty time":        {resigned("", body), body, receiver.ErrTimestamp},
		"signed time without zone": {resigned("2026-03-01T09:30:00", body), body, receiver.ErrTimestamp},
		"signed no JSON":           {resigned(timestamp, "hello"), "hello", receiver.ErrBody},
		"signed empty body":        {resigned(timestamp, ""), "", receiver.ErrBody},
		"signed bytes not UTF-8": {resigned(timestamp, replaced("einvoice", "\xff")), replaced("einvoice", "\xff"),
			receiver.ErrBody},
		"signed two documents": {resigned(timestamp, body+body), body + body, receiver.ErrBody},
		"signed list":          {resigned(timestamp, "[]"), "[]", receiver.ErrBody},
		"signed empty object":  {resigned(timestamp, "{}"), "{}", receiver.ErrBody},
		"signed other schema": {resigned(timestamp, replaced("webhook-v2", "webhook-v3")),
			replaced("webhook-v2", "webhook-v3"), receiver.ErrBody},
		"signed without id": {resigned(timestamp, replaced(eventID, ""), "X-Webhook-Delivery", ""),
			replaced(eventID, ""), receiver.ErrBody},
		"signed without event": {resigned(timestamp, replaced("einvoice.status.changed", ""), "X-Webhook-Event", ""),
			replaced("einvoice.status.changed", ""), receiver.ErrBody},
		"header of another event": {headers("X-Webhook-Delivery", "0195500e-7c00-7000-8000-000000000009"), body,
			receiver.ErrMismatch},
		"header without id":      {headers("X-Webhook-Delivery", ""), body, receiver.ErrMismatch},
		"header of another kind": {headers("X-Webhook-Event", "einvoice.terminal"), body, receiver.ErrMismatch},
		"header without kind":    {headers("X-Webhook-Event", ""), body, receiver.ErrMismatch},
	} {
		event, err := verifier().Verify(c.header, []byte(c.body))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
		if event.ID != "" || event.Payload != nil {
			t.Errorf("%s: an event is returned with the error: %+v", name, event)
		}
	}
}

// TestVerifyBoundsTheAge checks the bound on the age of an event. Events may be as old as the retry horizon, because
// every attempt has the event's own timestamp.
func TestVerifyBoundsTheAge(t *testing.T) {
	for _, c := range []struct {
		tolerance, age time.Duration
		ok             bool
	}{
		{0, 0, true},
		{0, 25 * time.Hour, true},
		{0, 7 * 24 * time.Hour, true},
		{0, 7*24*time.Hour + time.Microsecond, false},
		{0, -5 * time.Minute, true},
		{0, -5*time.Minute - time.Microsecond, false},
		{time.Hour, time.Hour, true},
		{time.Hour, time.Hour + time.Microsecond, false},
		{time.Hour, -5 * time.Minute, true},
		{time.Hour, -time.Hour, false},
		{0, 200 * 365 * 24 * time.Hour, false},
		{0, -200 * 365 * 24 * time.Hour, false},
	} {
		v := receiver.Verifier{Secrets: []string{secret}, Tolerance: c.tolerance, Now: clock(c.age)}
		_, err := v.Verify(headers(), []byte(body))
		if c.ok && err != nil || !c.ok && !errors.Is(err, receiver.ErrTimestamp) {
			t.Errorf("tolerance %v, age %v: error %v, want accepted %v", c.tolerance, c.age, err, c.ok)
		}
	}
}

func TestVerifyUsesTheSystemClock(t *testing.T) {
	v := receiver.Verifier{Secrets: []string{secret}}
	if _, err := v.Verify(headers(), []byte(body)); err != nil && !errors.Is(err, receiver.ErrTimestamp) {
		t.Errorf("error %v", err)
	}
	now := time.Now().UTC().Format(time.RFC3339Nano)
	h := headers("X-Webhook-Timestamp", now, "X-Webhook-Signature", receiver.Signature([]byte(secret), now, []byte(body)))
	if _, err := v.Verify(h, []byte(body)); err != nil {
		t.Errorf("a new event: %v", err)
	}
}

func TestVerifyAcceptsAnySecretOfARotation(t *testing.T) {
	for _, c := range []struct {
		secrets []string
		want    error
	}{
		{[]string{secret, "whsec_new"}, nil},
		{[]string{"whsec_new", secret}, nil},
		{[]string{"whsec_new"}, receiver.ErrSignature},
		{[]string{strings.TrimPrefix(secret, "whsec_")}, receiver.ErrSignature},
		{nil, receiver.ErrNoSecret},
		{[]string{""}, receiver.ErrNoSecret},
		{[]string{secret, ""}, receiver.ErrNoSecret},
	} {
		v := receiver.Verifier{Secrets: c.secrets, Now: clock(0)}
		if _, err := v.Verify(headers(), []byte(body)); !errors.Is(err, c.want) {
			t.Errorf("secrets %q: error %v, want %v", c.secrets, err, c.want)
		}
	}
	// Anyone can sign with the empty secret.
	forged := headers("X-Webhook-Signature", receiver.Signature(nil, timestamp, []byte(body)))
	if _, err := (receiver.Verifier{Secrets: []string{""}, Now: clock(0)}).Verify(forged, []byte(body)); !errors.Is(err,
		receiver.ErrNoSecret) {
		t.Errorf("a callback signed with an empty secret: error %v", err)
	}
}

// TestVerifyRejectsEveryChangedByte checks that only exactly the signed bytes are accepted.
func TestVerifyRejectsEveryChangedByte(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		fields := [][]byte{[]byte(body), []byte(timestamp), []byte(signature)}
		changed := fields[random.IntN(len(fields))]
		changed[random.IntN(len(changed))] ^= byte(1 + random.IntN(255))
		h := headers("X-Webhook-Timestamp", string(fields[1]), "X-Webhook-Signature", string(fields[2]))
		if _, err := verifier().Verify(h, fields[0]); !errors.Is(err, receiver.ErrSignature) {
			t.Fatalf("error %v", err)
		}
	}
}

// FuzzVerify checks that nothing is accepted without the secret, and that an event that is accepted has the promised
// form.
func FuzzVerify(f *testing.F) {
	f.Add("einvoice.status.changed", eventID, timestamp, signature, []byte(body))
	f.Add("", "", "", "", []byte(nil))
	f.Add("einvoice.terminal", "x", timestamp,
		"v1=", []byte(`{"schema_version":"service-webhook-v2","id":"x","event":"einvoice.terminal"}`))
	f.Add("e", "i", "9999-12-31T23:59:59Z", "v1=00", []byte(`{"id":{}}`))
	f.Fuzz(func(t *testing.T, kind, id, at, signed string, content []byte) {
		h := http.Header{"X-Webhook-Event": {kind}, "X-Webhook-Delivery": {id}, "X-Webhook-Timestamp": {at},
			"X-Webhook-Signature": {signed}}
		if _, err := verifier().Verify(h, content); err == nil &&
			(string(content) != body || at != timestamp || signed != signature) {
			t.Fatal("accepted a callback that was not signed with the secret")
		}
		h.Set("X-Webhook-Signature", receiver.Signature([]byte(secret), at, content))
		event, err := verifier().Verify(h, content)
		if err == nil && (event.ID != id || string(event.Event) != kind || id == "" || !json.Valid(content)) {
			t.Fatalf("accepted %+v under id %q and kind %q", event, id, kind)
		}
	})
}
