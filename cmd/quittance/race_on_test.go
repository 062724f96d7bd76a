//go:build race

package main

// memoryFactor is how many times as much memory a process may have as usual: the race detector keeps a shadow of it.
const memoryFactor = 3
