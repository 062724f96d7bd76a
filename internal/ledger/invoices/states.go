package invoices

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
)

// Origin is where a state value was read: the retained response, and when it was received.
type Origin struct {
	Evidence   base.ID
	ReportedAt time.Time
}

// stateRow is a row of the table states, with the text of each value.
type stateRow struct {
	Dimension  invoice.Dimension
	Word       string
	Terminal   string
	Meaning    api.Meaning
	ChangedAt  string
	EvidenceID string
}

// statesColumn returns the rows of the states of a submission as one column for [restoreStates]: a JSON array of
// [stateRow], null without any. One statement reads a submission and its states, so that they agree with each other. A
// value that is not of the type of its column, which SQLite would store, becomes text, so that the statement does not
// fail.
func statesColumn(db *base.DB) string {
	return `(select ` + db.Dialect().JSONRows("Dimension", "w.dimension || ''", "Word", "w.word || ''",
		"Terminal", "w.terminal || ''", "Meaning", "coalesce(w.meaning || '', '')",
		"ChangedAt", "w.changed_at || ''", "EvidenceID", db.Dialect().Hex("w.evidence_id")) +
		` from states w where w.tenant_id = submissions.tenant_id and w.submission_id = submissions.id)`
}

// restoreStates reads the states in the form of [statesColumn].
func restoreStates(rows []byte) (invoice.States, map[invoice.Dimension]Origin, error) {
	if len(rows) == 0 {
		return invoice.States{}, nil, nil
	}
	var read []stateRow
	if err := jsonv2.Unmarshal(rows, &read); err != nil || len(read) == 0 {
		return invoice.States{}, nil, err
	}
	words := make(map[invoice.Dimension]invoice.StoredState, len(invoice.Dimensions))
	origins := make(map[invoice.Dimension]Origin, len(invoice.Dimensions))
	for _, row := range read {
		at, err := strconv.ParseInt(row.ChangedAt, 10, 64)
		if err != nil {
			return invoice.States{}, nil, fmt.Errorf("time of a state: %w", err)
		}
		from := Origin{ReportedAt: base.Instant(at)}
		if len(row.EvidenceID) != hex.EncodedLen(len(from.Evidence)) || row.Terminal != "0" && row.Terminal != "1" {
			return invoice.States{}, nil, errors.New("no flag, or no identifier")
		}
		if _, err := hex.Decode(from.Evidence[:], []byte(row.EvidenceID)); err != nil {
			return invoice.States{}, nil, err
		}
		if !slices.Contains(invoice.Dimensions[:], row.Dimension) {
			return invoice.States{}, nil, errors.New("no dimension")
		}
		words[row.Dimension] = invoice.StoredState{Value: row.Word, Terminal: row.Terminal == "1", Meaning: row.Meaning}
		origins[row.Dimension] = from
	}
	return invoice.RestoreStates(words), origins, nil
}
