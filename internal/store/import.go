package store

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
	base "quittance/internal/db"
)

// Upload is a file with drafts that a user has sent and not imported yet.
type Upload struct {
	// Name is the name that the user's computer gave to the file.
	Name string
	Body []byte
}

// UploadKey identifies an upload. Only the user who has sent it may use it.
type UploadKey struct{ User, ID ID }

// StoreUpload stores a file of a user for a time. It replaces the previous one of the user.
func (t *Tenant) StoreUpload(ctx context.Context, file Upload, user ID, ttl time.Duration) (UploadKey, error) {
	key := UploadKey{User: user}
	err := t.write(ctx, "store upload", func(ctx context.Context, tx *tx) (err error) {
		if err := t.withinQuotas(ctx, tx, 0); err != nil {
			return err
		}
		if key.ID, err = newID(tx.Now(), t.db.random); err != nil {
			return err
		}
		replaced, err := collect(ctx, tx, scanValue[int64],
			`delete from uploads where tenant_id = $1 and user_id = $2 returning octet_length(body)`, t.id, key.User)
		if err != nil {
			return err
		}
		used := usage{bytes: int64(len(file.Body))}
		for _, size := range replaced {
			used.bytes -= size
		}
		tx.use(t.id, used)
		_, err = tx.Exec(ctx,
			`insert into uploads (tenant_id, id, user_id, name, body, expires_at) values ($1, $2, $3, $4, $5, $6)`,
			t.id, key.ID, key.User, file.Name, file.Body, micros(tx.Now().Add(ttl)))
		return err
	})
	return key, err
}

// Upload returns a file of a user. The error is [ErrNotFound] if it was imported or replaced, or has expired.
func (t *Tenant) Upload(ctx context.Context, key UploadKey) (Upload, error) {
	return readValue(t, func(q querier) (Upload, error) {
		var u Upload
		err := q.QueryRowContext(ctx,
			`select name, body from uploads where tenant_id = $1 and id = $2 and user_id = $3 and expires_at > $4`,
			t.id, key.ID, key.User, micros(t.db.Now())).Scan(&u.Name, &u.Body)
		return u, err
	})
}

// takeUpload removes a file that has not expired. Of two transactions, one finds it.
func (t *Tenant) takeUpload(ctx context.Context, tx *tx, key UploadKey) error {
	removed, err := collect(ctx, tx, scanValue[int64],
		`delete from uploads where tenant_id = $1 and id = $2 and user_id = $3 and expires_at > $4 returning octet_length(body)`,
		t.id, key.ID, key.User, micros(tx.Now()))
	if err != nil {
		return err
	}
	if len(removed) == 0 {
		return sql.ErrNoRows
	}
	tx.use(t.id, usage{bytes: -removed[0]})
	return nil
}

// deleteExpiredUploads removes the files that have expired.
func (t *tx) deleteExpiredUploads(ctx context.Context) error {
	type expiredUpload struct {
		tenant ID
		size   int64
	}
	removed, err := collect(ctx, t, func(row scanner) (u expiredUpload, err error) {
		return u,
			row.Scan(&u.tenant, &u.size)
	},
		`delete from uploads where expires_at < $1 returning tenant_id, octet_length(body)`, micros(t.Now()))
	for _, u := range removed {
		t.use(u.tenant, usage{bytes: -u.size})
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
	ID     ID
	Number string
}

// importBatch is how many drafts share their statements on PostgreSQL.
const importBatch = 250

// ImportDrafts stores the drafts of a file in one transaction, in their order. The caller has validated them. The error
// is [ErrNotFound] if the stored file is gone, for example because its drafts are imported already; nothing is stored
// then or after any other error.
func (t *Tenant) ImportDrafts(ctx context.Context, drafts []*api.Draft, source ImportSource) ([]Imported, error) {
	if t == nil || t.db == nil {
		return nil, ErrNoTenant
	}
	add := make([]*newInvoice, len(drafts))
	for n, draft := range drafts {
		var err error
		if add[n], err = t.newInvoice(ctx, draft); err != nil {
			return nil, err
		}
	}
	err := t.write(ctx, "import drafts", func(ctx context.Context, tx *tx) error {
		if source.Upload != (UploadKey{}) {
			if err := t.takeUpload(ctx, tx, source.Upload); err != nil {
				return err
			}
		}
		if err := t.withinQuotas(ctx, tx, int64(len(add))); err != nil {
			return err
		}
		id, err := newID(tx.Now(), t.db.random)
		if err != nil {
			return err
		}
		size := importBatch
		if !base.IsBatched(t.db.dialect) {
			size = 1
		}
		for batch := range slices.Chunk(add, size) {
			if err := createInvoices(ctx, tx, batch); errors.Is(err, sql.ErrNoRows) {
				return cmp.Or(t.withinQuotas(ctx, tx, int64(len(add))), err)
			} else if err != nil {
				return err
			}
		}
		return t.audit(tx, Act{Name: "draft.import", SubjectType: "import", Subject: id.String(), Details: map[string]string{
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
func (t *Tenant) UsedNumbers(ctx context.Context, numbers []string) (map[string]bool, error) {
	if t == nil || t.db == nil {
		return nil, ErrNoTenant
	}
	used := map[string]bool{}
	for chunk := range slices.Chunk(numbers, numbersPerQuery) {
		args, names := []any{t.Key()}, make([]string, numbersPerQuery)
		for n := range names { // always as many, so that there is one statement
			args = append(args, chunk[min(n, len(chunk)-1)])
			names[n] = "(" + base.Parameter(len(args)) + ")"
		}
		// The sub-select is a scalar, so that every planner takes one step into the index for each number.
		found, err := readValue(t, func(q querier) ([]string, error) {
			return collect(ctx, q, scanValue[string], `with numbers (number) as (values `+strings.Join(names, ", ")+`)
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
