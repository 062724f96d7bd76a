package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"quittance/internal/platform/files"
)

// errDiskNearlyFull says that the file system of the database has less free space than --min-free-bytes.
var errDiskNearlyFull = errors.New("the file system of the database is nearly full")

// disk is the file system of a SQLite database. Small writes still succeed on one that is nearly full, and larger ones
// of customers fail. It is safe for concurrent use.
type disk struct {
	free  func() (int64, error) // bytes that the process may use
	least int64
	log   *slog.Logger

	mu   sync.Mutex
	told bool // whether the last line says that it is nearly full
}

// newDisk returns the file system of a database; nil for one on a server.
func newDisk(database string, least int64, log *slog.Logger) *disk {
	path, isFile := strings.CutPrefix(database, "sqlite:")
	if !isFile {
		return nil
	}
	return &disk{free: func() (int64, error) { return files.FreeBytes(filepath.Dir(path)) }, least: least, log: log}
}

// check returns [errDiskNearlyFull] while less space is free than there must be, and logs when that begins and ends. A
// file system that does not say what is free is not judged.
func (d *disk) check(ctx context.Context) error {
	if d == nil {
		return nil
	}
	free, err := d.free()
	full := err == nil && free < d.least
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case full && !d.told:
		d.log.ErrorContext(ctx, "the file system of the database is nearly full: the server is not ready until space is free",
			"free_bytes", free, "min_free_bytes", d.least)
	case !full && d.told:
		d.log.InfoContext(ctx, "the file system of the database has free space again", "free_bytes", free)
	}
	if d.told = full; full {
		return fmt.Errorf("%w: %d bytes are free, and --min-free-bytes is %d", errDiskNearlyFull, free, d.least)
	}
	return nil
}

// observe registers a gauge for the free space.
func (d *disk) observe(m *metrics) {
	if d == nil {
		return
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "quittance_disk_free_bytes",
		Help: "Free bytes of the file system of a SQLite database; -1 if it does not say."}, func() float64 {
		free, err := d.free()
		if err != nil {
			return -1
		}
		return float64(free)
	}))
}
