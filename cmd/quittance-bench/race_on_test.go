//go:build race

package main

// buildFlags are the flags with which the tests build the program that they measure: with the race detector, like the
// tests themselves, which the Makefile builds without it for the C code of SQLite.
var buildFlags = []string{"-race", "-gcflags=modernc.org/sqlite/lib=-race=false", "-gcflags=modernc.org/libc/...=-race=false", "-gcflags=modernc.org/memory=-race=false"}
