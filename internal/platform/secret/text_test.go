package secret_test

import (
	"bytes"
	"database/sql/driver"
	"encoding"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"quittance/internal/platform/secret"
)

// canary is the secret that must not appear anywhere.
const canary = "canary-7Kq/2v+Zx"

// holder has a secret in the places where real code has one: exported, unexported, behind a pointer, in a list, in a
// map and in an interface.
type holder struct {
	Name    string
	Public  secret.Text
	private secret.Text
	pointer *secret.Text
	list    []secret.Text
	table   map[string]secret.Text
	any     any
	nested  struct{ deep secret.Text }
}

func newHolder() holder {
	text := secret.New(canary)
	h := holder{Name: "name", Public: text, private: text, pointer: &text, any: text}
	h.list = []secret.Text{text}
	h.table = map[string]secret.Text{"key": text}
	h.nested.deep = text
	return h
}

// assertHidden fails the test if out contains the canary in any form that a printer or an encoder could produce.
func assertHidden(t *testing.T, how, out string) {
	t.Helper()
	raw := []byte(canary)
	decimal := strings.Trim(fmt.Sprint(raw), "[]")
	forms := []string{
		canary, hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)), decimal,
		strings.ReplaceAll(decimal, " ", ", "), fmt.Sprintf("% x", raw), fmt.Sprintf("%#v", raw),
		fmt.Sprintf("%q", []rune(canary)), fmt.Sprintf("%U", []rune(canary)), base64.StdEncoding.EncodeToString(raw),
		base64.URLEncoding.EncodeToString(raw),
		strings.ReplaceAll(canary, "/", `\/`),
		strings.ReplaceAll(canary, "+", `\u002b`),
	}
	for _, form := range forms {
		if strings.Contains(out, form) {
			t.Errorf("%s shows the secret as %q: %s", how, form, out)
		}
	}
}

func TestTextPrintsNothingUnderEveryVerb(t *testing.T) {
	text, h := secret.New(canary), newHolder()
	values := map[string]any{"value": text, "pointer": &text, "holder": h, "holder pointer": &h, "list": h.list,
		"map": h.table, "error": fmt.Errorf("with %v", text)}
	for name, value := range values {
		for verb := rune('!'); verb <= '~'; verb++ {
			for _, flags := range []string{"", "+", "#", " ", "-", "0", "# ", "+#", "40", ".3", "#40.30"} {
				format := "%" + flags + string(verb)
				assertHidden(t, name+" "+format, fmt.Sprintf(format, value))
			}
		}
	}
	for _, got := range []string{fmt.Sprint(text), fmt.Sprintf("%q", text), fmt.Sprintf("%#v", text), text.String(),
		text.GoString(), fmt.Sprint(&text)} {
		if got != "[redacted]" {
			t.Errorf("printed %q, want [redacted]", got)
		}
	}
	assertHidden(t, "wrapped error", fmt.Errorf("login: %w", fmt.Errorf("%v", h)).Error())
}

func TestTextIsNotLogged(t *testing.T) {
	h := newHolder()
	handlers := map[string]func(io.Writer) slog.Handler{
		"text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
		"json": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
	}
	for name, handler := range handlers {
		var out bytes.Buffer
		logger := slog.New(handler(&out)).With("with", h.Public)
		logger.Info("message", "value", h.Public, "pointer", h.pointer, "holder", h, "holder pointer", &h, "list", h.list,
			"map", h.table, slog.Group("group", "value", h.Public), "error", fmt.Errorf("failed: %v", h))
		assertHidden(t, "slog "+name, out.String())
		if strings.Count(out.String(), "[redacted]") < 3 {
			t.Errorf("slog %s: the redaction is not visible: %s", name, out.String())
		}
	}
}

