package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/sandbox/rules"
)

type readinessCmd struct {
	JSON  bool     `env:"-" help:"Print a record for each document as JSON, one in a line."`
	Files []string `arg:"" name:"file" help:"A document in UBL, or a directory: its files whose names end in .xml."`
}

// Help is shown by --help.
func (readinessCmd) Help() string {
	return `Example:
  quittance readiness invoice.xml
  quittance readiness --json ./outbox

Says of documents that another program has made which of them are ready to be submitted, and what keeps the
others: by rule, and by the master record in which it is corrected. It keeps nothing, asks nobody and needs no
database. A document that is ready keeps the rules that this program knows, which are most of the official
ones; the provider applies them all. The exit status is 1 if a document is not ready.`
}

// judged is a document with what was found.
type judged struct {
	file string
	document.Readiness
}

// Run examines the documents.
func (c readinessCmd) Run(env environment) error {
	files, err := documentFiles(c.Files)
	if err != nil {
		return err
	}
	refused := 0
	var byRule, byRecord tally
	for _, file := range files {
		if err := env.ctx.Err(); err != nil {
			return err
		}
		one := judged{file, examine(file)}
		if !one.Ready() {
			refused++
		}
		if c.JSON {
			err = printJSON(env, one.record())
		} else {
			err = one.print(env.stdout)
		}
		if err != nil {
			return err
		}
		for _, o := range one.Obstacles {
			byRule.add([2]string{ruleOf(o), printable(o.Message)}, file)
			if o.Record != document.NoRecord {
				byRecord.add([2]string{string(o.Record) + " " + printable(o.Name), printable(o.Field())}, file)
			}
		}
	}
	if !c.JSON {
		if err := errors.Join(byRule.print(env.stdout, "Documents by rule"),
			byRecord.print(env.stdout, "Documents by master record")); err != nil {
			return err
		}
	}
	if refused > 0 {
		return fmt.Errorf("%d of %d documents are not ready", refused, len(files))
	}
	return nil
}

// examine examines the document in a file: by the rules for our own documents, and by those that the sandbox knows,
// which look at the elements as they are.
func examine(file string) document.Readiness {
	text, err := readDocument(file)
	if err != nil {
		return document.Readiness{Obstacles: []document.Obstacle{{Fault: api.Fault{Rule: "unreadable",
			Message: err.Error()}}}}
	}
	out := document.Examine(text)
	if out.Profile == "" {
		return out
	}
	_, findings := rules.Judge(text)
	for _, f := range findings {
		own := strings.HasPrefix(f.Rule, "BTAE-") || strings.HasPrefix(f.Rule, "IBT-") // which are not official
		if !own && !slices.ContainsFunc(out.Obstacles, func(o document.Obstacle) bool { return o.RuleID == f.Rule }) {
			out.Add(document.Obstacle{Fault: api.Fault{Rule: f.Rule, RuleID: f.Rule, Message: f.Text}, Path: f.Location})
		}
	}
	return out
}

// documentFiles returns the named files, and those of directories in the order of their names.
func documentFiles(names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, err
		case info.Mode().IsRegular():
			out = append(out, name)
			continue
		case !info.IsDir():
			return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("neither a file nor a directory")}
		}
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			file := filepath.Join(name, entry.Name())
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() &&
				strings.EqualFold(filepath.Ext(file), ".xml") {
				out = append(out, file)
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("there is no document")
	}
	return out, nil
}

// readDocument reads a document, and of one that is too large a little more than is allowed.
func readDocument(name string) (_ []byte, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return io.ReadAll(io.LimitReader(file, document.MaxReady+1))
}

// record is a document as JSON.
func (j judged) record() object {
	obstacles := []object{}
	for _, o := range j.Obstacles {
		obstacles = append(obstacles, object{{"path", o.Path}, {"rule", o.Rule}, {"rule_id", o.RuleID},
			{"message", o.Message}, {"record", string(o.Record)}, {"name", o.Name}})
	}
	return object{{"file", j.file}, {"number", j.Number}, {"document_format", string(j.Profile)},
		{"ready", j.Ready()}, {"obstacles", obstacles}, {"more", j.More}}
}

// print prints a document and what keeps it from being submitted.
func (j judged) print(to io.Writer) error {
	out := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	state := "ready"
	if n := len(j.Obstacles) + j.More; n > 0 {
		state = "not ready, obstacles: " + strconv.Itoa(n)
	}
	fmt.Fprintf(out, "%s  %s  %s\n", printable(j.file), printable(j.Number), state)
	for _, o := range j.Obstacles {
		fmt.Fprintf(out, "  %s\t%s\t%s\n", printable(o.Path), ruleOf(o), printable(o.Message))
	}
	if j.More > 0 {
		fmt.Fprintf(out, "  and %d more\n", j.More)
	}
	return out.Flush()
}

// ruleOf is the official identifier of the rule that an obstacle breaks, or else our name of it.
func ruleOf(o document.Obstacle) string { return cmp.Or(o.RuleID, o.Rule) }

// tally counts the documents of a pile that have something in common.
type tally struct {
	keys   [][2]string
	counts map[[2]string]int
	last   map[[2]string]string // the document that was counted last
}

// add counts a document, once for each key. All that is said of a document is added before the next.
func (t *tally) add(key [2]string, file string) {
	if t.counts == nil {
		t.counts, t.last = map[[2]string]int{}, map[[2]string]string{}
	}
	switch {
	case t.counts[key] == 0:
		t.keys = append(t.keys, key)
	case t.last[key] == file:
		return
	}
	t.counts[key]++
	t.last[key] = file
}

// print prints the keys, the most frequent one first, with the numbers of their documents.
func (t *tally) print(to io.Writer, title string) error {
	if len(t.keys) == 0 {
		return nil
	}
	slices.SortStableFunc(t.keys, func(a, b [2]string) int { return t.counts[b] - t.counts[a] })
	out := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	fmt.Fprintln(out, "\n"+title)
	for _, key := range t.keys {
		fmt.Fprintf(out, "  %d\t%s\t%s\n", t.counts[key], key[0], key[1])
	}
	return out.Flush()
}

// printable returns a text of a stranger on one line, without what would command a terminal.
func printable(text string) string {
	quoted := strconv.Quote(strings.Join(strings.Fields(text), " "))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
