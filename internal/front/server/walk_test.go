package server_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/server"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
	"quittance/test/audittest"
	"quittance/test/ledgertest"
)

// TestEveryOperation checks every operation with every documented response, over real HTTP. It fails for a route
// without an entry in operations, and for a status or a code that is documented but not produced by a row, or produced
// but not documented.
func TestEveryOperation(t *testing.T) {
	onEngines(t, walkConfig, func(t *testing.T, s *system) {
		s.offerPurchase(t)
		w := &world{system: s, border: s.db.Engine() == ledgertest.Engines()[0], document: s.readDocument(t),
			audit: audittest.Read(t), own: s.connected(t), other: s.connected(t)}
		table := map[string]*operation{}
		for n := range operations {
			table[operations[n].route] = &operations[n]
		}
		for _, route := range server.Routes() {
			name := route.Method + " " + route.Path
			op := table[name]
			delete(table, name)
			if op == nil {
				t.Errorf("%s is not tested: add it to operations", name)
				continue
			}
			t.Run(name, func(t *testing.T) { w.walk(t, route, op) })
		}
		w.audit.WantDecisions(t, changing(), func(operation string) bool { return strings.Contains(operation, " /api/") })
		for name := range table {
			t.Errorf("operations has %s, but there is no such route", name)
		}
	})
}

// world is a system with two companies that must not see each other.
type world struct {
	*system
	document *document
	audit    audittest.Table
	// border says to test also the responses that do not depend on the store, and so not on the engine.
	border     bool
	own, other *company
}

func (w *world) walk(t *testing.T, route server.Route, op *operation) {
	shown, left := map[string]bool{}, map[string]bool{}
	show := func(a response) {
		if a.status == http.StatusMethodNotAllowed {
			return // this response is not from the operation
		}
		code := ""
		if a.status >= 400 && a.text != "" {
			code = " " + a.textAt(t, "/error/code")
		}
		shown[fmt.Sprint(a.status)+code] = true
	}
	for _, one := range op.rows {
		t.Run(one.name, func(t *testing.T) {
			a := w.step(t, w.connected(t), route, op, one)
			show(a)
			w.wantAudited(t, route, a, left)
		})
	}
	documented := w.audit.Acts[route.Method+" "+route.Path]
	for act := range left {
		if !slices.Contains(documented, act) {
			t.Errorf("it leaves the entry %s in the audit log, and docs/audit.md says %v", act, documented)
		}
	}
	if len(left) == 0 && len(documented) > 0 {
		t.Errorf("it leaves no entry in the audit log, and docs/audit.md says %v", documented)
	}
	common := *op
	if op.ids != nil && !op.alone {
		own := op.ids(t, w.own) // created once, because almost none of these requests changes it
		common.ids = func(*testing.T, *company) map[string]string { return own }
	}
	for _, one := range w.common(t, route, op) {
		t.Run(one.name, func(t *testing.T) {
			c := w.own
			if op.alone {
				c = w.company(t)
			}
			show(w.step(t, c, route, &common, one))
		})
	}
	if route.Hidden || !w.border {
		return
	}
	promised := map[string]bool{fmt.Sprint(route.Status): true}
	for _, status := range route.Also {
		promised[fmt.Sprint(status)] = true
	}
	for _, code := range route.Codes {
		if code != api.CodeInternal && code != api.CodeUnavailable { // no request causes these; see TestInternalErrors
			promised[fmt.Sprint(problem.For(code).Status(), " ", code)] = true
		}
	}
	wantEqual(t, "responses", shown, promised)
}

// changing returns the operations that may change something.
func changing() (out []string) {
	for _, route := range server.Routes() {
		if route.Method != http.MethodGet {
			out = append(out, route.Method+" "+route.Path)
		}
	}
	return out
}

// wantAudited checks that a call that failed left no entry in the audit log, except a submission that the provider
// refused, and adds the acts of the others to left.
func (w *world) wantAudited(t *testing.T, route server.Route, a response, left map[string]bool) {
	t.Helper()
	acts := w.entriesOf(t, a)
	refused := a.status >= http.StatusBadRequest && a.status != http.StatusBadGateway &&
		!slices.Equal(acts, []string{"user.wrong-code"})
	if len(acts) > 1 && !route.FileBody || len(acts) > 0 && refused {
		t.Errorf("%d %s left the entries %v in the audit log", a.status, route.Path, acts)
	}
	for _, act := range acts {
		left[act] = true
	}
}

