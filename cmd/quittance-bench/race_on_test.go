//go:build race

package main

// buildFlags are the flags with which the tests build the program that they measure: with the race detector, like the
// tests themselves.
var buildFlags = []string{"-race"}
