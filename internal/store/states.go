package store

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/invoice"
)

// Origin is where a state value was read: the retained response, and when it was received.
type Origin struct {
	Evidence   ID
	ReportedAt time.Time
}

// restoreStates reads the states in the form of submissionColumns: dimension, terminal, meaning, time, evidence and
// word.
func restoreStates(text string) (invoice.States, map[invoice.Dimension]Origin, error) {
	if text == "" {
		return invoice.States{}, nil, nil
	}
	words := make(map[invoice.Dimension]invoice.StoredState, len(invoice.Dimensions))
	origins := make(map[invoice.Dimension]Origin, len(invoice.Dimensions))
	for line := range strings.SplitSeq(text, "\n") {
		parts := strings.SplitN(line, " ", 6)
		if len(parts) < 6 {
			return invoice.States{}, nil, fmt.Errorf("%d parts", len(parts))
		}
		at, err := strconv.ParseInt(parts[3], 10, 64)
		if err != nil {
			return invoice.States{}, nil, err
		}
		from := Origin{ReportedAt: instant(at)}
		if len(parts[4]) != hex.EncodedLen(len(from.Evidence)) || parts[1] != "0" && parts[1] != "1" {
			return invoice.States{}, nil, errors.New("no flag, or no identifier")
		}
		if _, err := hex.Decode(from.Evidence[:], []byte(parts[4])); err != nil {
			return invoice.States{}, nil, err
		}
		dimension := invoice.Dimension(parts[0])
		if !slices.Contains(invoice.Dimensions[:], dimension) {
			return invoice.States{}, nil, errors.New("no dimension")
		}
		words[dimension] = invoice.StoredState{Value: parts[5], Terminal: parts[1] == "1", Meaning: api.Meaning(parts[2])}
		origins[dimension] = from
	}
	return invoice.RestoreStates(words), origins, nil
}
