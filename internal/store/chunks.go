package store

import "context"

// EvidenceSize returns an entry of the evidence without its body, and how many bytes that has; 0 for one that is
// withheld.
func (t *Tenant) EvidenceSize(ctx context.Context, id ID) (Evidence, int64, error) {
	var out Evidence
	var size int64
	err := t.read(func(q querier) (err error) {
		out, err = scanEvidence(q.QueryRowContext(ctx,
			`select `+evidenceColumns+`, case when withheld = 0 then length(body) else 0 end
			from evidence where tenant_id = $1 and id = $2`, t.id, id), &size)
		return err
	})
	return out, size, err
}

// EvidenceChunk returns at most size bytes of the body of an entry from offset on. Evidence is never changed: chunks
// that are read one after the other are the body. What is withheld is [ErrNotFound].
func (t *Tenant) EvidenceChunk(ctx context.Context, id ID, offset int64, size int) ([]byte, error) {
	var chunk []byte
	err := t.read(func(q querier) error {
		return q.QueryRowContext(ctx,
			`select substr(body, $3, $4) from evidence where tenant_id = $1 and id = $2 and withheld = 0`, t.id, id, offset+1,
			size).Scan(&chunk)
	})
	return chunk, err
}

// RevisionSize returns a revision of an incoming e-invoice without its document, and how many bytes of that are
// retained; 0 for one that is withheld.
func (t *Tenant) RevisionSize(ctx context.Context, id ID, revision int64) (Revision, int64, error) {
	var out Revision
	var size int64
	err := t.read(func(q querier) (err error) {
		out, err = scanRevision(q.QueryRowContext(ctx,
			`select `+revisionColumns+`, case when r.withheld = 0 and r.retained = 1 then length(r.body) else 0 end`+
				fromRevisions+`i.id = $2 and r.revision = $3`, t.id, id, revision), &size)
		return err
	})
	return out, size, err
}

// RevisionChunk returns at most size bytes of the document of a revision from offset on, as [Tenant.EvidenceChunk]
// does.
func (t *Tenant) RevisionChunk(ctx context.Context, id ID, revision, offset int64, size int) ([]byte, error) {
	var chunk []byte
	err := t.read(func(q querier) error {
		return q.QueryRowContext(ctx,
			`select substr(body, $4, $5) from revisions where tenant_id = $1 and incoming_id = $2 and revision = $3
			and withheld = 0 and retained = 1`, t.id, id, revision, offset+1, size).Scan(&chunk)
	})
	return chunk, err
}
