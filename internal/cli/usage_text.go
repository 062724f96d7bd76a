package cli

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// help prints the help of the whole program.
func help(parser *kong.Kong) error {
	nothing, err := kong.Trace(parser, nil)
	if err != nil {
		return err
	}
	return nothing.PrintUsage(false)
}

// printHelp prints the help as kong does, but shows mutually exclusive required flags as alternatives.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	var choice []string
	if command := ctx.Selected(); command != nil {
		for _, flag := range command.Flags {
			if flag.Required && len(flag.Xor) > 0 {
				choice = append(choice, "--"+flag.Name)
			}
		}
	}
	if len(choice) < 2 {
		return kong.DefaultHelpPrinter(options, ctx)
	}
	stdout := ctx.Stdout
	var text strings.Builder
	ctx.Stdout = &text
	err := kong.DefaultHelpPrinter(options, ctx)
	ctx.Stdout = stdout
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, strings.Replace(text.String(), strings.Join(choice, " "),
		"("+strings.Join(choice, " | ")+")", 1))
	return err
}

// choice is one of the values listed in the tag "choices" of its flag, or "" if the flag is absent.
type choice string

// Decode implements [kong.MapperValue].
func (c *choice) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("value", &text); err != nil {
		return err
	}
	choices := strings.Split(ctx.Value.Tag.Get("choices"), ",")
	if text != "" && !slices.Contains(choices, text) {
		return fmt.Errorf("must be one of %s but got %q", strings.Join(choices, ", "), text)
	}
	*c = choice(text)
	return nil
}

// inputName returns the name of an input file for error messages: "-" is standard input.
func inputName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// withoutEmpty removes nil errors and empty texts from a log line.
func withoutEmpty(_ []string, a slog.Attr) slog.Attr {
	if kind := a.Value.Kind(); kind == slog.KindAny && a.Value.Any() == nil || kind == slog.KindString &&
		a.Value.String() == "" {
		return slog.Attr{}
	}
	return a
}
