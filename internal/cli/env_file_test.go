package cli

import (
	"errors"
	"slices"
	"testing"
)

// TestParseEnvFile checks the values that systemd reads from the same lines.
func TestParseEnvFile(t *testing.T) {
	for text, want := range map[string][]envSetting{
		"":                                    nil,
		"\n# A=1\n  ; B=2\n\n":                nil,
		"A=1\nB=2":                            {{"A", "1"}, {"B", "2"}},
		"A=\r\nB= x \t\r\n":                   {{"A", ""}, {"B", "x"}},
		"\ufeffA=1\r\nB=2\r\n":                {{"A", "1"}, {"B", "2"}},
		"URL=postgres://u:p%40@h/d?a=b&c=d#e": {{"URL", "postgres://u:p%40@h/d?a=b&c=d#e"}},
		"FROM=Quittance <a@b.example>":        {{"FROM", "Quittance <a@b.example>"}},
		"A=$HOME `id` $(id); x | y":           {{"A", "$HOME `id` $(id); x | y"}},
		`A="two words " # not a comment`:      {{"A", "two words  # not a comment"}},
		`A='a "b" \n $c'`:                     {{"A", `a "b" \n $c`}},
		`A="a \"b\" \\ \$c \n"`:               {{"A", `a "b" \ $c \n`}},
		`A=a\ b\\c\"`:                         {{"A", `a b\c"`}},
		"A=one \\\n two\nB=2":                 {{"A", "one  two"}, {"B", "2"}},
		"A=\"one\ntwo\"\nB=2":                 {{"A", "one\ntwo"}, {"B", "2"}},
		" A = 1\nA=2":                         {{"A", "2"}, {"A", "2"}},
	} {
		if got, err := parseEnvFile(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]error{"A=1\nsecret\n": errEnvLine, "export A=1": errEnvLine, "1A=2": errEnvLine,
		"=2": errEnvLine, "A='x\nB=2\n": errEnvQuote, `A="x\"`: errEnvQuote} {
		if got, err := parseEnvFile(text); !errors.Is(err, want) {
			t.Errorf("%q: %q, %v; want %v", text, got, err, want)
		}
	}
}
