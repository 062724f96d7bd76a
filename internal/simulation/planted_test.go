//go:build planted

package simulation

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// bug is a plausible mistake. It is planted into a copy of the file when the tests are built, so that the product itself does not
// contain it. old must occur exactly once in the file, and is replaced by new, where PLANTED says whether the bug is switched on.
type bug struct {
	name     string
	file     string // below internal
	old, new string
	more     []edit // what else it takes in the same file
}

// edit is a replacement in a file.
type edit struct{ old, new string }

// bugs are the planted mistakes. In new, PLANTED is true while the bug is on.
func bugs() []bug {
	return []bug{
		{name: "resend without look-up", file: "submission/record.go",
			old: `p.Idempotent && s.MissingCount >= missingCountForResend)`,
			new: `p.Idempotent && (PLANTED || s.MissingCount >= missingCountForResend))`},
		{name: "broken response treated as not sent", file: "submission/record.go",
			old: `case r.call == callSubmit && first && leased && (`,
			new: `case r.call == callSubmit && first && leased && (PLANTED || `},
		{name: "state from an HTTP status", file: "submission/record.go",
			old: `		r.decideWithoutReport(&d, s, leased)`,
			new: `		r.decideWithoutReport(&d, s, leased)
		if PLANTED && r.HTTPStatus/100 == 2 {
			d.Outcome = api.OutcomeAcknowledged
		}`},
		{name: "unknown reference treated as not sent", file: "submission/record.go",
			old: `	if r.Kind != provider.UnknownReference || d.Outcome`,
			new: `	if PLANTED && r.Kind == provider.UnknownReference && d.Outcome == api.OutcomeUnknown {
		d.Outcome = store.OutcomeNotSent
	}
	if r.Kind != provider.UnknownReference || d.Outcome`},
		{name: "report about another document accepted", file: "submission/record.go",
			old: `report.Reference == s.ID.String()`,
			new: `(PLANTED || report.Reference == s.ID.String())`},
		{name: "polling stops after an error", file: "submission/polling.go",
			old: `	if d.Outcome == store.OutcomeNotSent || d.States.AllTerminal() {`,
			new: `	if d.Outcome == store.OutcomeNotSent || d.States.AllTerminal() || PLANTED && r.Kind == provider.Ambiguous {`},
		{name: "older report overwrites a state", file: "invoice/merge.go",
			old: `if report.Sequence < last {`,
			new: `if report.Sequence < last && !PLANTED {`},
		{name: "one dimension inferred from another", file: "invoice/merge.go",
			old: `	return merged, change
}`,
			new: `	if PLANTED && merged.TaxAuthority.terminal && !merged.Receiver.terminal {
		merged.Receiver.value = merged.TaxAuthority.value
		change.Changed = append(change.Changed, DimensionReceiver)
	}
	return merged, change
}`},
		{name: "terminal event emitted twice", file: "invoice/merge.go",
			old: `change.BecameTerminal && !o.TerminalAnnounced`,
			new: `(change.BecameTerminal || PLANTED && len(change.Changed) > 1) && !o.TerminalAnnounced`},
		{name: "event written outside the transaction", file: "store/record.go",
			old: `	var after Submission
`, new: `	var after Submission
	var told []api.EventKind
`, more: []edit{{`		if err := t.writeDecision(ctx, tx, &s, decision, leased); err != nil {`,
				`		if PLANTED {
			told, decision.Events = decision.Events, nil
		}
		if err := t.writeDecision(ctx, tx, &s, decision, leased); err != nil {`}, {`	return after, err
}

// lockInvoice`, `	if err == nil && PLANTED {
		err = t.write(ctx, "late events", func(ctx context.Context, tx *tx) error {
			late, err := emit(ctx, tx, t, tx.now(), told, api.ResourceSubmission, after.ID, api.SubmissionPayload{States: after.States.Wire(), InvoiceID: after.Invoice.String(), InvoiceNumber: after.Number})
			if err != nil {
				return err
			}
			return late.write(ctx, tx)
		})
	}
	return after, err
}

// lockInvoice`}}},
		{name: "number checked across tenants", file: "store/submission.go",
			old: "where tenant_id = $2 and number = $4 and outcome in",
			new: "where (tenant_id = $2 or PLANTED) and number = $4 and outcome in"},
		{name: "no look-up after a crash in the call", file: "store/submission.go",
			old: `	s.NextCheckAt = s.DueAt
	s.lease++
	if before`,
			new: `	if PLANTED {
		s.DueAt = new(now.Add(1000 * time.Hour))
	}
	s.NextCheckAt = s.DueAt
	s.lease++
	if before`},
		{name: "late worker overwrites", file: "store/delivery.go",
			old: `	type updated struct {`,
			new: `	for _, e := range records {
		if !PLANTED {
			break
		}
		if err := tx.QueryRowContext(ctx, "select lease from deliveries where tenant_id = $1 and id = $2", e.Tenant.id, e.ID).Scan(&e.lease); err != nil {
			return err
		}
	}
	type updated struct {`},
		{name: "delivery marked before it is sent", file: "store/delivery.go",
			old: `		claimed, err = t.addDestination(ctx, tx, q.id, leased)
		return err`,
			new: `		if claimed, err = t.addDestination(ctx, tx, q.id, leased); err == nil && PLANTED {
			for _, d := range claimed {
				if _, err = tx.exec(ctx, "update deliveries set state = 'delivered', due_at = null where tenant_id = $1 and id = $2", t.id, d.ID); err != nil {
					return err
				}
			}
		}
		return err`},
		{name: "only one subscription notified", file: "store/emit.go",
			old: `		m.deliveries = append(m.deliveries, []any{t.id, id, e.ID, s.id, e.Kind, api.DeliveryPending, at, at, at})`,
			new: `		m.deliveries = append(m.deliveries, []any{t.id, id, e.ID, s.id, e.Kind, api.DeliveryPending, at, at, at})
		if PLANTED {
			break
		}`},
		{name: "body rendered again for each attempt", file: "webhook/deliver.go",
			old: `	timestamp := FormatTimestamp(delivery.OccurredAt)`,
			new: `	timestamp := FormatTimestamp(delivery.OccurredAt)
	if PLANTED {
		timestamp = FormatTimestamp(d.Now())
	}`},
		{name: "redirect leaves the subscription active", file: "webhook/deliver.go",
			old: `Reason: result.Reason, Deactivate: result.Reason}`,
			new: `Reason: result.Reason, Deactivate: map[bool]string{false: result.Reason}[PLANTED]}`},
		{name: "private address not rejected", file: "webhook/egress.go",
			old: `		if !e.policy.permits(target) {
			return nil, ErrUnsafeDestination
		}
		targets`,
			new: `		if !e.policy.permits(target) && !PLANTED {
			return nil, ErrUnsafeDestination
		}
		targets`},
		{name: "cursor moves before the documents are retained", file: "purchase/run.go",
			old: `	r.seenCursors[page.NextCursor] = true
	return more, r.commit(ctx, docs, step)`,
			new: `	r.seenCursors[page.NextCursor] = true
	if PLANTED {
		early := step
		early.Hold, early.After = true, r.leaseTime()
		if err := r.commit(ctx, nil, early); err != nil {
			return false, err
		}
	}
	return more, r.commit(ctx, docs, step)`},
		{name: "credit notes ignore each other", file: "store/credit.go",
			old: `		made, err := build(&credited.Draft, live)`,
			new: `		if PLANTED {
			live = nil
		}
		made, err := build(&credited.Draft, live)`},
		{name: "idempotency key stored outside the transaction", file: "store/idempotent.go",
			old: `		if reply, err = act(ctx, &joined); err != nil {`,
			new: `		if PLANTED {
			taken, err = tx.exec(ctx, "delete from idempotency where tenant_id = $1 and key = $2", t.id, key)
			if err != nil {
				return err
			}
		}
		if reply, err = act(ctx, &joined); err != nil {`},
		{name: "chain not continued", file: "store/evidence.go",
			old: `	if copy(e.Previous[:], s.head); s.Evidence == 0 {`,
			new: `	if !PLANTED {
		copy(e.Previous[:], s.head)
	}
	if s.Evidence == 0 {`},
		{name: "signing secret in the log", file: "webhook/deliver.go",
			old: `	level := slog.LevelInfo`,
			new: `	if PLANTED {
		d.Log.DebugContext(ctx, "signing", "key", delivery.Secret.Reveal())
	}
	level := slog.LevelInfo`},
		{name: "submitted invoice changed", file: "store/invoice.go",
			old: `			return ErrNotEditable`,
			new: `			if !PLANTED {
				return ErrNotEditable
			}`},
	}
}

