package store

import "context"

// EvidenceBodies returns the bodies of some retained answers, in one query; at most 100 should be asked for. Those that
// are withheld, cut off or longer than 64 KiB are left out.
func (t *Tenant) EvidenceBodies(ctx context.Context, ids []ID) (map[ID][]byte, error) {
	return byID[[]byte](ctx, t, ids, `select id, body from evidence where tenant_id = $1 and withheld = 0 and truncated = 0
		and length(body) <= 65536`)
}
