package identity

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"quittance/internal/ledger/base"
)

// settingVerification is when the evidence of the whole database was verified last, in microseconds, and the number of
// faults, with a space between them. It is one setting, so that the two belong to the same run.
const settingVerification = "evidence_verified"

// Verification is a verification of the evidence of the whole database that has come to its end.
type Verification struct {
	At     time.Time
	Faults int
}

// RecordVerification records that the evidence of the whole database was verified, for [LastVerification].
func RecordVerification(ctx context.Context, db *base.DB, faults int) error {
	return db.Write(ctx, "record verification", func(ctx context.Context, t *base.Tx) error {
		_, err := t.Exec(ctx,
			`insert into settings (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value`,
			settingVerification, strconv.FormatInt(base.Micros(t.Now()), 10)+" "+strconv.Itoa(faults))
		return err
	})
}

// LastVerification returns the last verification that was recorded, or [base.ErrNotFound] if there is none.
func LastVerification(ctx context.Context, db *base.DB) (Verification, error) {
	var text string
	if err := db.Querier().QueryRowContext(ctx, `select value from settings where key = $1`,
		settingVerification).Scan(&text); err != nil {
		return Verification{}, db.Classify(err)
	}
	at, faults, _ := strings.Cut(text, " ")
	us, atErr := strconv.ParseInt(at, 10, 64)
	found, faultsErr := strconv.Atoi(faults)
	if err := errors.Join(atErr, faultsErr); err != nil {
		return Verification{}, fmt.Errorf("the setting %s: %w", settingVerification, err)
	}
	return Verification{At: base.Instant(us), Faults: found}, nil
}