// TestPlanted: the simulation finds every planted bug within some hundred seeds, and nothing without one.
func TestPlanted(t *testing.T) {
	binary := plant(t)
	if output, failed := simulate(t, binary, "", "30"); failed {
		t.Fatalf("with no bug switched on: %s", output)
	}
	found := regexp.MustCompile(`seed (\d+): ([^\n]*)`)
	for _, b := range bugs() {
		t.Run(b.name, func(t *testing.T) {
			output, failed := simulate(t, binary, b.name, "400")
			caught := found.FindStringSubmatch(output)
			if !failed || caught == nil {
				t.Fatalf("not found in 400 seeds:\n%.2000s", output)
			}
			t.Logf("found at seed %s: %.160s", caught[1], caught[2])
		})
	}
}

// simulate runs the planted simulation with one bug on.
func simulate(t *testing.T, binary, name, seeds string) (output string, failed bool) {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary, "-test.run", "^TestSeeds$", "-seeds", seeds)
	command.Env = append(os.Environ(), "QUITTANCE_PLANTED="+name)
	text, err := command.CombinedOutput()
	return string(text), err != nil
}

// plant builds the simulation's tests over copies of the files with all bugs in them, each behind its switch.
func plant(t *testing.T) (binary string) {
	t.Helper()
	dir := t.TempDir()
	internal, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, b := range bugs() {
		text, read := files[b.file]
		if !read {
			original, err := os.ReadFile(filepath.Join(internal, b.file))
			if err != nil {
				t.Fatal(err)
			}
			text = strings.Replace(string(original), "import (", "import (\n\t\"quittance/internal/planted\"", 1)
		}
		for _, e := range append([]edit{{b.old, b.new}}, b.more...) {
			if strings.Count(text, e.old) != 1 {
				t.Fatalf("%s: the text to replace occurs %d times in %s: %s", b.name, strings.Count(text, e.old), b.file, e.old)
			}
			call := "planted.Is(" + quoted(b.name) + ")"
			if strings.HasPrefix(e.old, "where ") { // in a statement
				call = "1 = ` + planted.One(" + quoted(b.name) + ") + `"
			}
			text = strings.Replace(text, e.old, strings.ReplaceAll(e.new, "PLANTED", call), 1)
		}
		files[b.file] = text
	}
	files["planted/planted.go"] = `// Package planted switches planted bugs on.
package planted

import "os"

// Is tells whether a bug is on.
func Is(name string) bool { return os.Getenv("QUITTANCE_PLANTED") == name }

// One is "1" while a bug is on, for statements.
func One(name string) string {
	if Is(name) {
		return "1"
	}
	return "0"
}
`
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, text := range files {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(internal, name)] = path
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	described, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "planted.test")
	if err := os.WriteFile(described, text, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-c", "-overlay", described, "-o", binary, ".")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	return binary
}

func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string
	}
	return string(b)
}
