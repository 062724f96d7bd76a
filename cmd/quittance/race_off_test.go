//go:build !race

package main

// memoryFactor is how many times as much memory a process may have as usual.
const memoryFactor = 1
