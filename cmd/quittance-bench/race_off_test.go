//go:build !race

package main

// buildFlags returns the flags with which the tests build the program that they measure.
func buildFlags() ([]string, error) { return nil, nil }
