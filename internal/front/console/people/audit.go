package people

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
)

// AuditPath is the audit log.
const AuditPath = "/audit"

func auditRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: AuditPath, Needs: access.ReadAudit, Serve: listAudit},
	}
}

// The parameters of the page in its address. The API has the same names.
const (
	actorParameter = "actor"
	actParameter   = "act"
	fromParameter  = "from"
	toParameter    = "to"
)

// auditParameters lists the filters in display order.
var auditParameters = []string{actorParameter, actParameter, fromParameter, toParameter} //nolint:gochecknoglobals // a constant list

// auditFilters holds the filters of the page as its address has them.
type auditFilters struct {
	// Values holds the valid parameters by name, without empty ones.
	Values map[string]string
	// Ignored lists the parameters, as name=value, that are unknown or invalid. The page says so.
	Ignored []string
	query   view.AuditFilter
}

// readAuditFilters reads the filters from the query. People may type an address, so an unknown parameter is no error.
func readAuditFilters(req *console.Request) auditFilters {
	f := auditFilters{}
	f.Values, f.Ignored = req.ReadFilters(f.set)
	return f
}

// set adds a filter, and reports whether its name and value are valid. Days are those of UTC, and the last one is
// included.
func (f *auditFilters) set(name, value string) bool {
	q := &f.query
	switch name {
	case actorParameter:
		return console.Assign(&q.Actor, value, len(value) <= console.MaxSearch)
	case actParameter:
		return console.Assign(&q.Act, value, slices.Contains(base.Acts(), value))
	case fromParameter:
		day, err := time.Parse(time.DateOnly, value)
		return console.Assign(&q.From, day, err == nil)
	case toParameter:
		day, err := time.Parse(time.DateOnly, value)
		return console.Assign(&q.To, day.AddDate(0, 0, 1), err == nil)
	}
	return false
}

// Link returns the address of the first page of the list with one parameter changed, or without it if the value is "".
func (f auditFilters) Link(name, value string) string { return f.address(AuditPath, name, value) }

