package proof

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"quittance/internal/ledger/base"
)

// A row that was right once keeps its seal, so that somebody who has an old copy of the database can put it back: a
// user who was disabled since, a key that was revoked. The audit log says what became of each, and a verification
// compares.

// accessActs are the acts that decide who may act.
const accessActs = `'account.create', 'account.suspend', 'account.reactivate', 'account.login-policy', 'sandbox.reset',
	'user.add', 'user.join', 'user.role', 'user.disable', 'user.enable', 'user.remove', 'user.change-password', 'user.reset-password', 'user.complete-password-reset', 'user.give-way',
	'user.enroll-second-factor', 'user.add-passkey', 'user.remove-passkey', 'user.disable-second-factor', 'user.reset-second-factor', 'session.begin', 'session.end', 'session.revoke', 'session.revoke-others',
	'api_key.create', 'api_key.revoke', 'operator.add', 'operator.enrol', 'operator.log-in', 'operator.log-out', 'operator.disable', 'operator.reset',
	'key.retire'`

// actedSubject is somebody or something that may act: a user, an API key, an operator, a sealing key, an account or a
// tenant.
type actedSubject struct {
	table, name string
	createdAt   int64
	known       bool // an entry names it
	// row and log are what the row and the log say: the role, or the login policy, and whether it is ended (disabled,
	// revoked, suspended, frozen).
	row, log accessState
	// passwordAt is when the row says that the password was set, or an operator enrolled; setAt is what the log says at
	// least.
	passwordAt, setAt int64
}

type accessState struct {
	role  string
	ended bool
}

// actedSession is a session that has not ended.
type actedSession struct {
	id        base.ID
	holder    string // the user or operator
	tenant    base.ID
	createdAt int64
	// older says that an earlier release, which did not audit logins, began it.
	older bool
	// known says that the log has its login, over that it was ended, and others that all sessions but one were ended that
	// its holder had then.
	known, over, others bool
}

// accessLog compares the rows of one account, or of the installation, with a chain of the audit log.
type accessLog struct {
	subjects map[string]*actedSubject // by type and identifier
	sessions []*actedSession
	// byID and byBegin find sessions by identifier, and by holder and beginning.
	byID, byBegin map[string][]*actedSession
	// factors says of users whether they have a second factor, and enrolled what the log says.
	factors, enrolled map[string]bool
	begun             int64 // when the audit log began: what is older has no entry
}

// verifyAccessLogs compares each chain of the audit log with the rows. A chain that is not intact has its own fault.
func verifyAccessLogs(ctx context.Context, db *base.DB, q base.Querier, out *Verified) error {
	var text string
	if err := q.QueryRowContext(ctx, `select coalesce(max(value), '0') from settings where key = $1`,
		base.SettingAuditBegun).Scan(&text); err != nil {
		return err
	}
	begun, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		begun = 0 // somebody has changed it: everything needs an entry
	}
	chains, err := base.Collect(ctx, q, scanChain, `select chain from audit_heads order by chain`)
	if err != nil {
		return err
	}
	for _, chain := range chains {
		if err := verifyAccessLog(ctx, db, q, chain, begun, out); err != nil {
			return err
		}
	}
	return nil
}

// verifyAccessLog compares one chain. An act between two queries can look like a fault, so it repeats a comparison with
// faults until nothing was added meanwhile.
func verifyAccessLog(ctx context.Context, db *base.DB, q base.Querier, chain base.ID, begun int64,
	out *Verified) error {
	length := func() (n int64, err error) {
		err = q.QueryRowContext(ctx, `select count from audit_heads where chain = $1`, chain[:]).Scan(&n)
		return n, base.IgnoreMissing(err)
	}
	const attempts = 10
	for attempt := 1; ; attempt++ {
		before, err := length()
		if err != nil {
			return err
		}
		l := accessLog{subjects: map[string]*actedSubject{}, begun: begun, byID: map[string][]*actedSession{},
			byBegin: map[string][]*actedSession{}, factors: map[string]bool{}, enrolled: map[string]bool{}}
		if err := l.read(ctx, q, chain, base.Micros(db.Now())); err != nil {
			return err
		}
		if err := l.replay(ctx, q, chain); err != nil {
			return err
		}
		var found Verified
		l.compare(&found)
		after, err := length()
		if err != nil {
			return err
		}
		if len(found.Faults) == 0 || before == after || attempt == attempts {
			out.Faults = append(out.Faults, found.Faults...)
			return nil
		}
	}
}

