package integration_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/test/benchdb"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/pgtest"
)

// onDatabases runs a test on each engine, with the address of a new database that has a schema, because administration
// commands create none.
func onDatabases(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			database := "sqlite:" + filepath.Join(t.TempDir(), "quittance.db")
			if engine == ledgertest.Postgres {
				database = pgtest.URL(t)
			}
			db, err := ledger.Open(t.Context(), database, base.Options{})
			if err == nil {
				err = db.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			test(t, database)
		})
	}
}

// largeDraft returns a draft of 0.9 MB.
func largeDraft(number int) string {
	item := fmt.Sprintf(
		`{"name":"Consulting","quantity":1,"net_unit_price":1,"unit_code":"HUR","vat_category":"S","vat_rate":5,"description":%q}`, strings.Repeat("x", 800))
	return fmt.Sprintf(
		`{"invoice_number":"L-%d","recipient_name":"Palm Trading %d","currency":"AED","issue_date":"2026-03-01","total_amount":1050.00,"items":[%s%s]}`,
		number, number, strings.Repeat(item+",", 949), item)
}

// fillWithLarge creates large drafts of the first company.
func (f *fleet) fillWithLarge(t *testing.T, base string, count int) {
	t.Helper()
	for n := range count {
		f.must(t, http.MethodPost, base+"/api/v1/client/invoices", largeDraft(n), &struct{}{})
	}
}

var (
	peakMemory    = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)
	presentMemory = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)
)

// peak returns the maximum memory in MiB that a process had since the last call of resetPeak.
func (p *process) peak(t *testing.T) int {
	t.Helper()
	return p.status(t, peakMemory)
}

// memory returns the memory in MiB that a process has.
func (p *process) memory(t *testing.T) int {
	t.Helper()
	return p.status(t, presentMemory)
}

// status returns a size in MiB that the kernel gives in KiB.
func (p *process) status(t *testing.T, size *regexp.Regexp) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	found := size.FindSubmatch(text)
	if err != nil || found == nil {
		t.Fatalf("memory of the process: %v", err)
	}
	kilobytes, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes >> 10
}

// resetPeak resets the maximum to the current memory of the process.
func (p *process) resetPeak(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.command.Process.Pid), []byte("5"), 0o200); err != nil {
		t.Fatal(err)
	}
}

// maxReading is the maximum memory in MiB of a process while one company reads as much as it can.
const maxReading = 300

// TestReadingFitsInMemory checks that one company's most expensive reads, ten at a time, of 200 drafts of 0.9 MB, keep
// the process below maxReading. Each response must be a list or report that the service is unavailable at the moment.
func TestReadingFitsInMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	onDatabases(t, func(t *testing.T, database string) {
		t.Parallel()
		f := newFleet(t, built(t, releasedProduct), database)
		f.fillWithLarge(t, f.address(t, f.world.running["first"]), 200)
		if err := f.world.running["first"].stop(); err != nil { // its memory is that of writing
			t.Fatal(err)
		}
		delete(f.world.running, "first")
		base := f.start(t, "reader")
		reader := f.world.running["reader"]
		var one api.List[api.InvoiceSummary]
		f.must(t, http.MethodGet, base+"/api/v1/client/invoices?per_page=100", "", &one)
		if len(one.Data) != 100 || one.Pagination.Total != 200 || one.Data[0].ItemCount != 950 {
			t.Fatalf("%d entries of %d", len(one.Data), one.Pagination.Total)
		}
		reader.resetPeak(t)
		for _, path := range []string{"?per_page=100", "?per_page=100&page=2",
			"?per_page=100&sort=-total_amount&recipient_name=palm", "/" + one.Data[0].ID} {
			statuses := f.together(t, 10, 5, base+"/api/v1/client/invoices"+path)
			if statuses[http.StatusOK] < 10 || statuses[http.StatusOK]+statuses[http.StatusServiceUnavailable] != 50 {
				t.Errorf("%s: responses %v", path, statuses)
			}
			t.Logf("%s: %v, peak %d MiB", path, statuses, reader.peak(t))
		}
		if peak := reader.peak(t); peak > maxReading {
			t.Errorf("the process had %d MiB, want at most %d", peak, maxReading)
		}
	})
}

