package store

import (
	"context"
	"database/sql"
)

// Logo returns the logo of the company's profile as a data URL, or nil. It is not part of [Account], which every call of the company
// reads.
func (t *Tenant) Logo(ctx context.Context) (*string, error) {
	var logo sql.Null[string]
	err := t.read(func(q querier) error {
		return q.QueryRowContext(ctx, `select logo from accounts where id = $1`, t.account).Scan(&logo)
	})
	return textOrNil(logo), err
}
