//go:build race

package main

import (
	"errors"
	"os"
	"strings"
)

// buildFlags returns the flags with which the tests build the program that they measure. Like the tests themselves, it has the
// race detector except in the packages that UNRACED in the Makefile lists.
func buildFlags() ([]string, error) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		return nil, err
	}
	_, rest, found := strings.Cut(string(makefile), "\nUNRACED := ")
	if !found {
		return nil, errors.New("the Makefile has no list UNRACED")
	}
	unraced, _, _ := strings.Cut(rest, "\n")
	flags := []string{"-race"}
	for name := range strings.FieldsSeq(unraced) {
		flags = append(flags, "-gcflags="+name+"=-race=false")
	}
	return flags, nil
}