// together makes the same call with the given concurrency and number of repetitions, and returns the number of
// responses by status.
func (f *fleet) together(t *testing.T, callers, each int, url string) map[int]int {
	t.Helper()
	var mu sync.Mutex
	statuses := map[int]int{}
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			for range each {
				got, err := f.caller.call(http.MethodGet, url, f.token, "")
				if err != nil || got.status == http.StatusServiceUnavailable && got.header.Get("Retry-After") == "" {
					t.Errorf("%s: %v %v", url, err, got.header)
				}
				mu.Lock()
				statuses[got.status]++
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return statuses
}

// maxDelay is the maximum ratio by which one company's searches may slow down another company's reads, in the median.
// Only -ratios enforces it.
const maxDelay = 2

// TestSearchesDelayNobodyElse checks that sixty concurrent searches of one company, with many large drafts, do not slow
// down the reads of another. Without -ratios the company has fewer drafts, and the test checks only that no call fails.
func TestSearchesDelayNobodyElse(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	drafts := 2_000
	if *holdRatios {
		drafts = 20_000
	}
	onDatabases(t, func(t *testing.T, database string) {
		f := newFleet(t, built(t, releasedProduct), database)
		base := f.address(t, f.world.running["first"])
		other := f.secondCompany(t, base)
		f.fillWithLarge(t, base, 50)
		data, err := benchdb.Open(database)
		if err != nil {
			t.Fatal(err)
		}
		err = data.FillDrafts(t.Context(), f.tenant, api.Draft{Currency: new("AED"), Items: []api.Item{{Name: new("x")}}},
			"S-", drafts, nil)
		if err = errors.Join(err, data.Close()); err != nil {
			t.Fatal(err)
		}
		ratio := 0.0
		for range 3 { // another test may be in the way of one round
			usual := f.median(t, base, other, 40)
			stop, searching := make(chan struct{}), sync.WaitGroup{}
			var answered atomic.Int64
			for n := range 60 {
				searching.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						if _, err := f.caller.call(http.MethodGet,
							base+fmt.Sprintf("/api/v1/client/invoices?recipient_name=no-such-%d&sort=total_amount", n), f.token,
							""); err != nil {
							t.Errorf("search: %v", err)
							return
						}
						answered.Add(1)
					}
				})
			}
			if err := kit.Poll(func() error { // until they are at it
				if answered.Load() == 0 {
					return errors.New("no search is answered")
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
			beside := f.median(t, base, other, 40)
			close(stop)
			searching.Wait()
			ratio = float64(beside) / float64(usual)
			t.Logf("usually %v, during searches %v", usual, beside)
			if ratio <= maxDelay || !*holdRatios {
				return
			}
		}
		t.Errorf("the reads of another company take %.1f times as long, want at most %d", ratio, maxDelay)
	})
}

// secondCompany creates another company and returns a token of its user.
func (f *fleet) secondCompany(t *testing.T, base string) string {
	t.Helper()
	return f.newCompany(t, base, "owner@other.example")
}

// newCompany creates a company and returns a token of its owner.
func (f *fleet) newCompany(t *testing.T, base, email string) string {
	t.Helper()
	made := f.command(t, "", "account", "create", "--company", "Other LLC", "--email", email, "--json",
		"--database", f.database, "--key-file", "key.json")
	var login api.Data[api.Login]
	f.must(t, http.MethodPost, base+"/api/v1/client/auth/login",
		fmt.Sprintf(`{"email":%q,"password":%q}`, email, at0(t, made, "/password")), &login)
	return login.Data.Token
}

// median returns the median duration of reading the account with a token.
func (f *fleet) median(t *testing.T, base, token string, calls int) time.Duration {
	t.Helper()
	took := make([]time.Duration, calls)
	for n := range took {
		began := time.Now()
		got, err := f.caller.call(http.MethodGet, base+"/api/v1/client/account", token, "")
		took[n] = time.Since(began)
		if err != nil || got.status != http.StatusOK {
			t.Fatalf("account: %d %v", got.status, err)
		}
	}
	slices.Sort(took)
	return took[calls/2]
}
