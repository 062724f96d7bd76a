package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"quittance/internal/ledger/base"
)

type auditCmd struct {
	List auditListCmd `cmd:"" help:"List acts of administrators, users and API keys: who did what, when and why."`
}

// Help is shown by --help.
func (auditCmd) Help() string {
	return `Example:
  quittance audit list --data ./sandbox`
}

type auditListCmd struct {
	admin
	Account string `placeholder:"ID" help:"Show only acts on this account."`
	Act     string `placeholder:"NAME" help:"Show only acts with this name, such as account.suspend, or in this family, such as account."`
	By      string `name:"by" placeholder:"NAME" help:"Show only acts of this actor: an e-mail address, an API key's identifier, or an administrator such as ada@desk."`
	Since   string `placeholder:"TIME" help:"Show only acts since this time: 2026-03-01, 2026-03-01T09:00:00Z, or 24h for the last 24 hours."`
	Until   string `placeholder:"TIME" help:"Show only acts before this time, written as for --since."`
	Limit   int    `default:"1000" help:"Maximum number of entries, latest first."`
}

// Help is shown by --help.
func (auditListCmd) Help() string {
	return `Example:
  quittance audit list --data ./sandbox --since 24h
  quittance audit list --database postgres://db/quittance --key-file key.json --act connection.approve --json

Every act of an administrator, a user or an API key leaves an entry, written in the same transaction. The database refuses to change or remove
entries; quittance evidence verify detects tampering.`
}

// Run lists the audit log.
func (c auditListCmd) Run(env environment) error {
	filter := base.AuditFilter{Act: c.Act, Actor: c.By, Limit: c.Limit + 1}
	if err := checkLimit(c.Limit); err != nil {
		return err
	}
	if c.Account != "" {
		id, err := parseID(c.Account)
		if err != nil {
			return err
		}
		filter.Account = &id
	}
	var err error
	if filter.Since, err = parseMoment("--since", c.Since, time.Now()); err != nil {
		return err
	}
	if filter.Until, err = parseMoment("--until", c.Until, time.Now()); err != nil {
		return err
	}
	return c.with(env, func(db *base.DB) error {
		entries, err := db.Audit(env.ctx, filter)
		if err != nil {
			return err
		}
		slices.Reverse(entries)
		entries = bounded(env, entries, c.Limit) // without the oldest one
		slices.Reverse(entries)
		return printRows(env, c.admin, entries, auditRecord)
	})
}

func auditRecord(e base.AuditEntry) []field {
	var account any
	if e.Account != nil {
		account = *e.Account
	}
	return []field{{"at", e.At.Format(time.RFC3339)}, {"act", e.Act}, {"actor", e.Name}, {"actor_kind", e.Kind},
		{"means", e.Means}, {"source", e.Source}, {"account_id", account}, {"subject_type", e.SubjectType},
		{"subject", e.Subject}, {"reason", e.Reason}, {"request_id", e.RequestID}, {"details", details(e.Details)},
		{"id", e.ID}}
}

// details is the JSON object of an entry, in both output formats.
type details string

// MarshalJSON returns the object.
func (d details) MarshalJSON() ([]byte, error) { return json.RawMessage(d), nil }

// parseMoment parses the value of a flag: a date, a time, or a duration before now; it returns the zero time for "".
func parseMoment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	if back, err := time.ParseDuration(text); err == nil && back > 0 {
		return now.Add(-back), nil
	}
	return time.Time{}, fmt.Errorf("%s: %q is not a date, a time such as 2026-03-01T09:00:00Z, or a duration such as 24h",
		flag, text)
}
