package base

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sqldb "quittance/internal/platform/db"
	"quittance/internal/platform/secret"
)

// Rows that decide who may act have a seal: a value of the key ring that authenticates the primary key and all columns
// that decide. Whoever can write to the database but has no key can make none, so that a row that was inserted, changed
// or exchanged does not act: those who read it to decide treat it as absent.
//
// The rows are written by [Tx.InsertSealed] and [Tx.ChangeSealed] alone, which seal them in the same transaction. A row
// that ends for good, such as a revoked token, needs no seal: the statement that ends it sets the seal to null, and
// nothing seals it again.

// SealedTable is a table whose rows decide who may act.
type SealedTable struct {
	Name string
	// Keys is the primary key, Decides are the other columns that decide. Their order is part of the seal.
	Keys, Decides []string
	// Live is the condition that a row needs a seal; "" if all do.
	Live string
}

// The sealed tables.
//
//nolint:gochecknoglobals // constant tables
var (
	SealedAccounts = &SealedTable{Name: "accounts", Keys: []string{"id"},
		Decides: []string{"company", "status", "login_policy", "created_at", "suspended_at"}}
	SealedTenants = &SealedTable{Name: "tenants", Keys: []string{"id"},
		Decides: []string{"account_id", "created_at", "frozen_at"}}
	SealedUsers = &SealedTable{Name: "users", Keys: []string{"account_id", "id"},
		Decides: []string{"email", "role", "password_hash", "password_change_required", "created_at", "password_changed_at",
			"disabled_at", "proved_at"}}
	SealedTokens = &SealedTable{Name: "tokens", Keys: []string{"digest"}, Live: "revoked_at is null",
		Decides: []string{"account_id", "tenant_id", "user_id", "password_change_required", "created_at", "expires_at",
			"client", "means"}}
	SealedAPIKeys = &SealedTable{Name: "api_keys", Keys: []string{"account_id", "id"}, Live: "revoked_at is null",
		Decides: []string{"digest", "scopes", "networks", "created_by", "created_at", "expires_at"}}
	SealedInvitations = &SealedTable{Name: "invitations", Keys: []string{"account_id", "id"},
		Decides: []string{"email", "role", "digest", "mail_digest", "mail_id", "invited_by", "created_at", "expires_at"}}
	SealedResets = &SealedTable{Name: "password_resets", Keys: []string{"account_id", "user_id"},
		Decides: []string{"digest", "password_changed_at", "created_at", "expires_at"}}
	SealedProofs = &SealedTable{Name: "address_proofs", Keys: []string{"account_id", "user_id"},
		Decides: []string{"digest", "created_at", "expires_at"}}
	SealedChoices = &SealedTable{Name: "sign_on_choices", Keys: []string{"digest"},
		Decides: []string{"issuer", "subject", "email", "expires_at"}}
	SealedPending = &SealedTable{Name: "pending_logins", Keys: []string{"digest"},
		Decides: []string{"account_id", "user_id", "means", "expires_at", "issuer", "subject"}}
	SealedSubjects = &SealedTable{Name: "sign_on_subjects", Keys: []string{"account_id", "user_id"},
		Decides: []string{"issuer", "subject", "linked_at"}}
	SealedCodes = &SealedTable{Name: "recovery_codes", Keys: []string{"account_id", "user_id", "digest"},
		Live: "used_at is null"}

	SealedOperators = &SealedTable{Name: "operators", Keys: []string{"id"},
		Decides: []string{"email", "password_hash", "enrolment", "enrolment_expires_at", "created_at", "enrolled_at",
			"disabled_at"}}
	SealedOperatorSessions = &SealedTable{Name: "operator_sessions", Keys: []string{"digest"},
		Decides: []string{"operator_id", "created_at", "expires_at"}}
	SealedOperatorCodes = &SealedTable{Name: "operator_recovery_codes", Keys: []string{"operator_id", "digest"},
		Live: "used_at is null"}

	SealedKeys = &SealedTable{Name: "sealing_keys", Keys: []string{"id"}, Decides: []string{"recorded_at", "retired_at"}}

	SealedTables = []*SealedTable{
		SealedAccounts, SealedTenants, SealedUsers, SealedTokens, SealedAPIKeys, SealedInvitations, SealedResets,
		SealedProofs, SealedChoices, SealedPending, SealedSubjects, SealedCodes, SealedOperators, SealedOperatorSessions,
		SealedOperatorCodes, SealedKeys,
	}
)

