package server

import (
	"context"
	"net/http"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
)

// auditRoutes are the operations about the audit log.
func auditRoutes() []route {
	return []route{
		{method: http.MethodGet, path: client + "/audit", needs: access.ReadAudit, operation: withoutBody((*call).listAudit),
			query: append(paging[:2:2], "actor", "act", "subject_id", "from", "to"),
			name:  "listAudit", tag: "Audit log", summary: "List the audit log", status: 200},
	}
}

func (c *call) listAudit(ctx context.Context) (int, api.List[api.AuditEntry], error) {
	var out api.List[api.AuditEntry]
	page, perPage, err := c.page(defaultPerPage)
	if err != nil {
		return 0, out, err
	}
	filter, err := c.auditFilter()
	if err != nil {
		return 0, out, err
	}
	found, err := view.Of(c.session.Tenant).AuditLog(ctx, filter, page, perPage)
	if err != nil {
		return 0, out, err
	}
	out.Pagination = pagination(page, perPage, found.Total)
	out.Pagination.Truncated = found.Truncated
	out.Data = present(found.Entries, view.AuditEntry)
	return http.StatusOK, out, nil
}

// auditFilter reads the filters of the audit log.
func (c *call) auditFilter() (view.AuditFilter, error) {
	query := c.request.URL.Query()
	filter := view.AuditFilter{Actor: query.Get("actor"), Act: query.Get("act"), Subject: query.Get("subject_id")}
	for name, into := range map[string]*time.Time{"from": &filter.From, "to": &filter.To} {
		var err error
		if *into, err = readTime(query, name); err != nil {
			return filter, err
		}
	}
	return filter, nil
}
