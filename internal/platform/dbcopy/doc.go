// Package dbcopy copies a whole database of package db while servers use it, and restores such a copy.
//
// A copy is streams of bytes and a description ([Copied]): what is done with the bytes (cut, compressed, sealed, sent
// to another place) is no concern of this package. On PostgreSQL a copy holds rows and nothing that PostgreSQL runs:
// a restore creates tables, triggers and functions with the migrations of this program, and loads rows into them. So
// who could write to the database or to the place of the copy cannot have code executed by a restore.
//
// Start reading at [Out] and [Restore].
package dbcopy
