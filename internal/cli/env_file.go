package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// envFileFlag and envFileVariable name a file of settings.
const (
	envFileFlag     = "--env-file"
	envFileVariable = "QUITTANCE_ENV_FILE"
)

// loadEnvFile sets the variables of the file that the arguments or the environment name, except those that the
// environment has already. It runs before the arguments are parsed, because flags take their defaults from the
// environment.
func loadEnvFile(args []string) error {
	path := os.Getenv(envFileVariable)
	for n, arg := range args {
		if arg == "--" {
			break
		}
		if value, found := strings.CutPrefix(arg, envFileFlag+"="); found {
			path = value
		} else if arg == envFileFlag && n+1 < len(args) {
			path = args[n+1]
		}
	}
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path) //nolint:gosec // the file that the operator names
	if err != nil {
		return fmt.Errorf("%s: %w", envFileFlag, err)
	}
	settings, err := parseEnvFile(string(text))
	if err != nil {
		return fmt.Errorf("%s: %s: %w", envFileFlag, path, err)
	}
	for _, s := range settings {
		if _, set := os.LookupEnv(s.name); set {
			continue
		}
		if err := os.Setenv(s.name, s.value); err != nil {
			return fmt.Errorf("%s: %s: %s: %w", envFileFlag, path, s.name, err)
		}
	}
	return nil
}

// envSetting is a variable of a file of settings.
type envSetting struct{ name, value string }

// The errors of a file of settings, which do not quote it: it can contain passwords.
var (
	errEnvLine  = errors.New("want NAME=VALUE")
	errEnvQuote = errors.New("a quotation mark is not closed")
)

// parseEnvFile reads a file as systemd reads an EnvironmentFile (systemd.exec(5)), so that one file serves a unit and
// commands: lines NAME=VALUE, and comments that begin with # or ;. A value has no special characters but quotation
// marks and the backslash. The last of several lines for one variable counts.
func parseEnvFile(text string) (settings []envSetting, err error) {
	line := 1
	text = strings.TrimPrefix(text, "\ufeff") // which editors on Windows write
	for text != "" {
		text = strings.TrimLeft(text, " \t\r")
		at := line
		if text == "" {
			break
		}
		if text[0] == '\n' || text[0] == '#' || text[0] == ';' {
			_, text, _ = strings.Cut(text, "\n")
			line++
			continue
		}
		name, rest, found := strings.Cut(text, "=")
		if name = strings.TrimRight(name, " \t"); !found || !isVariable(name) {
			return nil, fmt.Errorf("line %d: %w", at, errEnvLine)
		}
		value, length, closed := envValue(rest)
		if !closed {
			return nil, fmt.Errorf("line %d: %w", at, errEnvQuote)
		}
		settings = append(settings, envSetting{name, value})
		line += strings.Count(rest[:length], "\n")
		text = rest[length:]
	}
	last := map[string]string{}
	for _, s := range settings {
		last[s.name] = s.value
	}
	for n := range settings {
		settings[n].value = last[settings[n].name]
	}
	return settings, nil
}

// isVariable reports whether a text is the name of a variable.
func isVariable(name string) bool {
	for n, c := range []byte(name) {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (n == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// envValue reads the value at the beginning of text, up to and with the end of its line, which a backslash or quotation
// marks can postpone. Spaces around it do not count unless they are quoted. closed is false if a quotation mark is not
// closed.
func envValue(text string) (value string, length int, closed bool) {
	var out strings.Builder
	kept := 0 // the length of the value without unquoted spaces at its end
	var quote byte
	for n := 0; n < len(text); n++ {
		c := text[n]
		escaped := c == '\\' && quote != '\'' && n+1 < len(text)
		switch {
		case escaped && text[n+1] == '\n':
			n++
		case escaped && (quote == 0 || strings.IndexByte("\"\\`$", text[n+1]) >= 0):
			n++
			out.WriteByte(text[n])
			kept = out.Len()
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && c == '\n':
			return out.String()[:kept], n + 1, true
		case quote == 0 && strings.IndexByte(" \t\r", c) >= 0:
			if out.Len() > 0 {
				out.WriteByte(c)
			}
		default:
			out.WriteByte(c)
			kept = out.Len()
		}
	}
	return out.String()[:kept], len(text), quote == 0
}