// step tests one row.
func (w *world) step(t *testing.T, c *company, route server.Route, op *operation, one row) response {
	t.Helper()
	r := w.request(t, c, route, op)
	if one.prepare != nil {
		one.prepare(t, c, &r)
	}
	a := w.send(t, r)
	a.want(t, one.status, one.code)
	w.document.check(t, route, a)
	if one.check != nil {
		one.check(t, c, a)
	}
	return a
}

// request returns a request that succeeds.
func (w *world) request(t *testing.T, c *company, route server.Route, op *operation) request {
	t.Helper()
	r := request{method: route.Method, path: route.Path, header: http.Header{"X-Forwarded-For": {w.source()}}}
	if op.ids != nil {
		r.path = fill(route.Path, op.ids(t, c))
	}
	if op.body != nil {
		r.body = op.body(t, c)
	}
	if route.FileBody {
		r.header.Set("Content-Type", route.BodyTypes[0])
	}
	if !route.Public {
		r.token = c.token(t)
	}
	if op.begun != nil {
		op.begun(t, c, &r)
	}
	return r
}

// fill puts identifiers into a path.
func fill(path string, ids map[string]string) string {
	for name, id := range ids {
		path = strings.ReplaceAll(path, "{"+name+"}", id)
	}
	return path
}

// common returns the rows that apply to all routes of the same kind.
func (w *world) common(t *testing.T, route server.Route, op *operation) []row {
	if (op.body != nil) != route.HasBody || (op.ids != nil) != strings.Contains(route.Path, "{") {
		t.Fatalf("the table and the route disagree about a body or about the path's identifiers")
	}
	var rows []row
	if !route.Public {
		rows = append(rows, tokenRows...)
	}
	if !access.Viewer.Permissions().Has(route.Needs) && !route.Public {
		rows = append(rows, forbiddenRow)
	}
	if !route.Public {
		rows = append(rows, foreignKeyRow)
	}
	if w.border {
		rows = slices.Concat(rows, queryRows(route), methodRows(route))
	}
	if w.border && route.Method != http.MethodGet {
		if route.FileBody {
			rows = append(rows, fileRows...)
		} else {
			rows = append(rows, bodyRows(route, op)...)
		}
	}
	if route.Idempotent {
		rows = append(rows, keyRows(route)...)
	}
	if op.ids != nil {
		rows = append(rows, w.identifierRows(t, route, op)...)
	}
	return rows
}

// queryRows returns the rows for a query that cannot be parsed and for parameters that the route does not have.
func queryRows(route server.Route) []row {
	queries := map[string]string{"?no_such=1": "no_such", "?%70age_=1": "page_", "?a=%zz": "a", "?%": "%", "?a=%00": "a",
		"?a=%ff": "a", "?a;b": "a;b", "?=": "query", "?&&x": "x", "?page[]=1": "page[]",
		"?" + strings.Repeat("a", 100) + "=1": strings.Repeat("a", 64) + "…"}
	for _, name := range route.Query {
		queries["?"+name+"=1&"+name+"=1"], queries["?"+name+"=%00"], queries["?"+strings.ToUpper(name)+"=1"] = name, name,
			strings.ToUpper(name)
	}
	var rows []row
	for query, name := range queries {
		rows = append(rows, row{name: "query " + query, status: http.StatusBadRequest, code: api.CodeMalformedRequest,
			prepare: func(_ *testing.T, _ *company, r *request) { r.path += query },
			check:   func(t *testing.T, _ *company, a response) { wantFault(t, a, name) }})
	}
	return rows
}

