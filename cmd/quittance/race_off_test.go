//go:build !race

package main

// memoryFactor is the factor by which a process may exceed the usual memory limit.
const memoryFactor = 1