// read reads the rows that a chain is about.
func (l *accessLog) read(ctx context.Context, q base.Querier, chain base.ID, now int64) error {
	queries := []string{
		`select 'user', 'users', id, created_at, role, disabled_at is not null, password_changed_at from users where account_id = $1`,
		`select 'api_key', 'api_keys', id, created_at, '', revoked_at is not null, 0 from api_keys where account_id = $1`,
		`select 'account', 'accounts', id, created_at, login_policy, status <> 'active', 0 from accounts where id = $1`,
		`select 'tenant', 'tenants', id, coalesce(frozen_at, created_at), '', frozen_at is not null, 0 from tenants where account_id = $1`,
	}
	sessions, args := `select digest, user_id, tenant_id, created_at, means is null from tokens where account_id = $1 and revoked_at is null and expires_at > $2`, []any{chain[:], now}
	if chain.IsZero() {
		queries = []string{
			`select 'operator', 'operators', id, created_at, case when enrolment is null then '' else 'enrolling' end, disabled_at is not null, coalesce(enrolled_at, 0) from operators`,
		}
		sessions, args = `select digest, operator_id, operator_id, created_at, 1 = 0 from operator_sessions where expires_at > $1`, []any{now}
		if err := l.readKeys(ctx, q); err != nil {
			return err
		}
	} else if err := l.readFactors(ctx, q, chain); err != nil {
		return err
	}
	for _, query := range queries {
		var own []any
		if !chain.IsZero() {
			own = []any{chain[:]}
		}
		if _, err := base.Collect(ctx, q, func(row base.Row) (struct{}, error) {
			var kind string
			var id base.ID
			s := &actedSubject{}
			// otherwise its seal is wrong, too
			if row.Scan(&kind, &s.table, &id, &s.createdAt, &s.row.role, &s.row.ended, &s.passwordAt) == nil {
				s.name = id.String()
				l.subjects[kind+" "+s.name] = s
			}
			return struct{}{}, nil
		}, query, own...); err != nil {
			return err
		}
	}
	_, err := base.Collect(ctx, q, func(row base.Row) (struct{}, error) {
		var digest []byte
		var holder base.ID
		s := &actedSession{}
		if row.Scan(&digest, &holder, &s.tenant, &s.createdAt, &s.older) == nil && len(digest) >= len(base.ID{}) { // as above
			s.id, s.holder = base.RecordIDOf(digest), holder.String()
			begin := s.holder + " " + strconv.FormatInt(s.createdAt, 10)
			l.sessions = append(l.sessions, s)
			l.byID[s.id.String()], l.byBegin[begin] = append(l.byID[s.id.String()], s), append(l.byBegin[begin], s)
		}
		return struct{}{}, nil
	}, sessions, args...)
	return err
}

func (l *accessLog) readFactors(ctx context.Context, q base.Querier, account base.ID) error {
	users, err := base.Collect(ctx, q, base.ScanValue[base.ID], `select f.user_id from second_factors f where f.account_id = $1 and `+
		base.IsEnrolled, account[:])
	for _, user := range users {
		l.factors[user.String()] = true
	}
	return err
}

func (l *accessLog) readKeys(ctx context.Context, q base.Querier) error {
	_, err := base.Collect(ctx, q, func(row base.Row) (struct{}, error) {
		var id int64
		var retired sql.Null[int64]
		err := row.Scan(&id, &retired)
		name := strconv.FormatInt(id, 10)
		l.subjects["key "+name] = &actedSubject{table: "sealing_keys", name: name, known: true,
			row: accessState{ended: retired.Valid}}
		return struct{}{}, err
	}, `select id, retired_at from sealing_keys`)
	return err
}

// replay takes the entries of a chain into account. An entry that cannot be read is a fault of the chain.
func (l *accessLog) replay(ctx context.Context, q base.Querier, chain base.ID) (err error) {
	rows, err := q.QueryContext(ctx, `select `+base.AuditColumns+` from audit where chain = $1 and act in (`+accessActs+
		`) order by ordinal`, chain[:])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e base.AuditEntry
		details := map[string]string{}
		if e.Scan(rows) == nil && json.Unmarshal([]byte(e.Details), &details) == nil {
			l.apply(&e, base.Micros(e.At), details)
		}
	}
	return rows.Err()
}

// apply takes an entry into account.
func (l *accessLog) apply(e *base.AuditEntry, at int64, details map[string]string) {
	subject := l.subjects[e.SubjectType+" "+e.Subject]
	if subject == nil {
		subject = &actedSubject{} // its row is gone
	}
	subject.known = true
	kind, act, _ := strings.Cut(e.Act, ".")
	switch {
	case e.Act == "account.create":
		l.create(at)
	case e.Act == "sandbox.reset":
		l.reset(at, details["before"], details["after"])
	case kind == "session", e.Act == "operator.log-in", e.Act == "operator.log-out":
		l.session(e, at, details)
	case e.Act == "account.login-policy":
		subject.log.role = details["after"]
	case act == "add", act == "join", act == "role":
		subject.log.role = details["role"]
	case act == "disable", act == "remove", act == "revoke", act == "suspend", act == "retire":
		subject.log.ended = true
	case act == "enable", act == "reactivate":
		subject.log.ended = false
	}
	switch e.Act {
	case "user.enroll-second-factor", "user.add-passkey":
		l.enrolled[e.Subject] = true
	case "user.disable-second-factor", "user.reset-second-factor", "user.remove-passkey": // which may be the last
		delete(l.enrolled, e.Subject)
	}
	l.credentials(e, subject, at)
}

