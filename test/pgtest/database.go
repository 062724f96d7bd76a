package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
)

// dropTimeout bounds the removal of a database.
const dropTimeout = 5 * time.Minute

// NewDatabase creates an empty database. It returns its address, for pgx, and a function that removes it and breaks its
// open connections.
func (c *Cluster) NewDatabase(ctx context.Context) (address string, drop func() error, err error) {
	return newDatabase(ctx, c.URL(), "")
}

// newDatabase creates a database with a random name in the cluster of the database admin; see [createDatabase].
func newDatabase(ctx context.Context, admin, template string) (address string, drop func() error, err error) {
	name, err := newName()
	if err != nil {
		return "", nil, err
	}
	address, err = createDatabase(ctx, admin, name, template)
	return address, func() error { return dropDatabase(admin, name) }, err
}

// newName returns a random name for a database.
func newName() (string, error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", fmt.Errorf("choose a name for the database: %w", err)
	}
	return "test_" + hex.EncodeToString(random[:]), nil
}

// createDatabase creates a database in the cluster of the database admin and returns its address. The database is
// empty, or a copy of the database template, which must have no connections.
func createDatabase(ctx context.Context, admin, name, template string) (address string, err error) {
	parsed, err := url.Parse(admin)
	if err != nil {
		return "", fmt.Errorf("read the address of the cluster: %w", err)
	}
	statement := "CREATE DATABASE " + name
	if template != "" {
		statement += " TEMPLATE " + template
	}
	if err := execute(ctx, admin, statement); err != nil {
		return "", fmt.Errorf("make the database: %w", err)
	}
	parsed.Path = "/" + name
	return parsed.String(), nil
}

// dropDatabase removes a database and breaks its open connections. The name may follow IF EXISTS. It takes no context,
// because that of the test that asked for the database has ended when it is removed.
func dropDatabase(admin, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
	defer cancel()
	if err := execute(ctx, admin, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("remove the database: %w", err)
	}
	return nil
}

// execute runs one statement on its own connection.
func execute(ctx context.Context, address, statement string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}
