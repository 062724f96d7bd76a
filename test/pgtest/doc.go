// Package pgtest gives tests a private PostgreSQL server.
//
// A cluster has its own temporary directory and listens only on a unix socket in it, so tests need no port, no password
// and no system service, and change nothing outside that directory. It cannot outlive the process that started it: when
// that process ends, even if it is killed, the server ends and the directory is removed.
//
// A package with tests on PostgreSQL calls [Run] in its TestMain, calls [Enabled] to choose its engines, and creates
// one empty database per test with [URL]. Tests that stop the server use [Start] and a [Cluster]. The command
// cmd/pgcluster starts one cluster for a whole "go test ./...". Start reading at [Start].
package pgtest
