package integration_test

import (
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"; that of SQLite comes with the store

	"quittance/test/ledgertest"
)

// needle is one encoding of one canary.
type needle struct{ canary, form, text string }

// scanner searches everything it is given for canaries, in every encoding in which one could have got there.
type scanner struct {
	needles map[[needleKey]byte][]needle // by their first bytes
	begins  [1 << 16]bool                // by their first two
	found   map[string]int               // canary, form and place, to the number of times
	read    map[string]int               // kind of place, to the number of bytes
}

// needleKey is the number of bytes by which needles are indexed; no needle is shorter.
const needleKey = 4

func newScanner() *scanner {
	return &scanner{needles: map[[needleKey]byte][]needle{}, found: map[string]int{}, read: map[string]int{}}
}

// add adds a canary in all its encodings.
func (s *scanner) add(name, value string) {
	forms := canaryForms(value)
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		text := forms[form]
		key := [needleKey]byte([]byte(text))
		if slices.ContainsFunc(s.needles[key], func(n needle) bool { return n.canary == name && n.text == text }) {
			continue
		}
		s.needles[key] = append(s.needles[key], needle{name, form, text})
		s.begins[int(text[0])<<8|int(text[1])] = true
	}
}

// scan searches one text. A place is a kind and a name, such as "page /docs".
func (s *scanner) scan(place string, text []byte) {
	kind, _, _ := strings.Cut(place, " ")
	s.read[kind] += len(text)
	for i := 0; i+needleKey <= len(text); i++ {
		if !s.begins[int(text[i])<<8|int(text[i+1])] {
			continue
		}
		for _, n := range s.needles[[needleKey]byte(text[i:])] {
			if len(text)-i >= len(n.text) && string(text[i:i+len(n.text)]) == n.text {
				s.found[n.canary+" as "+n.form+" in "+place]++
			}
		}
	}
}

// scanFiles searches every file below a directory that still exists when it is read.
func (s *scanner) scanFiles(t *testing.T, kind, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return ignoreGone(err)
		}
		text, err := os.ReadFile(path)
		s.scan(kind+" "+filepath.Base(path), text)
		return ignoreGone(err)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ignoreGone ignores missing files, because a database removes files while they are listed.
func ignoreGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// finds counts the occurrences of a canary in places that begin with the given words.
func (s *scanner) finds(canary, places string) int {
	count := 0
	for at, times := range s.found {
		what, place, _ := strings.Cut(at, " in ")
		if strings.HasPrefix(what, canary+" as ") && strings.HasPrefix(place+" ", places+" ") {
			count += times
		}
	}
	return count
}

// canaryForms returns a value as it is, in halves, and in the encodings in which it could leak.
func canaryForms(value string) map[string]string {
	raw := []byte(value)
	forms := map[string]string{
		"raw": value, "first half": value[:len(value)/2], "second half": value[len(value)/2:],
		"hex": hex.EncodeToString(raw), "upper hex": strings.ToUpper(hex.EncodeToString(raw)),
		"query": url.QueryEscape(value), "path": url.PathEscape(value), "user": url.UserPassword("", value).String()[1:],
		"Go": unquoted(strconv.Quote(value)), "Go ASCII": unquoted(strconv.QuoteToASCII(value)),
		"HTML": html.EscapeString(value), "decimal": strings.Trim(fmt.Sprint(raw), "[]"),
	}
	if text, err := json.Marshal(value); err == nil {
		forms["JSON"] = unquoted(string(text))
	}
	var percent, unicode strings.Builder
	for _, b := range raw {
		fmt.Fprintf(&percent, "%%%02x", b)
		fmt.Fprintf(&unicode, `\u%04x`, b)
	}
	forms["percent"], forms["upper percent"], forms["unicode"] = percent.String(), strings.ToUpper(percent.String()),
		unicode.String()
	// The characters at both ends of a base64 text depend on the neighbouring bytes; whole groups of three bytes do
	// not.
	for skip := range 3 {
		inner := raw[skip : skip+(len(raw)-skip)/3*3]
		forms[fmt.Sprintf("base64 from byte %d", skip)] = base64.StdEncoding.EncodeToString(inner)
		forms[fmt.Sprintf("base64url from byte %d", skip)] = base64.URLEncoding.EncodeToString(inner)
	}
	return forms
}

