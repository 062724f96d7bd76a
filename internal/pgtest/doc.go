// Package pgtest gives tests a private PostgreSQL server.
//
// A cluster lives in a temporary directory of its own and listens on a unix socket there and nowhere else, so tests
// need no port, no password and no system service, and nothing outside that directory is touched. It cannot outlive the
// process that started it: when that process dies, killed or not, the server ends and the directory goes away.
//
// A package with tests on PostgreSQL calls [Run] in its TestMain, asks [Enabled] where it chooses the engines to run on,
// and takes one empty database per test with [URL]. Tests that break the server itself use [Start] and a [Cluster].
// The command cmd/pgcluster starts one cluster for a whole "go test ./...". Start reading at [Start].
package pgtest
