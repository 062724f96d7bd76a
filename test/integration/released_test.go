package integration_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/sandbox/fakeprovider"
	"quittance/test/ledgertest"
)

// The flags with which scripts/release-data records the databases of a release.
var (
	recordRelease = flag.String("record-release", "", "release whose databases TestReleasedDatabases records")
	recordBinary  = flag.String("record-binary", "", "binary of that release")
)

// TestReleasedDatabases upgrades the databases of every release, which the release itself has served, on both engines.
// Nothing may be lost: every response has the fields and values that it had, evidence and audit log are intact, and
// everybody can log in as before. The work that was under way goes on, and nothing is sent twice.
func TestReleasedDatabases(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	if *recordRelease != "" {
		for _, engine := range ledgertest.Engines() {
			recordDatabase(t, engine)
		}
		return
	}
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		for _, release := range ledgertest.Releases(t) {
			t.Run(engine+"/"+release.Version, func(t *testing.T) { upgradeReleased(t, release.Version, engine) })
		}
	}
}

// recordDatabase plays the story with the binary of the release and records the database.
func recordDatabase(t *testing.T, engine string) {
	dir := t.TempDir()
	s := newReleasedSite(t, *recordBinary, engine, dir, engineAddress(t, engine, dir), time.Now)
	s.command(t, "", "key", "generate", "--out", s.keyFile)
	s.command(t, "", "migrate", "--create")
	facts := releasedStory(t, s)
	s.command(t, "", "evidence", "verify")
	facts.At = time.Now()
	facts.Audit = s.outputOf(t, "audit", "list", "--json")
	s.open(t, "--role", "api")
	for n, company := range facts.Companies {
		facts.Companies[n].Answers = s.crawl(t, company.Token)
	}
	s.stop(t)
	s.archive(t, facts, filepath.Join("..", "ledgertest", "released", *recordRelease, engine+".tar.gz"))
}

// upgradeReleased has this version take over the database of a release.
func upgradeReleased(t *testing.T, version, engine string) {
	dir, address, facts := unpack(t, version, engine)
	begun := time.Now()
	s := newReleasedSite(t, product, engine, dir, address,
		func() time.Time { return facts.At.Add(time.Hour + time.Since(begun)) })
	s.keepSessions(t) // before this version seals them
	s.command(t, "", "migrate")
	s.command(t, "", "evidence", "verify")
	s.keepsAudit(t, facts.Audit)
	s.open(t, "--role", "api")
	for _, company := range facts.Companies {
		s.keepsAnswers(t, company)
		s.letsIn(t, company)
	}
	s.letsOperatorIn(t, facts.Operator)
	s.stop(t)

	s.makeDue(t)
	before := s.provider.Ledger().Documents()
	s.open(t, "--purchase-interval", "1h", "--retry-attempts", "2")
	palm := newCustomer(s.site)
	palm.account, palm.token = facts.Companies[0].Account, facts.Companies[0].Token
	s.finishes(t, palm, facts.Open)
	palm.delivered(t)
	s.tellsEverything(t, palm, facts.Companies[0])
	id := palm.create(t, "AFTER-1", ordinary, "")
	palm.submit(t, id)
	if outcome := palm.ended(t, id); outcome != api.OutcomeAcknowledged {
		t.Errorf("after the upgrade a submission ends as %s", outcome)
	}
	s.sendsNothingTwice(t, before)
	s.stop(t)
	s.command(t, "", "evidence", "verify")
	s.command(t, "", "recount", "--check")
	s.finishesRotation(t)
	s.refusesLater(t)
}

// refusesLater checks that commands and servers refuse the database once it says that only a later release can use it.
func (s *releasedSite) refusesLater(t *testing.T) {
	t.Helper()
	s.exec(t, `insert into settings (key, value) values ('least_migration', '90001')`)
	for _, args := range [][]string{{"account", "list"}, {"migrate"},
		{"serve", "--environment", "sandbox", "--listen", "127.0.0.1:0"}} {
		out, _, err := s.attempt(t, "", args...)
		if err == nil || !strings.Contains(err.Error(), "this database needs a later release: it must have migration 90001") {
			t.Errorf("%v on a database of a later release: %s, %v", args, out, err)
		}
	}
}