// Columns returns the columns of a row with an alias of the table, as [SealedRecord.Into] receives them. It leaves out
// those that the caller knows, because the condition of its query says what they are.
func (s *SealedTable) Columns(alias string, known ...string) string {
	var out strings.Builder
	for n := range len(s.Keys) + len(s.Decides) {
		if column := s.column(n); !slices.Contains(known, column) {
			out.WriteString(alias + "." + column + ", ")
		}
	}
	return out.String() + alias + ".seal"
}

// where returns the condition on the primary key, whose parameters begin with the number first.
func (s *SealedTable) where(first int) string {
	var conditions []string
	for n, key := range s.Keys {
		conditions = append(conditions, key+" = "+sqldb.Parameter(first+n))
	}
	return strings.Join(conditions, " and ")
}

// NeedsSeal returns the condition that a row needs a seal.
func (s *SealedTable) NeedsSeal() string {
	if s.Live == "" {
		return "1 = 1"
	}
	return s.Live
}

// Row names a row by the values of its primary key.
func (s *SealedTable) Row(key ...any) SealedKey { return SealedKey{s, key} }

// SealedKey names a row of a sealed table.
type SealedKey struct {
	table *SealedTable
	key   []any
}

// SealedRecord is a row of a sealed table as it was read.
type SealedRecord struct {
	table  *SealedTable
	values []any // of the primary key and the columns that decide
	Seal   []byte
}

// Record returns an empty row of the table, for [SealedRecord.Into].
func (s *SealedTable) Record() *SealedRecord {
	return &SealedRecord{table: s, values: make([]any, len(s.Keys)+len(s.Decides))}
}

// Into returns where [SealedTable.Columns] are scanned. A known column is null until [SealedRecord.set].
func (r *SealedRecord) Into(known ...string) []any {
	out := make([]any, 0, len(r.values)+1)
	for n := range r.values {
		if len(known) == 0 || !slices.Contains(known, r.table.column(n)) {
			out = append(out, &r.values[n])
		}
	}
	return append(out, &r.Seal)
}

// column returns the name of a column by its place in the values of records.
func (s *SealedTable) column(n int) string {
	if n < len(s.Keys) {
		return s.Keys[n]
	}
	return s.Decides[n-len(s.Keys)]
}

// value returns where the value of a column is, which the table must have.
func (r *SealedRecord) value(column string) *any {
	for n := range r.values {
		if r.table.column(n) == column {
			return &r.values[n]
		}
	}
	panic("ledger: the seals of " + r.table.Name + " do not cover " + column)
}

// set sets a known column.
func (r *SealedRecord) set(column string, value any) { *r.value(column) = value }

// text, number and id return the value of a column, or the zero value if it has another type, which no row has that
// acts.
func (r *SealedRecord) text(column string) string {
	text, _ := (*r.value(column)).(string)
	return text
}

func (r *SealedRecord) number(column string) int64 {
	number, _ := (*r.value(column)).(int64)
	return number
}

func (r *SealedRecord) id(column string) (id ID) {
	if value, ok := (*r.value(column)).([]byte); ok && len(value) == len(id) {
		id = ID(value)
	}
	return id
}

// ScanRecord reads columns of a table.
func (s *SealedTable) ScanRecord(row Row) (*SealedRecord, error) {
	r := s.Record()
	return r, row.Scan(r.Into()...)
}

// Key returns the primary key.
func (r *SealedRecord) Key() []any { return r.values[:len(r.table.Keys)] }

// columnText encodes a value of a column, so that no two values of any types have the same text.
func columnText(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case int64:
		return "number " + strconv.FormatInt(value, 10)
	case string:
		return "text " + value
	case []byte:
		return "bytes " + string(value)
	default:
		return fmt.Sprintf("%T %v", value, value) // the service writes no other
	}
}

// binding returns what the seal of the row authenticates. The parts are preceded by their lengths there.
func (r *SealedRecord) binding() secret.Binding {
	at := secret.Binding{Table: r.table.Name, Column: "seal", Bound: make([]string, 0, len(r.values))}
	for n, value := range r.values {
		text := columnText(value)
		at.Bound = append(at.Bound, text)
		if n < len(r.table.Keys) {
			at.Row = append(binary.BigEndian.AppendUint64(at.Row, uint64(len(text))), text...)
		}
	}
	return at
}

