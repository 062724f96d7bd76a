package db

import (
	"database/sql"
	"time"
)

// Pool has the numbers of a pool of connections to the database.
type Pool struct {
	// Name says what the connections are for: all, or on SQLite writes, reads or lists.
	Name string
	// Limit is the largest number of connections, InUse how many are in use.
	Limit, InUse int
	// Waits is how many times somebody has waited for a connection since the start, and Waited for how long altogether.
	Waits  int64
	Waited time.Duration
}

// Pools returns the numbers of the pools of connections.
func (d *DB) Pools() []Pool { return d.engine.pools() }

func (e *postgresEngine) pools() []Pool {
	now := e.pool.Stat()
	return []Pool{{Name: "all", Limit: int(now.MaxConns()), InUse: int(now.AcquiredConns()),
		Waits: now.EmptyAcquireCount(), Waited: now.EmptyAcquireWaitTime()}}
}

func (e *sqliteEngine) pools() []Pool {
	read := func(name string, pool *sql.DB) Pool {
		now := pool.Stats()
		return Pool{Name: name, Limit: now.MaxOpenConnections, InUse: now.InUse, Waits: now.WaitCount,
			Waited: now.WaitDuration}
	}
	return []Pool{read("writes", e.writer), read("reads", e.readers), read("lists", e.lists)}
}
