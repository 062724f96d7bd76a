package view

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
)

// AuditFilter filters the audit log of a company. Zero fields have no effect.
type AuditFilter struct {
	// Actor is the e-mail address of a user, the identifier of a key, or one of the kinds administrator and system, whose
	// names a company does not see.
	Actor string
	// Act is the name of an act, such as draft.create, or of a family, such as draft.
	Act string
	// Subject is the identifier of what the act was about.
	Subject string
	// From is the earliest time. To is the time before which entries were made.
	From, To time.Time
}

// AuditLog returns a page of the company's audit log, newest first. With a filter it examines the newest [SearchDepth]
// entries of the subject and the period.
func (t Tenant) AuditLog(ctx context.Context, filter AuditFilter, number,
	perPage int) (out Page[base.AuditEntry], err error) {
	err = base.ReadSnapshot(ctx, t.tenant, func(ctx context.Context, r base.Reader) error {
		if filter == (AuditFilter{}) {
			out, err = wholeAudit(ctx, r, number, perPage)
		} else {
			out, err = filteredAudit(ctx, r, filter, number, perPage)
		}
		return err
	})
	return out, err
}

// Activity returns the newest entries of the audit log about some subjects, such as an invoice and its submissions,
// newest first: at most limit. It reads those of each subject from an index.
func (t Tenant) Activity(ctx context.Context, subjects []base.ID, limit int) (out []base.AuditEntry, err error) {
	err = base.ReadRows(t.tenant, func(r base.Reader) error {
		for _, subject := range subjects {
			found, err := base.SelectAudit(ctx, r, `subject = $2`, newestAudit+` limit $3`, subject.String(), limit)
			if err != nil {
				return err
			}
			out = append(out, found...)
		}
		return nil
	})
	slices.SortStableFunc(out, func(a, b base.AuditEntry) int { return b.At.Compare(a.At) })
	return out[:min(len(out), limit)], err
}

// LastLogins returns when users of the company last logged in, by the audit log. Users who never did are left out. It
// finds each in an index.
func (t Tenant) LastLogins(ctx context.Context, users []base.ID) (map[base.ID]time.Time, error) {
	out := map[base.ID]time.Time{}
	err := base.ReadRows(t.tenant, func(r base.Reader) error {
		for _, user := range users {
			found, err := base.SelectAudit(ctx, r, `subject = $2 and act = 'session.begin'`, newestAudit+` limit 1`, user.String())
			if err != nil {
				return err
			}
			for _, entry := range found {
				out[user] = entry.At
			}
		}
		return nil
	})
	return out, err
}

// newestAudit is the order of all lists of the audit log.
const newestAudit = `order by at desc, ordinal desc`

// wholeAudit returns a page of the whole log. Its entries have consecutive numbers, so a page is a range of them.
func wholeAudit(ctx context.Context, r base.Reader, number, perPage int) (out Page[base.AuditEntry], err error) {
	err = r.Query(ctx, func(row base.Row) error { return row.Scan(&out.Total) },
		`select coalesce(max(ordinal), 0) from audit where `+base.AuditOfTenant)
	if err != nil {
		return out, err
	}
	high, low := pageRange(out.Total, number, perPage)
	out.Entries, err = base.SelectAudit(ctx, r, `ordinal <= $2 and ordinal > $3`, `order by ordinal desc`, high, low)
	return out, err
}

// filteredAudit returns a page of a filtered list.
func filteredAudit(ctx context.Context, r base.Reader, filter AuditFilter, number,
	perPage int) (Page[base.AuditEntry], error) {
	at, ordinal, truncated, err := filter.oldest(ctx, r, SearchDepth)
	if err != nil {
		return Page[base.AuditEntry]{}, err
	}
	var s statement
	oldest := s.value(at)
	where := `at >= ` + oldest + ` and (at > ` + oldest + ` or ordinal > ` + s.value(ordinal) + `)` + filter.among(&s) +
		filter.rest(&s)
	out, err := readPage(ctx, r, &s, number, perPage, `select count(*) from audit where `+base.AuditOfTenant+` and `+
		where, base.SelectAudit, where, newestAudit)
	out.Truncated = truncated
	return out, err
}

// oldest returns time and ordinal of the newest entry that is not examined if only the newest depth entries are, and
// whether there is one; otherwise those of no entry.
func (f AuditFilter) oldest(ctx context.Context, r base.Reader,
	depth int) (at, ordinal int64, exists bool, err error) {
	var s statement
	at = -1
	among := f.among(&s) + ` ` + newestAudit + ` limit 1 offset ` + s.value(depth)
	err = r.Query(ctx, func(row base.Row) error {
		exists = true
		return row.Scan(&at, &ordinal)
	}, `select at, ordinal from audit where `+base.AuditOfTenant+among, s.args...)
	return at, ordinal, exists, err
}

// among returns the part of the filter that an index answers in the order of time.
func (f AuditFilter) among(s *statement) string {
	where := ``
	if f.Subject != "" {
		where += ` and subject = ` + s.value(f.Subject)
	}
	if !f.From.IsZero() {
		where += ` and at >= ` + s.value(f.From.UnixMicro())
	}
	if !f.To.IsZero() {
		where += ` and at < ` + s.value(f.To.UnixMicro())
	}
	return where
}

// rest returns the part of the filter that is compared entry by entry.
func (f AuditFilter) rest(s *statement) string {
	where := ``
	switch kind := base.ActorKind(f.Actor); kind {
	case "":
	case base.ActorAdministrator, base.ActorSystem:
		where += ` and actor_kind = ` + s.value(string(kind))
	default:
		where += ` and actor = ` + s.value(f.Actor) + ` and actor_kind in ('user', 'key')`
	}
	if f.Act != "" {
		act := s.value(f.Act)
		where += ` and (act = ` + act + ` or substr(act, 1, length(` + act + `) + 1) = ` + act + ` || '.')`
	}
	return where
}

// shownDetails are the details of an administrator's act that the company sees, because its own pages show them too.
var shownDetails = [...]string{"email", "role", "kind", "environment", "invoice", "credit_note", "number", "invoice_number", "credit_note_number", "decision"} //nolint:gochecknoglobals // a constant table

// AuditEntry returns an entry as the company sees it. Who the administrator was, from where, why, and most details are
// for the operator of the service alone.
func AuditEntry(e base.AuditEntry) api.AuditEntry {
	out := api.AuditEntry{ID: e.ID.String(), At: e.At, Act: e.Act, Actor: api.AuditActor{Kind: string(e.Kind)},
		Means:   strings.ReplaceAll(strings.ToLower(e.Means), " ", "_"),
		Subject: api.AuditSubject{Type: e.SubjectType, ID: e.Subject}}
	details := map[string]string{}
	// the log contains nothing else; an altered entry is shown without details
	_ = json.Unmarshal([]byte(e.Details), &details)
	if e.Kind != base.ActorAdministrator {
		out.Actor.Name, out.Source, out.RequestID, out.Details = textOrNil(e.Name), textOrNil(e.Source),
			textOrNil(e.RequestID), details
		return out
	}
	out.Details = map[string]string{}
	for _, name := range shownDetails {
		if value, ok := details[name]; ok {
			out.Details[name] = value
		}
	}
	return out
}

// textOrNil returns nil for an empty text.
func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