// Sealed reports whether the row has the right seal.
func (r *SealedRecord) Sealed(keys *Sealer) bool {
	if len(r.Seal) == 0 {
		return false
	}
	text, err := keys.Open(r.Seal, r.binding())
	return err == nil && len(text) == 0
}

// Name names the row for logs and faults. It gives away no secret: the digest of a session or a code is shortened.
func (r *SealedRecord) Name() string {
	var parts []string
	for _, value := range r.Key() {
		switch value := value.(type) {
		case []byte:
			if len(value) == len(ID{}) {
				parts = append(parts, ID(value).String())
			} else {
				parts = append(parts, fmt.Sprintf("%x…", value[:min(len(value), RecordPrefix)]))
			}
		default:
			parts = append(parts, fmt.Sprint(value))
		}
	}
	return strings.Join(parts, "/")
}

// Acts reports whether rows have the right seals. It logs the first that has not, and counts it. In a database that a
// server of an earlier release may still use, all rows act.
func (db *DB) Acts(ctx context.Context, rows ...*SealedRecord) bool {
	if !db.keys.Access.Load() {
		return true
	}
	for _, r := range rows {
		if !r.Sealed(db.keys) {
			db.keys.Changed.Add(1)
			db.log.ErrorContext(ctx, "a row does not act: it was written or changed outside of the service",
				"table", r.table.Name, "row", r.Name())
			return false
		}
	}
	return true
}

// Acting returns [sql.ErrNoRows] instead of nil if a row that was read has no right seal.
func (db *DB) Acting(ctx context.Context, err error, rows ...*SealedRecord) error {
	if err == nil && !db.Acts(ctx, rows...) {
		return sql.ErrNoRows
	}
	return err
}

// readSealed reads and locks a row. It returns nil if there is none.
func (t *Tx) readSealed(ctx context.Context, row SealedKey) (*SealedRecord, error) {
	r, err := row.table.ScanRecord(t.QueryRowContext(ctx,
		`select `+row.table.Columns(row.table.Name)+` from `+row.table.Name+
			` where `+row.table.where(1)+t.DB.dialect.ForUpdate(), row.key...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // there is none
	}
	return r, err
}

// CheckSealed returns [sql.ErrNoRows] if a row is missing or does not act. It locks the row.
func (t *Tx) CheckSealed(ctx context.Context, row SealedKey) error {
	r, err := t.readSealed(ctx, row)
	if err == nil && r == nil {
		err = sql.ErrNoRows
	}
	if err != nil {
		return err
	}
	return t.DB.Acting(ctx, nil, r)
}

// InsertSealed runs a statement that inserts the row, and seals it. It returns how many rows the statement inserted.
func (t *Tx) InsertSealed(ctx context.Context, row SealedKey, statement string, args ...any) (int64, error) {
	n, err := t.Exec(ctx, statement, args...)
	if err != nil || n == 0 {
		return n, err
	}
	return n, t.sealRow(ctx, row, nil)
}

// ChangeSealed runs a statement that changes the row, and seals it again. It does neither if the row does not act, and
// returns [sql.ErrNoRows] then, so that no change makes what somebody else wrote valid. It returns how many rows the
// statement changed.
func (t *Tx) ChangeSealed(ctx context.Context, row SealedKey, statement string, args ...any) (int64, error) {
	before, err := t.readSealed(ctx, row)
	if err != nil || before == nil {
		return 0, err
	}
	if err := t.DB.Acting(ctx, nil, before); err != nil {
		return 0, err
	}
	n, err := t.Exec(ctx, statement, args...)
	if err != nil || n == 0 {
		return n, err
	}
	return n, t.sealRow(ctx, row, before)
}

// sealRow seals a row as it is now. before is the row as it was, or nil.
func (t *Tx) sealRow(ctx context.Context, row SealedKey, before *SealedRecord) error {
	r, err := t.readSealed(ctx, row)
	if err != nil || r == nil {
		return err
	}
	if row.table == SealedTenants {
		t.Defer(tenantChange{before, r})
	}
	return t.WriteSeal(ctx, r)
}

// WriteSeal seals a row that the transaction has locked.
func (t *Tx) WriteSeal(ctx context.Context, r *SealedRecord) error {
	sealed, err := t.DB.keys.Seal(nil, r.binding())
	if err != nil {
		return err
	}
	r.Seal = sealed
	return t.ExecDeferred(ctx, `update `+r.table.Name+` set seal = $1 where `+r.table.where(2),
		append([]any{sealed}, r.Key()...)...)
}