// tokenRows are the rows for requests without a valid token, and for the limit of calls.
var tokenRows = []row{
	unauthenticated("no token", func(_ *testing.T, _ *company, r *request) { r.token = "" }),
	unauthenticated("an unknown token", func(_ *testing.T, _ *company, r *request) { r.token = strings.Repeat("A", 43) }),
	unauthenticated("a longer token", func(_ *testing.T, _ *company, r *request) { r.token += "A" }),
	unauthenticated("a token of 20 KB", func(_ *testing.T, _ *company,
		r *request) {
		r.token = strings.Repeat("A", 20<<10)
	}),
	unauthenticated("another scheme", authorization(func(token string) []string { return []string{"Basic " + token} })),
	unauthenticated("no scheme", authorization(func(token string) []string { return []string{token} })),
	unauthenticated("no token after the scheme", authorization(func(string) []string { return []string{"Bearer"} })),
	unauthenticated("two tokens", authorization(func(token string) []string {
		return []string{"Bearer " + token,
			"Bearer " + token}
	})),
	unauthenticated("tokens in a list",
		authorization(func(token string) []string { return []string{"Bearer " + token + ", Bearer " + token} })),
	unauthenticated("the token in the query", func(_ *testing.T, _ *company, r *request) {
		r.path, r.token = r.path+"?access_token="+r.token, ""
	}),
	unauthenticated("an expired token", func(t *testing.T, c *company,
		r *request) {
		r.token = c.tokenFor(t, -time.Minute)
	}),
	unauthenticated("a revoked token", func(t *testing.T, c *company, r *request) { c.revoke(t, r.token) }),
	unauthenticated("the token of a suspended account", func(t *testing.T, c *company, r *request) {
		suspended := c.company(t)
		r.token = suspended.token(t)
		suspended.suspend(t)
	}),
	unauthenticated("the old token of a reactivated account", func(t *testing.T, c *company, r *request) {
		suspended := c.company(t)
		r.token = suspended.token(t)
		suspended.suspend(t)
		if err := identity.ReactivateAccount(t.Context(), c.db, suspended.id); err != nil {
			t.Fatal(err)
		}
	}),
	{name: "one call too many", status: http.StatusTooManyRequests, code: api.CodeRateLimited,
		prepare: func(t *testing.T, c *company, r *request) { c.exhaust(t, r.token) },
		check: func(t *testing.T, _ *company, a response) {
			if got := a.header; got.Get("RateLimit-Limit") != fmt.Sprint(callsAMinute) ||
				got.Get("RateLimit-Remaining") != "0" ||
				!wholeSeconds.MatchString(got.Get("RateLimit-Reset")) {
				t.Errorf("limit %q, remaining %q, reset %q", got.Get("RateLimit-Limit"), got.Get("RateLimit-Remaining"),
					got.Get("RateLimit-Reset"))
			}
		}},
}

func unauthenticated(name string, prepare func(t *testing.T, c *company, r *request)) row {
	return row{name: name, status: http.StatusUnauthorized, code: api.CodeUnauthenticated, prepare: prepare}
}

// authorization returns a prepare function that sets the Authorization headers.
func authorization(values func(token string) []string) func(t *testing.T, c *company, r *request) {
	return func(_ *testing.T, _ *company, r *request) {
		r.header.Del("Authorization")
		r.header["Authorization"] = values(r.token)
	}
}

// forbiddenRow is for a user whose role does not allow the operation.
var forbiddenRow = row{name: "a viewer", status: http.StatusForbidden, code: api.CodeForbidden,
	prepare: func(t *testing.T, c *company, r *request) { r.token = c.colleague(t, access.Viewer).token(t) }}

// foreignKeyRow is for an API key that is not accepted from the source of the request.
var foreignKeyRow = row{name: "an API key from elsewhere", status: http.StatusForbidden, code: api.CodeForbidden,
	prepare: func(t *testing.T, c *company, r *request) {
		r.token, _ = c.key(t, `,"networks":["192.0.2.0/24"]`, access.Scopes...)
	}}

// exhaust makes all calls that a token may make in a minute.
func (c *company) exhaust(t *testing.T, token string) {
	t.Helper()
	c.clock.stop(t)
	for range callsAMinute { // fewer after the calls that a row has made
		a := c.send(t, request{method: http.MethodGet, path: invoicesPath, token: token})
		if a.status == http.StatusTooManyRequests {
			return
		}
		a.want(t, http.StatusOK, "")
	}
}

