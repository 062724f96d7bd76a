// Package drill proves what a deployment has kept after a disaster: it makes load, writes down what the service
// acknowledges, and afterwards looks for each of these facts.
//
// Its invariants: a fact is on disk (fsync) before anything else happens, so that the witness of a disaster does not
// depend on what the disaster destroys; the load repeats a call that got no answer under the same idempotency key until
// it is answered, as a careful client does; and the check passes only if it has looked for something, so that an empty
// journal is a failure.
//
// A drill has three parts, which scripts/disaster-drill runs as processes: [Receive] receives webhooks and [Load] makes
// calls, each with a journal; [Check] reads both. Start reading at [Check]. The servers may change their addresses:
// [Servers] reads them from a file again before each call.
package drill

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quittance/client"
	"quittance/tools/load/rig"
)

// callTimeout bounds one attempt of a call. It is longer than the server takes to answer that its database is
// unavailable (30 s).
const callTimeout = 40 * time.Second

// errNoServers reports that the file of addresses has none, as during an outage.
var errNoServers = errors.New("no server is listed")

// Servers is a file with the addresses of the servers, one a line without /api, as a load balancer would know them.
type Servers string

// pick returns one of the addresses.
func (s Servers) pick() (string, error) {
	text, err := os.ReadFile(string(s))
	if err != nil {
		return "", fmt.Errorf("addresses of the servers: %w", err)
	}
	addresses := strings.Fields(string(text))
	if len(addresses) == 0 {
		return "", errNoServers
	}
	return addresses[rand.IntN(len(addresses))], nil //nolint:gosec // any of them will do
}

// company is a company with the API key that the load uses.
type company struct {
	name    string // the file name of its key without the extension
	key     string
	servers Servers
	http    *http.Client
}

// companies reads the keys *.key of a directory.
func companies(dir string, servers Servers) ([]*company, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.key"))
	if err != nil {
		return nil, fmt.Errorf("API keys: %w", err)
	}
	slices.Sort(paths)
	var out []*company
	for _, path := range paths {
		key, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("API keys: %w", err)
		}
		transport := &http.Transport{DisableKeepAlives: true} // a restarted server causes no surprise
		out = append(out, &company{name: strings.TrimSuffix(filepath.Base(path), ".key"), key: strings.TrimSpace(string(key)),
			servers: servers, http: &http.Client{Transport: transport, Timeout: callTimeout}})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("API keys: %s has no file *.key", dir)
	}
	return out, nil
}

// client returns a client of one of the servers. It makes one attempt of each call.
func (c *company) client() (*client.Client, error) {
	base, err := c.servers.pick()
	if err != nil {
		return nil, err
	}
	return client.New(client.Config{BaseURL: base, APIKey: c.key, HTTPClient: c.http, MaxAttempts: 1,
		UserAgent: "quittance-drill"})
}

// pause is the time between two attempts of a call.
const pause = 100 * time.Millisecond

// again reports whether a careful client repeats a call that failed with err: the service was not reached, did not
// answer, or asks to try later.
func again(err error) bool {
	failed, answered := errors.AsType[*client.ResponseError](err)
	return !answered || failed.Status >= http.StatusInternalServerError || failed.Status == http.StatusTooManyRequests ||
		failed.Status < http.StatusMultipleChoices
}

// persist calls do with a client until it is answered or ctx ends. A refusal (4xx) is an answer.
func persist[T any](ctx context.Context, c *company, do func(*client.Client) (T, error)) (T, error) {
	for {
		var answer T
		service, err := c.client()
		if err == nil {
			answer, err = do(service)
		}
		if err == nil || !again(err) {
			return answer, err
		}
		if rig.Sleep(ctx, pause) != nil {
			return answer, errors.Join(ctx.Err(), err)
		}
	}
}
