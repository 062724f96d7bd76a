package bench

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/client/receiver"
	"quittance/internal/ledger/base"
	"quittance/test/kit"
	"quittance/tools/load/rig"
)

const benchSecret = "whsec_bench"

// listening returns a receiver that ends with the test, and a client that trusts it.
func listening(t *testing.T) (*webhookServer, *http.Client) {
	t.Helper()
	h, err := startWebhookServer(t.Context(), rig.ReceiverConfig{}, t.TempDir(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.close(); err != nil {
			t.Error(err)
		}
	})
	return h, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: h.Roots,
		MinVersion: tls.VersionTLS12}}}
}

// deliver posts a callback and returns the status.
func deliver(ctx context.Context, client *http.Client, url, key string, s sample) (int, error) {
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(s.body))
	if err != nil {
		return 0, err
	}
	post.Header = http.Header{api.HeaderEvent: {s.kind}, api.HeaderDelivery: {s.id}, api.HeaderTimestamp: {s.timestamp},
		api.HeaderSignature: {receiver.Signature([]byte(key), s.timestamp, s.body)}}
	response, err := client.Do(post)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// Each event counts once, in its own inbox. Events whose signature is wrong are counted separately.
func TestReceiverCounts(t *testing.T) {
	h, client := listening(t)
	in, other := h.addInbox("one"), h.addInbox("two")
	in.setSecret(benchSecret)
	other.setSecret("whsec_another")
	first, err := syntheticCallback(time.Now().Add(-time.Second))
	if err != nil {
		t.Fatal(err)
	}
	ahead, err := syntheticCallback(time.Now().Add(4 * time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	ahead.body = bytes.ReplaceAll(ahead.body, []byte(ahead.id), []byte(base.ID{9}.String()))
	ahead.id = base.ID{9}.String()
	for _, c := range []struct {
		path, key string
		sample    sample
		want      int
	}{
		{"/one", benchSecret, first, 200}, {"/one", benchSecret, first, 200}, {"/one", benchSecret, ahead, 200},
		{"/one", "whsec_wrong", first, 401}, {"/two", benchSecret, first, 401}, {"/three", benchSecret, first, 404},
	} {
		if status, err := deliver(t.Context(), client, h.URL+c.path, c.key, c.sample); err != nil || status != c.want {
			t.Errorf("%s: %d %v, want %d", c.path, status, err, c.want)
		}
	}
	came := in.tally()
	if came.events != 2 || came.duplicates != 1 || came.unverified != 1 || came.early != 1 ||
		came.earliest < time.Minute || len(came.samples) != 2 {
		t.Errorf("%+v", came)
	}
	if latency := in.latency; latency.Count() != 2 || latency.Max() < time.Second || latency.Quantile(.5) != 0 {
		t.Errorf("%d latencies, from %v to %v", latency.Count(), latency.Quantile(.5), latency.Max())
	}
	if other.tally().events != 0 || other.tally().unverified != 1 {
		t.Errorf("the other inbox has %+v", other.tally())
	}
}

// A hanging inbox accepts callbacks and answers none until the caller disconnects.
func TestReceiverHangs(t *testing.T) {
	h, client := listening(t)
	in := h.addInbox("one")
	in.setSecret(benchSecret)
	in.hanging.Store(true)
	callback, err := syntheticCallback(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := deliver(ctx, client, h.URL+"/one", benchSecret, callback)
		ended <- err
	}()
	kit.Until(t, "the callback comes", func() bool { return in.maxInFlight.Load() > 0 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the callback was answered: %v", err)
	}
	if in.received() != 0 || in.maxInFlight.Load() != 1 {
		t.Errorf("%d received, %d at a time", in.received(), in.maxInFlight.Load())
	}
}

// The limits of the machine are rates of calls that all succeed.
func TestBareLimits(t *testing.T) {
	c := Config{Command: "limits", LimitDuration: time.Second, Now: time.Now, Dir: t.TempDir()}
	r, err := Limits(t.Context(), c, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bare_disk_syncs_per_second", "bare_http_calls_per_second",
		"bare_sender_calls_per_second"} {
		found := false
		for _, limit := range r.Limits {
			found = found || limit.Name == name && limit.Value > 0
		}
		if !found {
			t.Errorf("%s is not among %v", name, r.Limits)
		}
	}
	left, err := os.ReadDir(c.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
