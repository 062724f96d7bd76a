package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// position is how far a listener is: it has read the feed after the cursor After and forwarded some of these events. It
// is written before each request and after its response, so that a later run knows which event may have been forwarded
// and which certainly were.
type position struct {
	// Run identifies the run that has written it.
	Run string `json:"run"`
	// Server and AccountID say whose feed it is: when a login ends, the positions of other ones stay. They are absent
	// until a run of this version has written the file.
	Server    string `json:"server,omitempty"`
	AccountID string `json:"account_id,omitempty"`
	// After is the cursor before the page of the last event.
	After string `json:"after"`
	// Since is the time before which events are passed over; zero for none.
	Since time.Time `json:"since,omitzero"`
	// Answered are the identifiers of the events of this page that were answered or not wanted.
	Answered []string `json:"answered"`
	// InFlight is the identifier of the event that is being forwarded; empty if there is none.
	InFlight string `json:"in_flight,omitempty"`
}

// errDamaged reports a position that no run has written.
var errDamaged = errors.New("is damaged: --from start or --from TIME begins anew")

// readPosition returns the position of the last run; the zero position if there is none.
func readPosition(path string) (p position, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("position of the last run: %w", err)
	}
	// The error of the decoder is about types of this program, which would not help anybody.
	if json.Unmarshal(text, &p) != nil || p.Run == "" {
		return position{}, damaged(path)
	}
	return p, nil
}

func damaged(path string) error {
	return fmt.Errorf("position of the last run: %s %w", path, errDamaged)
}

// positions returns the directory with the positions of the listeners of a profile.
func (d profiles) positions(name string) string { return filepath.Join(string(d), "listen", name) }

// removePositions removes the positions in the feed of a profile: those of its server and company. Other ones can be
// under the same name, because every sandbox has the same one.
func (d profiles) removePositions(p Profile) error {
	if p.URL == "" {
		return nil // a profile that cannot be read
	}
	files, err := filepath.Glob(filepath.Join(d.positions(p.Name), "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		// A file that cannot be read stays: nobody knows whose it is.
		if at, failed := readPosition(file); failed == nil && at.Server == p.URL && at.AccountID == p.AccountID {
			if removed := os.Remove(file); !errors.Is(removed, fs.ErrNotExist) {
				err = errors.Join(err, removed)
			}
		}
	}
	return err
}