func TestTextIsNotEncoded(t *testing.T) {
	h, text := newHolder(), secret.New(canary)
	encoders := map[string]func(v any, w io.Writer) error{
		"encoding/json": func(v any, w io.Writer) error { return json.NewEncoder(w).Encode(v) },
		"json v2":       func(v any, w io.Writer) error { return jsonv2.MarshalWrite(w, v) },
		"gob":           func(v any, w io.Writer) error { return gob.NewEncoder(w).Encode(v) },
		"xml":           func(v any, w io.Writer) error { return xml.NewEncoder(w).Encode(v) },
		"sql": func(v any, w io.Writer) error {
			// database/sql converts every parameter in this way.
			value, err := driver.DefaultParameterConverter.ConvertValue(v)
			_, _ = fmt.Fprint(w, value)
			return err
		},
		"gob encoder": func(v any, w io.Writer) error {
			out, err := v.(gob.GobEncoder).GobEncode()
			_, _ = w.Write(out)
			return err
		},
		"text": func(v any, w io.Writer) error {
			out, err := v.(encoding.TextMarshaler).MarshalText()
			_, _ = w.Write(out)
			return err
		},
		"binary": func(v any, w io.Writer) error {
			out, err := v.(encoding.BinaryMarshaler).MarshalBinary()
			_, _ = w.Write(out)
			return err
		},
	}
	zero := secret.Text{}
	for name, encode := range encoders {
		for what, value := range map[string]any{"value": text, "pointer": &text, "zero": zero} {
			var out bytes.Buffer
			err := encode(value, &out)
			if !errors.Is(err, secret.ErrSecret) {
				t.Errorf("%s of a %s: error %v, want ErrSecret", name, what, err)
			}
			assertHidden(t, name, out.String()+fmt.Sprint(err))
		}
	}
	for _, name := range []string{"encoding/json", "json v2", "gob", "xml"} {
		var out bytes.Buffer
		err := encoders[name](h, &out)
		if err == nil {
			t.Errorf("%s encodes a struct with a secret", name)
		}
		assertHidden(t, name+" of a holder", out.String()+fmt.Sprint(err))
	}
}

// TestTextIsOutOfReachOfReflection walks everything reflection can see, as printers that follow pointers do.
func TestTextIsOutOfReachOfReflection(t *testing.T) {
	var seen []string
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			seen = append(seen, v.String())
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Struct:
			for _, field := range v.Fields() {
				walk(field)
			}
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Map:
			for _, key := range v.MapKeys() {
				walk(v.MapIndex(key))
			}
		default:
		}
	}
	h := newHolder()
	walk(reflect.ValueOf(&h))
	if got, want := strings.Join(seen, ","), "name"; got != want {
		t.Fatalf("reflection reads %q, want only %q", got, want)
	}
}

// TestPanicShowsNothing panics with secrets in a process of its own and reads what the runtime prints.
func TestPanicShowsNothing(t *testing.T) {
	const variable = "QUITTANCE_TEST_PANIC"
	values := map[string]func() any{
		"value":  func() any { return secret.New(canary) },
		"holder": func() any { return newHolder() },
		"error":  func() any { return fmt.Errorf("broken: %+v", newHolder()) },
	}
	if value, ok := values[os.Getenv(variable)]; ok {
		debug.SetTraceback("all")
		panic(value())
	}
	for name := range values {
		command := exec.Command(os.Args[0], "-test.run=^TestPanicShowsNothing$")
		command.Env = append(os.Environ(), variable+"="+name)
		out, err := command.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "panic: ") {
			t.Fatalf("%s: no panic: %v\n%s", name, err, out)
		}
		assertHidden(t, "panic with "+name, string(out))
	}
}

func TestTextRevealsExactlyItsContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		x, y := secret.New(a), secret.New(b)
		if x.Reveal() != a || x.IsZero() != (a == "") {
			t.Fatalf("New(%q) holds %q", a, x.Reveal())
		}
		if x.Equal(y) != (a == b) || !x.Equal(secret.New(strings.Clone(a))) {
			t.Fatalf("Equal(%q, %q) = %v", a, b, x.Equal(y))
		}
	})
	var zero secret.Text
	if !zero.IsZero() || zero.Reveal() != "" || !zero.Equal(secret.New("")) || zero.Equal(secret.New("x")) {
		t.Fatal("the zero value is not the empty secret")
	}
}

func TestFingerprintIsStableAndSeparated(t *testing.T) {
	// printf 'quittance/secret/fingerprint/v1\0canary-7Kq/2v+Zx' | openssl sha256
	const want = "2ba3053fabf0"
	if got := secret.Fingerprint(secret.New(canary)); got != want {
		t.Errorf("Fingerprint = %q, want %q", got, want)
	}
	digest := secret.Digest(secret.New(canary))
	if strings.HasPrefix(hex.EncodeToString(digest[:]), want) {
		t.Error("the fingerprint is a part of the digest")
	}
	if secret.Fingerprint(secret.New(canary+"x")) == want {
		t.Error("another secret has the same fingerprint")
	}
}
