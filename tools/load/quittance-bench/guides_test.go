package main

import (
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quittance"
)

// TestGuideFlags checks that every flag and measurement of this program that the guides mention exists: in the document
// about benchmarks, in the section "Measure it" of docs/ops/scaling.md, and behind the name of the program anywhere.
func TestGuideFlags(t *testing.T) {
	flags := []string{"--help", "--rate-limit"} // the latter is a flag of the measured server
	var commands []string
	for _, leaf := range newParser(t, io.Discard).Model.Leaves(false) {
		commands = append(commands, leaf.Path())
		for _, group := range leaf.AllFlags(false) {
			for _, flag := range group {
				flags = append(flags, "--"+flag.Name)
			}
		}
	}
	section := regexp.MustCompile("(?s)## Measure it\n.*?(\n## |$)")
	files, err := fs.Glob(quittance.Documents(), "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ops, err := fs.Glob(quittance.Documents(), "docs/ops/*.md")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, ops...)
	seen := 0
	for _, file := range files {
		text, err := fs.ReadFile(quittance.Documents(), file)
		if err != nil {
			t.Fatal(err)
		}
		about := section.FindString(string(text))
		for _, code := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(text), -1) {
			words := strings.Fields(code[1])
			named := words[0] == name
			if named && len(words) > 1 && !slices.Contains(commands, words[1]) && !slices.Contains(flags, words[1]) {
				t.Errorf("%s: there is no measurement %q", file, words[1])
			}
			if !named && file != "docs/benchmarks.md" && !strings.Contains(about, code[0]) {
				continue
			}
			for _, word := range words {
				if strings.HasPrefix(word, "--") {
					seen++
					if !slices.Contains(flags, word) {
						t.Errorf("%s: there is no flag %s", file, word)
					}
				}
			}
		}
	}
	if seen < 15 {
		t.Errorf("only %d flags were checked", seen)
	}
}