// identifierRows returns the rows for unknown and malformed identifiers and for those of another company, which all get
// the same response byte for byte.
func (w *world) identifierRows(t *testing.T, route server.Route, op *operation) []row {
	own, foreign := op.ids(t, w.own), op.ids(t, w.other)
	var rows []row
	first := ""
	for name, id := range own {
		if !strings.HasSuffix(name, "_id") {
			rows = append(rows, numberRows(route, own, name)...)
			continue
		}
		unknown := id[:len(id)-1] + "0"
		if unknown == id {
			unknown = id[:len(id)-1] + "1"
		}
		for what, instead := range map[string]string{"unknown": unknown, "foreign": foreign[name], "word": "x",
			"capitals": strings.ToUpper(id), "longer": id + "0", "without dashes": strings.ReplaceAll(id, "-", ""),
			"braces": "%7B" + id + "%7D", "zero": "00000000-0000-0000-0000-000000000000", "space": id + "%20", "NUL": id + "%00",
			"invalid UTF-8": "%ff", "slash": id + "%2F", "quote": "'%20or%201=1--", "long": strings.Repeat("a", 4000)} {
			ids := maps.Clone(own)
			ids[name] = instead
			rows = append(rows, row{name: name + " " + what, status: http.StatusNotFound, code: api.CodeNotFound,
				prepare: func(_ *testing.T, _ *company, r *request) { r.path = fill(route.Path, ids) },
				check: func(t *testing.T, _ *company, a response) {
					if first = cmp.Or(first, a.text); a.text != first {
						t.Errorf("%s\nthe others: %s", a.text, first)
					}
				}})
		}
		ids := maps.Clone(own)
		ids[name] = unknown
		if slices.Contains(route.Query, "page") {
			rows = append(rows, row{name: name + " unknown, with a bad page", status: http.StatusBadRequest,
				code: api.CodeMalformedRequest, prepare: func(_ *testing.T, _ *company,
					r *request) {
					r.path = fill(route.Path, ids) + "?page=0"
				}})
		}
		if route.Method != http.MethodGet {
			rows = append(rows, row{name: name + " unknown, with a fault in the body", status: http.StatusNotFound,
				code: api.CodeNotFound, prepare: func(_ *testing.T, _ *company, r *request) {
					r.path, r.body = fill(route.Path, ids), `{"no_such":1}`
				}})
		}
	}
	return rows
}

// numberRows returns the rows for a path parameter that is not the number of an existing revision.
func numberRows(route server.Route, own map[string]string, name string) []row {
	var rows []row
	for _, instead := range []string{"0", "-1", "01", "+1", "1.0", "1e0", "x", "%20", "%00", "4711",
		"99999999999999999999", "%D9%A1"} {
		ids := maps.Clone(own)
		ids[name] = instead
		rows = append(rows, row{name: name + " " + instead, status: http.StatusNotFound, code: api.CodeNotFound,
			prepare: func(_ *testing.T, _ *company, r *request) { r.path = fill(route.Path, ids) }})
	}
	return rows
}

// methodRows returns the rows for methods that the path does not have. Allow has those that it has.
func methodRows(route server.Route) []row {
	allowed := map[string]bool{}
	for _, other := range server.Routes() {
		if other.Path == route.Path {
			allowed[other.Method] = true
			if other.Method == http.MethodGet {
				allowed[http.MethodHead] = true
			}
		}
	}
	var rows []row
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodTrace, "PROPFIND", "get"} {
		if allowed[method] {
			continue
		}
		code := api.CodeMethodNotAllowed
		if method == http.MethodHead {
			code = "" // the response to HEAD has no body
		}
		rows = append(rows, row{name: "method " + method, status: http.StatusMethodNotAllowed, code: code,
			prepare: func(_ *testing.T, _ *company, r *request) { r.method, r.body = method, "" },
			check: func(t *testing.T, _ *company, a response) {
				if got, want := a.header.Get("Allow"), strings.Join(slices.Sorted(maps.Keys(allowed)), ", "); got != want {
					t.Errorf("Allow is %q, want %q", got, want)
				}
			}})
	}
	return rows
}
