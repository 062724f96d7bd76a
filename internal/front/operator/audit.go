package operator

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"quittance/internal/front/page"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/lists"
	"quittance/internal/platform/secret"
)

// keysPage is the view model of the keys that seal secrets in the database.
type keysPage struct {
	Keys []sealingKey
	// Servers are the running servers.
	Servers []base.Server
}

// sealingKey is a key of the key file, without its material.
type sealingKey struct {
	secret.Key
	// Recorded reports that the database knows the key.
	Recorded bool
}

// listKeys shows the keys. They are changed with the command line, because they are in a file of the machine.
func (req *request) listKeys() error {
	p := keysPage{}
	for _, key := range req.DB.Keys().List() {
		recorded, err := req.DB.KeyRecorded(req.R.Context(), key.ID)
		if err != nil {
			return err
		}
		p.Keys = append(p.Keys, sealingKey{key, recorded})
	}
	var err error
	if p.Servers, err = req.DB.Servers(req.R.Context()); err != nil {
		return err
	}
	return req.Show(http.StatusOK, "sealing", "op.sealing.title", page.Layout{Section: "sealing", Body: p})
}

// auditPage is the view model of the audit log of all companies, newest first.
type auditPage struct {
	Filter auditFilter
	// Acts are the names of all acts.
	Acts []string
	Rows []auditRow
	Next string
}

// auditFilter is the filter as it was typed.
type auditFilter struct{ Account, Actor, Act, From, To string }

// Any reports that there is a filter.
func (f auditFilter) Any() bool { return f != auditFilter{} }

// auditRow is an entry with its company and its details.
type auditRow struct {
	base.AuditEntry
	Company string
	Details []auditDetail
}

type auditDetail struct{ Name, Value string }

func (req *request) listAudit() error {
	query := req.R.URL.Query()
	typed := func(name string) string { return searched(query.Get(name)) }
	p := auditPage{Acts: base.Acts(), Filter: auditFilter{typed("account"), typed("actor"), typed("act"), typed("from"),
		typed("to")}}
	filter, err := p.Filter.read()
	if err != nil {
		return err
	}
	found, err := lists.AuditPage(req.R.Context(), req.DB, filter, parseAuditPosition(query.Get("after")))
	if err != nil {
		return err
	}
	if more := len(found) > maxPerPage; more {
		found = found[:maxPerPage]
		p.Next = next(auditPath, query, more, formatAuditPosition(lists.EntryPosition(&found[maxPerPage-1])))
	}
	var accounts []base.ID
	for _, e := range found {
		if e.Account != nil {
			accounts = append(accounts, *e.Account)
		}
	}
	companies, err := lists.Companies(req.R.Context(), req.DB, accounts)
	if err != nil {
		return err
	}
	for _, e := range found {
		row := auditRow{AuditEntry: e, Details: detailsOf(e)}
		if e.Account != nil {
			row.Company = companies[*e.Account]
		}
		p.Rows = append(p.Rows, row)
	}
	return req.Show(http.StatusOK, "audit", "op.audit.title", page.Layout{Section: "audit", Body: p})
}

// read returns the filter for the ledger. A value that no entry can have is a bad request.
func (f auditFilter) read() (base.AuditFilter, error) {
	filter := base.AuditFilter{Actor: f.Actor, Act: f.Act, Limit: maxPerPage + 1}
	if f.Account != "" {
		id, err := base.ParseID(f.Account)
		if err != nil || id.IsZero() {
			return filter, errFilter.Because(err)
		}
		filter.Account = &id
	}
	for _, day := range []struct {
		text string
		into *time.Time
		days int
	}{{f.From, &filter.Since, 0}, {f.To, &filter.Until, 1}} {
		if day.text == "" {
			continue
		}
		parsed, err := time.Parse(time.DateOnly, day.text)
		if err != nil {
			return filter, errFilter.Because(err)
		}
		*day.into = parsed.AddDate(0, 0, day.days)
	}
	return filter, nil
}

// detailsOf returns the details of an entry in the order of their names. An altered entry is shown without details.
func detailsOf(e base.AuditEntry) (out []auditDetail) {
	var details map[string]string
	if json.Unmarshal([]byte(e.Details), &details) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(details)) {
		if name == "before" || name == "after" { // the whole profile of a company
			continue
		}
		out = append(out, auditDetail{name, details[name]})
	}
	return out
}

// parseAuditPosition reads what [formatAuditPosition] wrote; anything else is the beginning of the list.
func parseAuditPosition(text string) lists.AuditPosition {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return lists.AuditPosition{}
	}
	at, atErr := strconv.ParseInt(parts[0], 10, 64)
	chain, chainErr := base.ParseID(parts[1])
	ordinal, ordinalErr := strconv.ParseInt(parts[2], 10, 64)
	if atErr != nil || chainErr != nil || ordinalErr != nil {
		return lists.AuditPosition{}
	}
	return lists.AuditPosition{At: instant(at), Account: chain, Ordinal: ordinal}
}

// formatAuditPosition returns a position as a parameter of an address.
func formatAuditPosition(p lists.AuditPosition) string {
	return strconv.FormatInt(p.At.UnixMicro(), 10) + "." + p.Account.String() + "." + strconv.FormatInt(p.Ordinal, 10)
}
