package integration_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"quittance/test/kit"
	"quittance/test/pgtest"
)

// futureMigrations are changes that a later version may make to the schema: they only add, each to one table
// (docs/ops/upgrade.md, "Upgrades").
var futureMigrations = []string{
	`create table later (id bigint not null primary key, account_id bytea not null references accounts (id))`,
	`alter table invoices add column later text`,
	`alter table submissions add column later bigint not null default 7`,
	`create index later_attempts on attempts (started_at)`,
	`insert into goose_db_version (version_id, is_applied) values (90001, true)`,
}

// TestRollingRestart replaces three replicas behind a balancer one after another, and meanwhile migrates the schema as
// a later version would, while many clients create, submit and read. No call may fail, every submission must be
// completed, and every event must arrive.
func TestRollingRestart(t *testing.T) {
	if !pgtest.Enabled() {
		return // one process serves a file
	}
	t.Parallel()
	// no document is abandoned on a busy machine
	newFleet(t, product, pgtest.URL(t), "--shutdown-delay", drainFor.String(), "--provider-timeout", "20s").roll(t)
}

// roll is [TestRollingRestart] of a fleet with one replica.
func (f *fleet) roll(t *testing.T) {
	t.Helper()
	first, err := f.world.running["first"].says(listening)
	if err != nil {
		t.Fatal(err)
	}
	b := newBalancer(t)
	bases := map[string]string{"first": "http://" + first, "second": f.start(t, "second"), "third": f.start(t, "third")}
	for _, base := range bases {
		b.add(base)
	}
	kit.Eventually(t, func() error { return wantCount("3", len(b.ready())) })
	l := startLoad(f, b.url, racingClients, 60*time.Millisecond)
	started := time.Now()
	for n, name := range []string{"first", "second", "third"} {
		f.leave(t, b, name, bases[name])
		t.Logf("%v: the replica %s has stopped", time.Since(started).Round(time.Millisecond), name)
		if n == 0 {
			f.migrateAhead(t)
		}
		base := f.start(t, "new-"+name)
		b.add(base)
		kit.Eventually(t, func() error { return wantCount("3", len(b.ready())) })
	}
	calls, submitted, failures := l.end()
	t.Logf("%v: all replicas are replaced, and the clients have finished", time.Since(started).Round(time.Millisecond))
	if failures != nil {
		t.Errorf("calls failed: %v", failures)
	}
	events, repeats := f.settled(t, b.url)
	t.Logf("%d calls, %d submissions, %d events, %d repeated callbacks", calls, submitted, events, repeats)
	if submitted < 3*racingClients {
		t.Errorf("only %d submissions: too little was tested", submitted)
	}
	f.checkDocuments(t, submitted, 1)
}

// leave stops a replica as in an upgrade: it reports that it is not ready, answers until the balancer has noticed, and
// ends without an error.
func (f *fleet) leave(t *testing.T, b *balancer, name, base string) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- f.world.running[name].stop() }()
	if err := kit.Poll(func() error {
		got, err := f.caller.call(http.MethodGet, base+"/readyz", "", "")
		if err == nil && (got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "") {
			err = fmt.Errorf("/readyz is %d", got.status)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	b.remove(base) // as the balancer does by itself unless the machine is very busy
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	if response, err := (&http.Client{Transport: transport}).Get(base + "/healthz"); err != nil {
		t.Errorf("while it stops: %v", err)
	} else {
		if response.StatusCode != http.StatusOK || !response.Close {
			t.Errorf("while it stops: status %d, the connection closes: %v", response.StatusCode, response.Close)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("%s did not end cleanly: %v", name, err)
	}
	delete(f.world.running, name)
}

// migrateAhead migrates the schema as a later version would, in the manner of the store: a statement that waits for a
// lock gives up soon and waits longer the next time.
func (f *fleet) migrateAhead(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), f.database)
	if err != nil {
		t.Fatal(err)
	}
	for _, migration := range futureMigrations {
		wait := 250
		if err := kit.Poll(func() error {
			wait = min(2*wait, 5000)
			_, err := conn.Exec(t.Context(), fmt.Sprintf("set lock_timeout = %d; %s", wait, migration))
			if err == nil {
				return nil
			}
			return errors.Join(err, kit.Poll(func() error { // until everybody who waited behind it is through
				var waiting int
				if err := conn.QueryRow(t.Context(),
					"select count(*) from pg_locks where not granted").Scan(&waiting); err != nil || waiting == 0 {
					return err
				}
				return fmt.Errorf("%d sessions wait for a lock", waiting)
			}))
		}); err != nil {
			t.Error(err)
		}
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// load is a group of working clients, each with its own persistent connection.
type load struct {
	stop      context.CancelFunc
	running   sync.WaitGroup
	calls     atomic.Int64
	submitted atomic.Int64
	numbers   atomic.Int64

	mu       sync.Mutex
	problems []error
}

// startLoad starts n clients that create, read, submit and read again, with a pause after each call.
func startLoad(f *fleet, base string, n int, pause time.Duration) *load {
	ctx, stop := context.WithCancel(context.Background())
	l := &load{stop: stop}
	for range n {
		l.running.Go(func() {
			transport := f.transport.Clone()
			defer transport.CloseIdleConnections()
			client := caller{client: &http.Client{Transport: transport, Timeout: kit.Patience()}}
			for ctx.Err() == nil {
				if err := l.story(ctx, client, f.token, base, pause); err != nil {
					l.mu.Lock()
					l.problems = append(l.problems, err)
					l.mu.Unlock()
				}
			}
		})
	}
	return l
}

// story is what a client does with one invoice.
func (l *load) story(ctx context.Context, client caller, token, base string, pause time.Duration) error {
	call := func(method, path, body string, want ...int) ([]byte, error) {
		got, err := client.call(method, base+path, token, body)
		l.calls.Add(1)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		if slices.Contains(want, got.status) {
			return got.body, nil
		}
		return nil, fmt.Errorf("%s %s: status %d: %s", method, path, got.status, got.body)
	}
	made, err := call(http.MethodPost, "/api/v1/client/invoices", draftBody(fmt.Sprintf("INV-%06d", l.numbers.Add(1)),
		"1234567890"), http.StatusCreated)
	if err != nil {
		return err
	}
	id, err := pointed(made, "/data/id")
	if err != nil {
		return err
	}
	path := "/api/v1/client/invoices/" + id
	if _, err := call(http.MethodGet, path, "", http.StatusOK); err != nil {
		return err
	}
	if _, err := call(http.MethodPost, path+"/submit", "", http.StatusOK, http.StatusAccepted); err != nil {
		return err
	}
	l.submitted.Add(1)
	_, err = call(http.MethodGet, path, "", http.StatusOK)
	return err
}

// end lets the clients finish, and returns what they have done and which errors occurred.
func (l *load) end() (calls, submitted int, err error) {
	l.stop()
	l.running.Wait()
	return int(l.calls.Load()), int(l.submitted.Load()), errors.Join(l.problems[:min(len(l.problems), 10)]...)
}
