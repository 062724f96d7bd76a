package base

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ServerTimeout is how long after its last registration a server counts as stopped.
const ServerTimeout = 35 * time.Second

// Server is a running server as it registered itself.
type Server struct {
	// ID is new at each start.
	ID ID
	// Name identifies the process for people.
	Name, Version string
	// Role is all, api or worker.
	Role string
	// Keys are the numbers of the keys that it has loaded; PrimaryKey is the one that it seals with.
	Keys       []uint32
	PrimaryKey uint32
	StartedAt  time.Time
	SeenAt     time.Time
}

// NewServer returns the entry of a server that starts now, for [DB.RegisterServer].
func (db *DB) NewServer(name, version, role string) (Server, error) {
	id, err := NewID(db.Now(), db.random)
	return Server{ID: id, Name: name, Version: version, Role: role, StartedAt: db.Now()}, err
}

// RegisterServer records that a server is running and which keys it has loaded, for other processes. Servers call it
// again well within [ServerTimeout], and at once when their keys change. It returns a [*KeyError] when the server lacks
// a key of the database.
func (db *DB) RegisterServer(ctx context.Context, s Server) error {
	return db.Write(ctx, "announce server", func(ctx context.Context, t *Tx) error {
		// Locked, so that no other process promotes a key in the meantime that this server lacks.
		records, err := t.LockedKeyRecords(ctx)
		if err != nil {
			return err
		}
		keys, err := db.keys.Current()
		if err != nil {
			return err
		}
		if _, _, err := records.Fit(keys); err != nil {
			return err
		}
		var loaded []string
		for _, key := range keys.List() {
			if keys.Holds(key.ID) {
				loaded = append(loaded, strconv.FormatUint(uint64(key.ID), 10))
			}
		}
		_, err = t.Exec(ctx,
			`insert into servers (id, name, version, role, keys, primary_key, started_at, seen_at) values ($1, $2, $3, $4, $5, $6, $7, $8)
			on conflict (id) do update set keys = excluded.keys, primary_key = excluded.primary_key, seen_at = excluded.seen_at`,
			s.ID, s.Name, s.Version, s.Role, strings.Join(loaded, ","), int64(keys.PrimaryID()), Micros(s.StartedAt),
			Micros(t.Now()))
		return err
	})
}

// UnregisterServer removes the registration of a server that stops, and those of servers that stopped long ago.
func (db *DB) UnregisterServer(ctx context.Context, s Server) error {
	return db.Write(ctx, "withdraw server", func(ctx context.Context, t *Tx) error {
		_, err := t.Exec(ctx, `delete from servers where id = $1 or seen_at < $2`, s.ID, Micros(t.Now().Add(-24*time.Hour)))
		return err
	})
}

// Servers returns the servers that are running on this database, by name.
func (db *DB) Servers(ctx context.Context) ([]Server, error) {
	found, err := db.servers(ctx, db.reader)
	return found, db.Classify(err)
}

// Servers returns the running servers, as [DB.Servers] does.
func (t *Tx) Servers(ctx context.Context) ([]Server, error) { return t.DB.servers(ctx, t) }

func (db *DB) servers(ctx context.Context, q Querier) ([]Server, error) {
	return Collect(ctx, q, func(row Row) (Server, error) {
		var s Server
		var keys string
		var primary, started, seen int64
		if err := row.Scan(&s.ID, &s.Name, &s.Version, &s.Role, &keys, &primary, &started, &seen); err != nil {
			return Server{}, err
		}
		s.PrimaryKey, s.StartedAt, s.SeenAt = uint32(primary), Instant(started), Instant(seen) //nolint:gosec // it was written from one
		for text := range strings.SplitSeq(keys, ",") {
			id, err := strconv.ParseUint(text, 10, 32)
			if err != nil {
				return Server{}, err
			}
			s.Keys = append(s.Keys, uint32(id))
		}
		slices.Sort(s.Keys)
		return s, nil
	}, `select id, name, version, role, keys, primary_key, started_at, seen_at from servers where seen_at > $1 order by name, id`,
		Micros(db.Now().Add(-ServerTimeout)))
}
