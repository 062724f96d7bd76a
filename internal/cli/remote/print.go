package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"quittance/client"
	"quittance/client/api"
)

// compact writes a value as JSON on one line, and a text as it is, so that people can read it.
func compact(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := encode(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// encode returns a value as JSON on one line, without the escapes that only HTML needs.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// member is one member of a JSON object, in the order of the object.
type member struct{ name, text string }

// members returns the members of a value that is a JSON object, each as text: "-" for null.
func members(value any) ([]member, error) {
	text, err := encode(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	var out []member
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, err
		}
		shown := string(raw)
		var plain string
		switch {
		case shown == "null":
			shown = "-"
		case raw[0] == '"' && json.Unmarshal(raw, &plain) == nil:
			shown = strings.Join(strings.Fields(plain), " ")
		}
		out = append(out, member{fmt.Sprint(name), shown})
	}
	return out, nil
}

// show prints a record: as JSON, or one member in each line.
func show(env Environment, value any, asJSON bool) error {
	if asJSON {
		text, err := encode(value)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.Out, "%s\n", text)
		return err
	}
	list, err := members(value)
	if err != nil {
		return err
	}
	width := 0
	for _, m := range list {
		width = max(width, len(m.name))
	}
	for _, m := range list {
		if _, err := fmt.Fprintf(env.Out, "%-*s %s\n", width, m.name, m.text); err != nil {
			return err
		}
	}
	return nil
}

// showList prints records: as a JSON array, or as a table with these columns.
func showList[T any](env Environment, rows []T, columns []string, asJSON bool) error {
	if asJSON {
		return show(env, append([]T{}, rows...), true)
	}
	table := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	cells := make([]string, len(columns))
	for n, column := range columns {
		cells[n] = strings.ToUpper(column)
	}
	fmt.Fprintln(table, strings.Join(cells, "\t")) // tabwriter keeps an error of its output for Flush
	for _, row := range rows {
		list, err := members(row)
		if err != nil {
			return err
		}
		for n, column := range columns {
			cells[n] = "-"
			for _, m := range list {
				if m.name == column {
					cells[n] = m.text
				}
			}
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}

// output holds the flags of a command that prints a record of a server.
type output struct {
	target
	JSON bool `help:"Print JSON."`
}

// listing holds the flags of a command that lists records of a server.
type listing struct {
	output
	Limit int `default:"20" help:"Maximum number of rows."`
}

// Validate rejects a limit that is not positive.
func (l listing) Validate() error { return errors.Join(l.target.Validate(), checkLimit(l.Limit)) }

func checkLimit(limit int) error {
	if limit < 1 {
		return fmt.Errorf("--limit must be positive, and is %d", limit)
	}
	return nil
}

// one prints what a call returns.
func one[T any](env Environment, o output, do func(*client.Client) (T, error)) error {
	_, c, err := o.connect()
	if err != nil {
		return err
	}
	value, err := do(c)
	if err != nil {
		return explained(err)
	}
	return show(env, value, o.JSON)
}

// maxPage is the largest page that the service returns.
const maxPage = 100

// list prints the first rows of a list, reading as many pages as they need, and says if there are more.
func list[T any](env Environment, l listing, columns []string,
	read func(*client.Client, client.Paging) (api.List[T], error)) error {
	_, c, err := l.connect()
	if err != nil {
		return err
	}
	page := client.Paging{Page: 1, PerPage: min(l.Limit, maxPage)}
	var rows []T
	more := true
	for ; more && len(rows) < l.Limit; page.Page++ {
		got, err := read(c, page)
		if err != nil {
			return explained(err)
		}
		rows, more = append(rows, got.Data...), got.Pagination.HasMore && len(got.Data) > 0
	}
	if len(rows) > l.Limit {
		rows, more = rows[:l.Limit], true
	}
	if more {
		env.say("There are more rows: specify a larger --limit than %d.", l.Limit)
	}
	return showList(env, rows, columns, l.JSON)
}

// maxInput is the largest payload that is read, in bytes.
const maxInput = 16 << 20

// input holds the flag of a command that sends a JSON document.
type input struct {
	File string `default:"-" placeholder:"FILE" help:"JSON document to send; - reads standard input."`
}

// read returns the bytes of the document. They are sent as they are: what is wrong with them is for the server to say,
// and nothing that it would refuse, such as a name that occurs twice, is lost before.
func (i input) read(env Environment) ([]byte, error) {
	from, name := env.In, "standard input"
	if i.File != "-" {
		file, err := os.Open(i.File)
		if err != nil {
			return nil, err
		}
		defer file.Close() //nolint:errcheck // it is only read
		from, name = file, i.File
	}
	text, err := io.ReadAll(io.LimitReader(from, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("%s is empty; it must be a JSON document", name)
	}
	if len(text) > maxInput {
		return nil, fmt.Errorf("%s has more than %d bytes", name, maxInput)
	}
	return text, nil
}