// credentials takes into account what an entry says of passwords, enrolments, and the sessions that ended with them.
func (l *accessLog) credentials(e *base.AuditEntry, subject *actedSubject, at int64) {
	ofSubject := func(s *actedSession) bool { return s.holder == e.Subject }
	switch e.Act {
	case "account.suspend":
		l.each(at, func(*actedSession) bool { return true }, (*actedSession).end)
	case "user.reset-password", "user.complete-password-reset", "user.give-way":
		subject.setAt = at
		fallthrough
	case "user.disable", "user.remove", "user.reset-second-factor", "operator.disable":
		l.each(at, ofSubject, (*actedSession).end)
	case "operator.reset":
		subject.log, subject.setAt = accessState{}, 0
		l.each(at, ofSubject, (*actedSession).end)
	case "operator.enrol":
		subject.setAt = at
	case "user.change-password":
		subject.setAt = at
		fallthrough
	case "session.revoke-others", "user.disable-second-factor":
		l.each(at, ofSubject, func(s *actedSession) { s.others = true })
	}
}

// create takes into account that an account was created, together with its first user, whom the entry does not name.
func (l *accessLog) create(at int64) {
	for _, s := range l.subjects {
		s.known = s.known || s.createdAt == at
	}
}

// reset takes into account that a sandbox has got another tenant.
func (l *accessLog) reset(at int64, before, after string) {
	for _, name := range []string{before, after} {
		key := "tenant " + name
		if l.subjects[key] == nil {
			l.subjects[key] = &actedSubject{table: "tenants", name: name, row: accessState{role: "gone"}}
		}
		l.subjects[key].known = true
	}
	l.subjects["tenant "+before].log.ended = true
	l.each(at, func(s *actedSession) bool { return s.tenant.String() == before }, (*actedSession).end)
}

// session takes the beginning or the end of a session into account.
func (l *accessLog) session(e *base.AuditEntry, at int64, details map[string]string) {
	if e.Act == "session.begin" || e.Act == "operator.log-in" {
		for _, s := range l.byBegin[e.Subject+" "+strconv.FormatInt(at, 10)] {
			s.known = true
		}
	}
	for _, s := range l.byID[details["session"]] {
		s.over = true
	}
}

func (s *actedSession) end() { s.over = true }

// each calls do for those sessions that had begun before an entry: the entries of a chain are in the order of the
// commits. What an earlier release began has no entry, and is compared by its time.
func (l *accessLog) each(at int64, which func(*actedSession) bool, do func(*actedSession)) {
	for _, s := range l.sessions {
		if which(s) && (s.known || s.older && s.createdAt < at) {
			do(s)
		}
	}
}

// compare finds what is not what the log says.
func (l *accessLog) compare(out *Verified) {
	for _, name := range slices.Sorted(maps.Keys(l.subjects)) {
		s := l.subjects[name]
		if what := s.differs(l.begun); what != "" {
			out.accessFault(s.table, s.name, what)
		}
	}
	for _, user := range slices.Sorted(maps.Keys(l.enrolled)) {
		if !l.factors[user] && l.subjects["user "+user] != nil {
			out.accessFault("second_factors", user, "it is gone: the audit log has it")
		}
	}
	kept := map[string]int{}
	for _, s := range l.sessions {
		table := "tokens"
		if s.tenant.String() == s.holder {
			table = "operator_sessions"
		}
		if s.others {
			kept[s.holder]++
		}
		switch {
		case s.over, s.others && kept[s.holder] > 1:
			out.accessFault(table, s.id.String(), "the session was ended, says the audit log")
		case !s.known && !s.older && s.createdAt >= l.begun:
			out.accessFault(table, s.id.String(), "the audit log does not have its login")
		}
	}
}

// differs returns how a row differs from the log; "" if it does not. begun is when the log began.
func (s *actedSubject) differs(begun int64) string {
	switch {
	case s.row.role == "gone":
		return "it is gone: the audit log has it"
	case s.table == "tenants":
		if s.row.ended != s.log.ended && s.createdAt >= begun {
			return "it is frozen without a reset of the sandbox, or not frozen after one"
		}
	case !s.known && s.createdAt >= begun:
		return "the audit log does not have it"
	case s.log.ended && !s.row.ended:
		return "it was disabled, revoked, suspended or retired, says the audit log"
	case s.row.ended && !s.log.ended && s.known && s.createdAt >= begun:
		return "it was not disabled, revoked, suspended or retired, says the audit log"
	case s.table == "operators":
		if s.passwordAt != s.setAt || s.setAt != 0 && s.row.role != "" {
			return "it did not enrol then, says the audit log"
		}
	case s.log.role != "" && s.row.role != s.log.role:
		return fmt.Sprintf("the audit log says %q", s.log.role)
	case s.passwordAt < s.setAt:
		return "the password was changed later, says the audit log"
	}
	return ""
}