func unquoted(text string) string { return text[1 : len(text)-1] }

// database searches every value of every row of the database, and every byte of its files, including overwritten data.
func (s *canaryStory) database() {
	driver, address, tables := "sqlite", strings.TrimPrefix(s.address, "sqlite:"),
		`select name from sqlite_master where type = 'table'`
	if s.engine == ledgertest.Postgres {
		driver, address, tables = "pgx", s.address,
			`select table_name from information_schema.tables where table_schema = 'public'`
	}
	if s.engine == ledgertest.SQLite {
		s.scanFiles(s.t, "file", filepath.Dir(address)) // before anything opens it again
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	for _, table := range s.column(db, tables) {
		s.rows(db, table)
	}
	if s.engine == ledgertest.Postgres {
		if _, err := db.ExecContext(s.t.Context(), "checkpoint"); err != nil {
			s.t.Fatal(err)
		}
		home := s.column(db, "show data_directory")[0]
		oid := s.column(db, "select oid::text from pg_database where datname = current_database()")[0]
		s.scanFiles(s.t, "file", filepath.Join(home, "base", oid))
		s.scanFiles(s.t, "wal", filepath.Join(home, "pg_wal"))
		text, err := os.ReadFile(filepath.Join(filepath.Dir(home), "log"))
		if err != nil {
			s.t.Fatal(err)
		}
		s.scan("log of PostgreSQL", text)
	}
}

// column returns the one column of a query.
func (s *canaryStory) column(db *sql.DB, query string) (out []string) {
	s.t.Helper()
	rows, err := db.QueryContext(s.t.Context(), query)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			s.t.Fatal(err)
		}
		out = append(out, value)
	}
	if err := rows.Err(); err != nil || len(out) == 0 {
		s.t.Fatalf("%s: no rows: %v", query, err)
	}
	return out
}

// rows searches all values of a table.
func (s *canaryStory) rows(db *sql.DB, table string) {
	s.t.Helper()
	rows, err := db.QueryContext(s.t.Context(), `select * from "`+table+`"`)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		s.t.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
		for n := range values {
			into[n] = &values[n]
		}
		if err := rows.Scan(into...); err != nil {
			s.t.Fatal(err)
		}
		for n, column := range columns {
			s.scan("row "+table+"."+column, values[n])
		}
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
}

// TestTheScanFindsEveryForm checks that the scan finds every encoding of a canary at any position of a file, and
// nothing else.
func TestTheScanFindsEveryForm(t *testing.T) {
	t.Parallel()
	const value = `Sing/+<&>"\canary é4711`
	text, err := os.ReadFile("canary_scan_test.go")
	if err != nil {
		t.Fatal(err)
	}
	clean := newScanner()
	clean.add("canary", rand.Text())
	clean.scan("file clean", text)
	if len(clean.found) > 0 || clean.read["file"] != len(text) {
		t.Errorf("found %v in %v", clean.found, clean.read)
	}
	for form, planted := range canaryForms(value) {
		for name, at := range map[string]int{"beginning": 0, "middle": len(text) / 2, "end": len(text)} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, name), slices.Concat(text[:at], []byte(planted), text[at:]),
				0o600); err != nil {
				t.Fatal(err)
			}
			s := newScanner()
			s.add("canary", value)
			s.scanFiles(t, "file", dir)
			if s.finds("canary", "file") == 0 {
				t.Errorf("%s as %q at the %s of a file is not found", form, planted, name)
			}
		}
	}
	// These are encoded by somebody else, with neighbouring bytes that the scan cannot know.
	for before := range 4 {
		for after := range 4 {
			whole := strings.Repeat("x", before) + value + strings.Repeat("y", after)
			for _, encoded := range []string{base64.StdEncoding.EncodeToString([]byte(whole)),
				base64.RawURLEncoding.EncodeToString([]byte(whole)), hex.EncodeToString([]byte(whole))} {
				s := newScanner()
				s.add("canary", value)
				s.scan("text", []byte(encoded))
				if len(s.found) == 0 {
					t.Errorf("%q in %q is not found", value, encoded)
				}
			}
		}
	}
}