// keepSessions has sessions and invitations expire in an hour, as in a database that was served just now.
func (s *releasedSite) keepSessions(t *testing.T) {
	t.Helper()
	now, hour := time.Now().UnixMicro(), time.Hour.Microseconds()
	s.exec(t, "update tokens set expires_at = $1", now+hour)
	s.exec(t, "update operator_sessions set expires_at = $1, used_at = $2", now+hour, now)
	s.exec(t, "update invitations set expires_at = $1", now+hour)
}

// makeDue makes the work due that the release had planned for later.
func (s *releasedSite) makeDue(t *testing.T) {
	t.Helper()
	for _, table := range []string{"submissions", "deliveries"} {
		s.exec(t, "update "+table+" set due_at = $1 where due_at is not null", time.Now().UnixMicro())
	}
}

// keepsAudit checks that the audit log has every entry that it had, in the same order.
func (s *releasedSite) keepsAudit(t *testing.T, before json.RawMessage) {
	t.Helper()
	var was, is []map[string]any
	if err := json.Unmarshal(before, &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(s.outputOf(t, "audit", "list", "--json"), &is); err != nil {
		t.Fatal(err)
	}
	if len(was) < 50 {
		t.Errorf("only %d entries of the audit log are recorded", len(was))
	}
	added := len(is) - len(was)
	if added < 0 {
		t.Fatalf("the audit log has %d entries, and had %d", len(is), len(was))
	}
	after := is[added:] // the latest comes first
	if is[len(is)-1]["id"] != was[len(was)-1]["id"] {
		after = is[:len(was)]
	}
	for n, entry := range was {
		for _, fault := range lost("audit", entry, after[n]) {
			t.Error(fault)
		}
	}
}

// clocked are the members of responses that say what happened last, which is after the upgrade.
var clocked = []string{"last_used_at", "expires_at"}

// lost returns what of a value is not in another: a member that is gone or has another value, or an element of an
// array.
func lost(at string, was, is any) (faults []string) {
	switch was := was.(type) {
	case map[string]any:
		now, ok := is.(map[string]any)
		if !ok {
			return []string{at + " is no object any more"}
		}
		for name, value := range was {
			member, there := now[name]
			switch {
			case !there:
				faults = append(faults, at+"/"+name+" is gone")
			case !slices.Contains(clocked, name):
				faults = append(faults, lost(at+"/"+name, value, member)...)
			}
		}
	case []any:
		now, ok := is.([]any)
		if !ok || len(now) != len(was) {
			return []string{fmt.Sprintf("%s had %d elements and is %.200v", at, len(was), is)}
		}
		for n, value := range was {
			faults = append(faults, lost(fmt.Sprintf("%s/%d", at, n), value, now[n])...)
		}
	default:
		if was != is {
			faults = append(faults, fmt.Sprintf("%s was %v and is %v", at, was, is))
		}
	}
	return faults
}

// TestLostIsNoticed checks that the comparison of responses notices what an upgrade may lose.
func TestLostIsNoticed(t *testing.T) {
	t.Parallel()
	const was = `{"data":[{"id":"a","n":1,"x":null,"list":[1,2]}]}`
	for is, want := range map[string]int{
		`{"data":[{"id":"a","n":1,"x":null,"list":[1,2],"new":7}],"more":true}`: 0,
		`{"data":[{"id":"a","n":1,"list":[1,2]}]}`:                              1,
		`{"data":[{"id":"b","n":2,"x":null,"list":[1,2]}]}`:                     2,
		`{"data":[{"id":"a","n":1,"x":0,"list":[2,1]}]}`:                        3,
		`{"data":[{"id":"a","n":1,"x":null,"list":[1]}]}`:                       1,
		`{"data":[]}`: 1,
		`{"data":{}}`: 1,
		`[]`:          1,
	} {
		var before, after any
		if json.Unmarshal([]byte(was), &before) != nil || json.Unmarshal([]byte(is), &after) != nil {
			t.Fatal(is)
		}
		if faults := lost("", before, after); len(faults) != want {
			t.Errorf("%s: %q, want %d faults", is, faults, want)
		}
	}
}

// keepsAnswers checks that every request gets what the release answered.
func (s *releasedSite) keepsAnswers(t *testing.T, company releasedCompany) {
	t.Helper()
	if len(company.Answers) < 30 {
		t.Errorf("only %d responses are recorded for %s", len(company.Answers), company.Email)
	}
	for _, path := range slices.Sorted(maps.Keys(company.Answers)) {
		was, is := company.Answers[path], s.answer(t, path, company.Token)
		if was.Status != is.Status || was.Type != is.Type || was.SHA256 != is.SHA256 && !is.begins(was.SHA256) {
			t.Errorf("GET %s: %d %s %s, and was %d %s %s", path, is.Status, is.Type, is.SHA256, was.Status, was.Type, was.SHA256)
			continue
		}
		if was.JSON == nil {
			continue
		}
		var before, after any
		if err := json.Unmarshal(was.JSON, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(is.JSON, &after); err != nil {
			t.Fatal(err)
		}
		for _, fault := range lost("", before, after) {
			t.Errorf("GET %s: %s", path, fault)
		}
	}
}

// letsIn checks that sessions, API keys, passwords, codes, passkeys and invitations are accepted as before, and that
// the pages answer.
func (s *releasedSite) letsIn(t *testing.T, company releasedCompany) {
	t.Helper()
	if company.APIKey != "" {
		if got := s.call(t, http.MethodGet, atInvoices, company.APIKey, "", ""); got.status != http.StatusOK {
			t.Errorf("the API key of %s: status %d", company.Email, got.status)
		}
	}
	login := fmt.Sprintf(`{"email":%q,"password":%q`, company.Email, company.Password)
	for _, otp := range company.codes(t) {
		if got := s.call(t, http.MethodPost, atAuth+"login", "", "", login+otp); got.status != http.StatusOK {
			t.Errorf("the login of %s with %q: status %d: %s", company.Email, otp, got.status, got.body)
		}
	}
	if company.TOTP != "" {
		if got := s.call(t, http.MethodPost, atAuth+"login", "", "", login+"}"); got.status != http.StatusUnauthorized {
			t.Errorf("the login of %s without a code: status %d", company.Email, got.status)
		}
	}
	if company.Passkey != nil {
		clerk := newCustomer(s.site)
		clerk.email, clerk.password = company.PasskeyEmail, company.PasskeyPassword
		(&console{customer: clerk, cookies: map[string]string{}}).loginWith(t, company.Passkey)
	}
	if company.Invitation != "" {
		got := s.form(t, "/join/password", url.Values{"code": {company.Invitation}, "name": {"A person"},
			"password": {"six warm herons rest"}})
		if got.status != http.StatusSeeOther {
			t.Errorf("the invitation of %s: status %d", company.Email, got.status)
		}
	}
	s.keepsPages(t, company)
}

// keepsPages checks that the pages of a company answer its session, and show every document that the release had.
func (s *releasedSite) keepsPages(t *testing.T, company releasedCompany) {
	t.Helper()
	pages := map[string]string{"/": "", "/account": "", "/webhooks": "", "/users": "", "/api-keys": "", "/audit": "",
		"/customers": "", "/items": ""}
	for list, number := range map[string]string{"invoices": "invoice_number", "credit-notes": "credit_note_number",
		"incoming-invoices": "invoice_number"} {
		var found struct{ Data []map[string]any }
		if err := json.Unmarshal(company.Answers["/api/v1/client/"+list+"?per_page=100"].JSON, &found); err != nil {
			t.Fatal(err)
		}
		at := "/" + strings.TrimSuffix(list, "-invoices")
		pages[at] = ""
		for _, entry := range found.Data {
			pages[at+"/"+fmt.Sprint(entry["id"])] = fmt.Sprint(entry[number])
		}
	}
	for path, number := range pages {
		if got := s.visitWith(t, path, company.Cookie); got.status != http.StatusOK ||
			!strings.Contains(string(got.body), number) {
			t.Errorf("%s of %s: status %d, without %q", path, company.Email, got.status, number)
		}
	}
}

// codes returns the ends of the bodies with which the owner of a company can log in.
func (company releasedCompany) codes(t *testing.T) []string {
	t.Helper()
	if company.TOTP == "" {
		return []string{"}"}
	}
	return []string{fmt.Sprintf(`,"otp":%q}`, codeOf(t, company.TOTP, 0)), fmt.Sprintf(`,"otp":%q}`, company.Recovery)}
}

// visitWith reads a page with a cookie.
func (s *releasedSite) visitWith(t *testing.T, path, cookie string) response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Cookie", cookie)
	request.Header.Set("Accept", "text/html")
	got, err := readResponse(s.caller.client.Do(request))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// letsOperatorIn checks that an operator's session and login are accepted as before.
func (s *releasedSite) letsOperatorIn(t *testing.T, operator releasedOperator) {
	t.Helper()
	_, value, _ := strings.Cut(operator.Cookie, "=")
	if value == "" {
		value = operator.Cookie
	}
	if got := s.operatorCall(t, http.MethodGet, "/accounts", value, nil); got.status != http.StatusOK {
		t.Errorf("the session of an operator: status %d", got.status)
	}
	newCustomer(s.site).loginOperator(t, operator.TOTP)
}

// finishes checks that the submissions that were open become complete.
func (s *releasedSite) finishes(t *testing.T, c *customer, open []string) {
	t.Helper()
	if len(open) == 0 {
		t.Error("no submission was open")
	}
	for _, id := range open {
		if outcome := c.ended(t, id); outcome != api.OutcomeAcknowledged {
			t.Errorf("the open submission of %s ends as %s", id, outcome)
		}
	}
}

// tellsEverything checks that the deliveries that were pending have arrived, signed with the secret of the
// subscription.
func (s *releasedSite) tellsEverything(t *testing.T, c *customer, company releasedCompany) {
	t.Helper()
	var pending api.List[api.Delivery]
	for path, answer := range company.Answers {
		if strings.HasPrefix(path, atDeliveries+"?") {
			if err := json.Unmarshal(answer.JSON, &pending); err != nil {
				t.Fatal(err)
			}
		}
	}
	arrived := map[string]fakeprovider.Callback{}
	for _, callback := range onPath(s.receiver.callbacks(), company.Hook) {
		if err := checkCallback(callback, company.Secret); err != nil {
			t.Error(err)
		}
		arrived[callback.Delivery] = callback
	}
	waiting := 0
	for _, delivery := range pending.Data {
		if delivery.State == api.DeliveryPending {
			waiting++
			if _, ok := arrived[delivery.EventID]; !ok {
				t.Errorf("the pending event %s has not arrived", delivery.EventID)
			}
		}
	}
	if waiting == 0 {
		t.Error("no delivery was pending")
	}
}

// sendsNothingTwice checks that no document that the provider had was sent again.
func (s *releasedSite) sendsNothingTwice(t *testing.T, before []fakeprovider.LedgerDocument) {
	t.Helper()
	if len(before) < 15 {
		t.Errorf("the provider had only %d documents", len(before))
	}
	for _, was := range before {
		is, there := s.provider.Ledger().Document(was.Reference)
		if !there || is.Received != was.Received || is.Accepted != 1 || is.Conflicts != 0 {
			t.Errorf("the provider had %+v and has %+v", was, is)
		}
	}
}

// finishesRotation ends the rotation of keys that the release began: the old key opens nothing any more.
func (s *releasedSite) finishesRotation(t *testing.T) {
	t.Helper()
	s.command(t, "", "key", "reseal")
	newCustomer(s.site).retireKeys(t)
	s.command(t, "", "evidence", "verify")
}