func (f auditFilters) address(path, name, value string) string {
	query := url.Values{}
	for known, given := range f.Values {
		query.Set(known, given)
	}
	query.Set(name, value)
	if value == "" {
		query.Del(name)
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// Chosen returns the filters that are set, in display order.
func (f auditFilters) Chosen() []console.ChosenFilter {
	var out []console.ChosenFilter
	for _, name := range auditParameters {
		if value, ok := f.Values[name]; ok {
			out = append(out, console.ChosenFilter{Name: name, Value: value, Remove: f.Link(name, "")})
		}
	}
	return out
}

// auditPage is the view model of the audit log.
type auditPage struct {
	Filters auditFilters
	Rows    []auditRow
	Paging  page.Paging
	// Truncated reports that the list covers only its newest [view.SearchDepth] candidates.
	Truncated bool
	// Authors can be selected, and so can Acts.
	Authors []auditAuthor
	Acts    []string
}

// Author returns the name of an author that was selected.
func (p auditPage) Author(id string) string {
	for _, author := range p.Authors {
		if author.ID == id {
			return author.Name
		}
	}
	return id
}

// auditAuthor is a user or an API key. ID is its name in the audit log.
type auditAuthor struct{ ID, Name, Kind string }

// auditRow is one entry.
type auditRow struct {
	api.AuditEntry
	// Actor is the e-mail address of a user or the name of a key, or "" for an administrator or the service.
	Actor string
	// Label names the subject for people, and Link is its page; either may be "".
	Label, Link string
}

func listAudit(req *console.Request) error {
	p := auditPage{Filters: readAuditFilters(req), Paging: req.Paging()}
	found, err := view.Of(req.Session.Tenant).AuditLog(req.R.Context(), p.Filters.query, p.Paging.Page, p.Paging.PerPage)
	if err != nil {
		return err
	}
	p.Paging.Total, p.Truncated = found.Total, found.Truncated
	if p.Authors, err = auditAuthors(req.R.Context(), req); err != nil {
		return err
	}
	p.Rows = auditRows(found.Entries, p.Authors)
	// Somebody who has left the company can still be selected by the address.
	if actor := p.Filters.query.Actor; actor != "" && !slices.ContainsFunc(p.Authors,
		func(a auditAuthor) bool { return a.ID == actor }) {
		p.Authors = append(p.Authors, auditAuthor{ID: actor, Name: actor, Kind: string(base.ActorUser)})
	}
	p.Acts = slices.DeleteFunc(base.Acts(), isOperatorsAct)
	return req.Show(http.StatusOK, "audit", "activity.title", page.Layout{Section: "audit", Body: p,
		Export: console.NewExportMenu(AuditPath, p.Filters.Values)})
}

// isOperatorsAct reports whether an act belongs to the whole service, so that no company has it in its log.
func isOperatorsAct(act string) bool {
	family, _, _ := strings.Cut(act, ".")
	return family == "key" || family == "database" || family == "operator" || act == "evidence.seal"
}

// auditAuthors returns the users and API keys of the company, and the two authors that are neither.
func auditAuthors(ctx context.Context, req *console.Request) ([]auditAuthor, error) {
	users, _, err := identity.Users(ctx, req.Session.Tenant, 1, identity.MaxUsers)
	if err != nil {
		return nil, err
	}
	keys, err := identity.APIKeys(ctx, req.Session.Tenant)
	if err != nil {
		return nil, err
	}
	var out []auditAuthor
	for _, u := range users {
		out = append(out, auditAuthor{ID: u.Email, Name: u.Email, Kind: string(base.ActorUser)})
	}
	for _, k := range keys {
		out = append(out, auditAuthor{ID: k.ID.String(), Name: k.Name, Kind: string(base.ActorKey)})
	}
	for _, kind := range []base.ActorKind{base.ActorAdministrator, base.ActorSystem} {
		name, err := req.Text("activity.by." + string(kind))
		if err != nil {
			return nil, err
		}
		out = append(out, auditAuthor{ID: string(kind), Name: name, Kind: string(kind)})
	}
	return out, nil
}

// auditRows returns entries as the company sees them, with the names of the API keys.
func auditRows(entries []base.AuditEntry, authors []auditAuthor) []auditRow {
	names := map[string]string{}
	for _, author := range authors {
		names[author.Kind+" "+author.ID] = author.Name
	}
	rows := make([]auditRow, len(entries))
	for n, e := range entries {
		row := auditRow{AuditEntry: view.AuditEntry(e)}
		if row.AuditEntry.Actor.Name != nil && e.Kind != base.ActorSystem {
			row.Actor = *row.AuditEntry.Actor.Name
			if name, known := names[string(e.Kind)+" "+row.Actor]; known {
				row.Actor = name
			}
		}
		for _, name := range [...]string{"number", "invoice_number", "credit_note_number", "email", "name", "host", "kind"} {
			if row.Label = row.Details[name]; row.Label != "" {
				break
			}
		}
		row.Link = subjectLink(row.AuditEntry)
		rows[n] = row
	}
	return rows
}

// subjectLink returns the page of an entry's subject, or "" if it has none.
func subjectLink(e api.AuditEntry) string {
	switch id := url.PathEscape(e.Subject.ID); e.Subject.Type {
	case "invoice":
		if e.Act != "draft.delete" {
			return "/invoices/" + id
		}
	case "credit_note":
		return "/credit-notes/" + id
	case "submission":
		if credit := e.Details["credit_note"]; credit != "" {
			return "/credit-notes/" + url.PathEscape(credit)
		}
		if invoice := e.Details["invoice"]; invoice != "" {
			return "/invoices/" + url.PathEscape(invoice)
		}
	case "subscription":
		return "/webhooks/" + id
	case "delivery":
		return "/webhooks/deliveries/" + id
	case "user", "invitation":
		return UsersPath
	case "api_key":
		return APIKeysPath
	case "customer", "item":
		if !strings.HasSuffix(e.Act, ".delete") {
			return "/" + e.Subject.Type + "s/" + id
		}
	case "account", "connection":
		return "/account"
	}
	return ""
}

// auditRecord returns the cells of an entry.
func auditRecord(c console.Catalogue, row *auditRow) []string {
	kind := row.AuditEntry.Actor.Kind
	who := row.Actor
	if kind == string(base.ActorAdministrator) || kind == string(base.ActorSystem) {
		who = c.TextOr("activity.by."+kind, kind)
	}
	var details []string
	for _, name := range slices.Sorted(maps.Keys(row.Details)) {
		details = append(details, name+"="+row.Details[name])
	}
	return []string{row.At.UTC().Format(events.TimestampLayout), who, c.TextOr("activity.kind."+kind, kind),
		c.TextOr("activity."+row.Act, row.Act), row.Act, row.Subject.Type, row.Label, row.Subject.ID,
		console.Deref(row.Source),
		c.TextOr("activity.means."+row.Means, row.Means), console.Deref(row.RequestID), strings.Join(details, "; ")}
}
