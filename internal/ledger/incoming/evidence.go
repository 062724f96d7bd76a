package incoming

import (
	"context"

	"quittance/internal/ledger/base"
)

// WithheldDocument and WithheldMetadata are [invoices.WithheldBody] for the columns of a revision r of an incoming
// e-invoice.
const (
	WithheldDocument = `case when r.withheld = 1 then coalesce((select n.value from resealed n where n.tenant_id = r.tenant_id
		and n.table_name = 'revisions' and n.column_name = 'body' and n.row_id = r.incoming_id and n.ordinal = r.revision), r.body) else r.body end`
	WithheldMetadata = `case when r.withheld = 1 then coalesce((select n.value from resealed n where n.tenant_id = r.tenant_id
		and n.table_name = 'revisions' and n.column_name = 'metadata' and n.row_id = r.incoming_id and n.ordinal = r.revision), r.metadata) else r.metadata end`
)

// RevisionSize returns a revision of an incoming e-invoice without its document, and how many bytes of that are
// retained; 0 for one that is withheld.
func RevisionSize(ctx context.Context, t *base.Tenant, id base.ID, revision int64) (Revision, int64, error) {
	var out Revision
	var size int64
	err := t.Read(func(q base.Querier) (err error) {
		out, err = ScanRevision(q.QueryRowContext(ctx,
			`select `+RevisionColumns+`, case when r.withheld = 0 and r.retained = 1 then length(r.body) else 0 end`+
				FromRevisions+`i.id = $2 and r.revision = $3`, t.ID(), id, revision), &size)
		return err
	})
	return out, size, err
}

// RevisionChunk returns at most size bytes of the document of a revision from offset on, as [invoices.EvidenceChunk]
// does.
func RevisionChunk(ctx context.Context, t *base.Tenant, id base.ID, revision, offset int64, size int) ([]byte, error) {
	var chunk []byte
	err := t.Read(func(q base.Querier) error {
		return q.QueryRowContext(ctx,
			`select substr(body, $4, $5) from revisions where tenant_id = $1 and incoming_id = $2 and revision = $3
			and withheld = 0 and retained = 1`, t.ID(), id, revision, offset+1, size).Scan(&chunk)
	})
	return chunk, err
}
