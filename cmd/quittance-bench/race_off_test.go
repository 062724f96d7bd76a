//go:build !race

package main

// buildFlags are the flags with which the tests build the program that they measure.
var buildFlags []string
