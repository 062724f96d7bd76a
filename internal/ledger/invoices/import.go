package invoices

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	sqldb "quittance/internal/platform/db"
)

// Upload is a file with drafts that a user has sent and not imported yet.
type Upload struct {
	// Name is the name that the user's computer gave to the file.
	Name string
	Body []byte
}

// UploadKey identifies an upload. Only the user who has sent it may use it.
type UploadKey struct{ User, ID base.ID }

// StoreUpload stores a file of a user for a time. It replaces the previous one of the user.
func StoreUpload(ctx context.Context, t *base.Tenant, file Upload, user base.ID, ttl time.Duration) (UploadKey, error) {
	key := UploadKey{User: user}
	err := t.Write(ctx, "store upload", func(ctx context.Context, tx *base.Tx) (err error) {
		if err := t.WithinQuotas(ctx, tx, 0); err != nil {
			return err
		}
		if key.ID, err = base.NewID(tx.Now(), t.DB().Random()); err != nil {
			return err
		}
		replaced, err := base.Collect(ctx, tx, base.ScanValue[int64],
			`delete from uploads where tenant_id = $1 and user_id = $2 returning octet_length(body)`, t.ID(), key.User)
		if err != nil {
			return err
		}
		used := base.Usage{Bytes: int64(len(file.Body))}
		for _, size := range replaced {
			used.Bytes -= size
		}
		tx.Use(t.ID(), used)
		_, err = tx.Exec(ctx,
			`insert into uploads (tenant_id, id, user_id, name, body, expires_at) values ($1, $2, $3, $4, $5, $6)`,
			t.ID(), key.ID, key.User, file.Name, file.Body, base.Micros(tx.Now().Add(ttl)))
		return err
	})
	return key, err
}

// FindUpload returns a file of a user. The error is [base.ErrNotFound] if it was imported or replaced, or has expired.
func FindUpload(ctx context.Context, t *base.Tenant, key UploadKey) (Upload, error) {
	return base.ReadValue(t, func(q base.Querier) (Upload, error) {
		var u Upload
		err := q.QueryRowContext(ctx,
			`select name, body from uploads where tenant_id = $1 and id = $2 and user_id = $3 and expires_at > $4`,
			t.ID(), key.ID, key.User, base.Micros(t.DB().Now())).Scan(&u.Name, &u.Body)
		return u, err
	})
}

// takeUpload removes a file that has not expired. Of two transactions, one finds it.
func takeUpload(ctx context.Context, t *base.Tenant, tx *base.Tx, key UploadKey) error {
	removed, err := base.Collect(ctx, tx, base.ScanValue[int64],
		`delete from uploads where tenant_id = $1 and id = $2 and user_id = $3 and expires_at > $4 returning octet_length(body)`,
		t.ID(), key.ID, key.User, base.Micros(tx.Now()))
	if err != nil {
		return err
	}
	if len(removed) == 0 {
		return sql.ErrNoRows
	}
	tx.Use(t.ID(), base.Usage{Bytes: -removed[0]})
	return nil
}

// DeleteExpiredUploads removes the files that have expired.
func DeleteExpiredUploads(ctx context.Context, t *base.Tx) error {
	type expiredUpload struct {
		tenant base.ID
		size   int64
	}
	removed, err := base.Collect(ctx, t, func(row base.Row) (u expiredUpload, err error) {
		return u,
			row.Scan(&u.tenant, &u.size)
	},
		`delete from uploads where expires_at < $1 returning tenant_id, octet_length(body)`, base.Micros(t.Now()))
	for _, u := range removed {
		t.Use(u.tenant, base.Usage{Bytes: -u.size})
	}
	return err
}

// ImportSource is the file that drafts come from.
type ImportSource struct {
	// SHA256 is the digest of the file, and Rows the number of its rows, for the audit log.
	SHA256 [32]byte
	Rows   int
	// Upload is the stored file, which the import removes; zero for a file that is not stored.
	Upload UploadKey
}

// Imported is a draft that an import has created.
type Imported struct {
	ID     base.ID
	Number string
}

// importBatch is how many drafts share their statements on PostgreSQL.
const importBatch = 250

// Import stores the drafts of a file in one transaction, in their order. The caller has validated them. The error is
// [base.ErrNotFound] if the stored file is gone, for example because its drafts are imported already; nothing is stored
// then or after any other error.
func Import(ctx context.Context, t *base.Tenant, drafts []*api.Draft, source ImportSource) ([]Imported, error) {
	if t == nil || t.DB() == nil {
		return nil, base.ErrNoTenant
	}
	add := make([]*newInvoice, len(drafts))
	for n, draft := range drafts {
		var err error
		if add[n], err = prepareInvoice(ctx, t, draft); err != nil {
			return nil, err
		}
	}
	err := t.Write(ctx, "import drafts", func(ctx context.Context, tx *base.Tx) error {
		if source.Upload != (UploadKey{}) {
			if err := takeUpload(ctx, t, tx, source.Upload); err != nil {
				return err
			}
		}
		if err := t.WithinQuotas(ctx, tx, int64(len(add))); err != nil {
			return err
		}
		id, err := base.NewID(tx.Now(), t.DB().Random())
		if err != nil {
			return err
		}
		size := importBatch
		if !sqldb.IsBatched(t.DB().Dialect()) {
			size = 1
		}
		for batch := range slices.Chunk(add, size) {
			if err := createInvoices(ctx, tx, batch); errors.Is(err, sql.ErrNoRows) {
				return cmp.Or(t.WithinQuotas(ctx, tx, int64(len(add))), err)
			} else if err != nil {
				return err
			}
		}
		return t.Audit(tx, base.Act{Name: "draft.import", SubjectType: "import", Subject: id.String(),
			Details: map[string]string{
				"drafts": strconv.Itoa(len(add)), "rows": strconv.Itoa(source.Rows), "sha256": hex.EncodeToString(source.SHA256[:]),
			}})
	})
	if err != nil {
		return nil, err
	}
	out := make([]Imported, len(add))
	for n, a := range add {
		out[n] = Imported{a.created.ID, *a.draft.InvoiceNumber}
	}
	return out, nil
}

// numbersPerQuery is how many numbers one query looks up.
const numbersPerQuery = 256

// UsedNumbers returns those of the numbers that invoices of the company have, drafts included.
func UsedNumbers(ctx context.Context, t *base.Tenant, numbers []string) (map[string]bool, error) {
	if t == nil || t.DB() == nil {
		return nil, base.ErrNoTenant
	}
	used := map[string]bool{}
	for chunk := range slices.Chunk(numbers, numbersPerQuery) {
		args, names := []any{t.ID()}, make([]string, numbersPerQuery)
		for n := range names { // always as many, so that there is one statement
			args = append(args, chunk[min(n, len(chunk)-1)])
			names[n] = "(" + sqldb.Parameter(len(args)) + ")"
		}
		// The sub-select is a scalar, so that every planner takes one step into the index for each number.
		found, err := base.ReadValue(t, func(q base.Querier) ([]string, error) {
			return base.Collect(ctx, q, base.ScanValue[string], `with numbers (number) as (values `+strings.Join(names, ", ")+`)
				select n.number from numbers n where (select 1 from invoices i where i.tenant_id = $1 and i.number = n.number limit 1) = 1`, args...)
		})
		if err != nil {
			return nil, err
		}
		for _, number := range found {
			used[number] = true
		}
	}
	return used, nil
}
