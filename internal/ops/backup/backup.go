// Package backup writes backups of the database to a place, a directory or a bucket of an S3-compatible store, and
// restores them.
//
// # What it promises
//
//   - A backup shows the whole database as of one moment, although servers run meanwhile.
//   - A backup is complete when its manifest exists, which is written last. One without a manifest is never restored.
//   - The manifest has the size and the SHA-256 digest of everything else, and is sealed with a key of the database. So
//     a place can withhold a backup, but what it has altered, shortened or exchanged is not restored: [Read] returns
//     [ErrDamaged].
//   - A backup contains no key. Whoever reads the place sees the business data, and nothing that the database has
//     sealed.
//   - Memory does not grow with the database.
//
// The manifest does not show that it is the latest one: a place that withholds the latest backup has an earlier one
// restored.
//
// # Layout
//
// A backup is a directory (in a bucket, a common prefix) whose name begins with the time:
// 20260131T220000.250Z-4f1c22ab. It contains manifest.json and the parts part-000001 and so on. The parts of a stream
// follow each other: a table of PostgreSQL in the text format of COPY, or the database file of SQLite, cut into pieces,
// each compressed with Zstandard.
//
// # Where to begin
//
// Read [Manifest], then [Write] and [Source.Read]. [Place] is what a directory (directory.go) and a bucket (s3.go) have
// in common.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The errors that callers distinguish.
var (
	// ErrNone says that a place has no complete backup, or none of that name.
	ErrNone = errors.New("no complete backup")
	// ErrDamaged says that a backup is not what was written: something is missing, shortened or altered.
	ErrDamaged = errors.New("the backup is damaged")
	// ErrMissing says that a place has no file of that name.
	ErrMissing = errors.New("no such file")
	// ErrSeveral says that a place has backups of several databases, so that the latest one may be of another than is
	// wanted.
	ErrSeveral = errors.New("there are backups of several databases, so name the one that you want")
)

// Place is where backups are. The name of a backup is one that [NewName] makes, that of a file is manifest.json or that
// of a part. Errors contain no credentials.
type Place interface {
	// String names the place for people, without credentials.
	String() string
	// Names returns the names of all backups, complete or not, in order.
	Names(ctx context.Context) ([]string, error)
	// Files returns the sizes of the files of a backup in bytes.
	Files(ctx context.Context, backup string) (map[string]int64, error)
	// Put writes a file whole or not at all, and returns when it is durable.
	Put(ctx context.Context, backup, file string, content []byte) error
	// Get returns a file. It returns [ErrMissing] if there is none, and [ErrDamaged] for one of more than most bytes.
	Get(ctx context.Context, backup, file string, most int64) ([]byte, error)
	// Remove removes files in the order given. A file that does not exist is no error.
	Remove(ctx context.Context, backup string, files []string) error
}

// manifestFile is the name of the file that makes a backup complete.
const manifestFile = "manifest.json"

// nameTime is the form of the time at the beginning of a name: in milliseconds, so that names are in the order of their
// backups.
const nameTime = "20060102T150405.000Z"

var (
	namePattern = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}\.[0-9]{3}Z-[0-9a-f]{8}$`)
	partPattern = regexp.MustCompile(`^part-[0-9]{6,}$`)
)

// NewName returns a new name for a backup that begins at a time. random is the source of its second half.
func NewName(at time.Time, random io.Reader) (string, error) {
	suffix := make([]byte, 4)
	if _, err := io.ReadFull(random, suffix); err != nil {
		return "", fmt.Errorf("name the backup: %w", err)
	}
	return fmt.Sprintf("%s-%x", at.UTC().Format(nameTime), suffix), nil
}

// began returns the time in a name.
func began(name string) (time.Time, error) {
	text, _, _ := strings.Cut(name, "-")
	return time.Parse(nameTime, text)
}

func partFile(number int) string { return fmt.Sprintf("part-%06d", number) }

// Entry is a backup in a list.
type Entry struct {
	Name string
	// Manifest is nil if the backup is incomplete: being written, or interrupted.
	Manifest *Manifest
	// Fault says why the manifest cannot be used; nil if it can.
	Fault error
}

// List returns all backups of a place, the latest last. open checks the manifests; see [Opener].
func List(ctx context.Context, place Place, open Opener) ([]Entry, error) {
	names, err := place.Names(ctx)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", place, err)
	}
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		manifest, err := readManifest(ctx, place, name, open)
		switch {
		case errors.Is(err, ErrMissing):
			entries = append(entries, Entry{Name: name})
		case errors.Is(err, ErrDamaged):
			entries = append(entries, Entry{Name: name, Fault: err})
		case err != nil:
			return nil, err
		default:
			entries = append(entries, Entry{Name: name, Manifest: manifest})
		}
	}
	return entries, nil
}

const (
	// abandonedAfter is how long after its beginning an incomplete backup counts as interrupted, so that [Retain] removes
	// its parts.
	abandonedAfter = 24 * time.Hour
	// completion bounds the time that [Write] takes for the manifest once all parts are written. It does not begin with
	// this later than that before abandonedAfter: the parts of a backup that becomes complete are never those that Retain
	// removes.
	completion = time.Hour
)

// Retained says what [Retain] did.
type Retained struct {
	// Removed are the names of the removed backups.
	Removed []string
	// Unread are the names of complete backups that are neither counted nor removed, because they are damaged, or because
	// the keys do not open them.
	Unread []string
	// Later are the names of backups of the same database that are later than the one just written: the clock was ahead.
	Later []string
}

// Retain removes all complete backups of a database but the latest keep, which is at least 1, and counts written, which
// was just written, as the latest. It neither counts nor removes those of other databases. It also removes the
// incomplete ones of all that began more than a day before now. The manifest goes first, so that what remains of an
// interrupted removal is incomplete.
func Retain(ctx context.Context, place Place, open Opener, written *Manifest, keep int,
	now time.Time) (done Retained, err error) {
	if keep < 1 {
		return Retained{}, errors.New("at least one backup must be kept")
	}
	entries, err := List(ctx, place, open)
	if err != nil {
		return Retained{}, err
	}
	kept := 1 // the one just written, whatever its name is
	for _, entry := range slices.Backward(entries) {
		switch m := entry.Manifest; {
		case entry.Fault != nil:
			done.Unread = append(done.Unread, entry.Name)
			continue
		case m != nil:
			if m.Database != written.Database || m.Name == written.Name {
				continue
			}
			if m.Name > written.Name {
				done.Later = append(done.Later, m.Name)
			}
			if kept++; kept <= keep {
				continue
			}
		default:
			if at, err := began(entry.Name); err != nil || now.Sub(at) < abandonedAfter {
				continue
			}
		}
		if err := remove(ctx, place, entry.Name); err != nil {
			return done, fmt.Errorf("remove the backup %s of %s: %w", entry.Name, place, err)
		}
		done.Removed = append(done.Removed, entry.Name)
	}
	return done, nil
}

// remove removes a backup, its manifest first.
func remove(ctx context.Context, place Place, name string) error {
	if err := place.Remove(ctx, name, []string{manifestFile}); err != nil {
		return err
	}
	files, err := place.Files(ctx, name)
	if err != nil {
		return err
	}
	var parts []string
	for file := range files {
		if partPattern.MatchString(file) {
			parts = append(parts, file)
		}
	}
	slices.Sort(parts)
	return place.Remove(ctx, name, parts)
}
