package webhook_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"quittance/internal/exchange/queue"
	"quittance/internal/exchange/webhook"
	"quittance/test/ledgertest"
)

// BenchmarkDeliver delivers bursts of 4,000 events to one destination over HTTPS, with the receiver in the same
// process. It measures from the scan for due work to the commit of each attempt.
func BenchmarkDeliver(b *testing.B) {
	const burst = 4000
	for _, engine := range ledgertest.Engines() {
		b.Run(engine, func(b *testing.B) {
			s := ledgertest.Open(b, engine)
			_, d := newServer(b, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
			sender := newSender(b, webhook.Config{Policy: d.policy})
			c := newCompany(b, s, "bench@example.com")
			c.subscribe(b, d.url("/"))
			b.ReportAllocs()
			var spent time.Duration
			for range b.N {
				b.StopTimer()
				c.addEvents(b, burst)
				done := make(chan webhook.Verdict, burst)
				b.StartTimer()
				begun := time.Now()
				stop := deliver(b, s, sender, ample, queue.Options{Workers: 1536, SlowWorkers: 512, MaxPerCompany: 128,
					MaxPerQueue: 64, MaxPerSlowQueue: 8, SlowAfter: time.Second, PollInterval: time.Second, Now: s.Now,
					Log: s.Options.Log},
					func(v webhook.Verdict) { done <- v })
				for range burst {
					if v := <-done; v != webhook.Delivered {
						b.Fatalf("verdict %s", v)
					}
				}
				spent += time.Since(begun)
				b.StopTimer()
				stop()
				b.StartTimer()
			}
			b.ReportMetric(float64(burst*b.N)/spent.Seconds(), "deliveries/s")
		})
	}
}
