package drafts

import (
	"fmt"
	"strings"

	"quittance/internal/front/console"
	"quittance/internal/front/page"
)

// A form with the attribute data-check asks for its parts while the user types: elements, each of which replaces the
// one with its identifier. Forms have up to a thousand lines, so a response has only the parts that change. The form
// sends digests of what it says about its fields, in groups, and the server compares them with what it says now.
// Nothing about the form is stored. The script replaceParts of console.js puts the parts into the page.

// noteGroup is the feedback on the fields of a document, or on those of a line.
type noteGroup struct {
	Notes []fieldNotes
	// NoteID is the element identifier of the amount of a line, or "", and Net the amount, or "" when it cannot be
	// calculated.
	NoteID, Net string
}

// digest returns a digest of what the group says.
func (g noteGroup) digest() string {
	said := []byte(g.Net)
	for _, n := range g.Notes {
		if len(n.Faults)+len(n.Advice) > 0 || n.Missing || n.Meaning != "" {
			said = fmt.Appendf(said, "\n%s %q %q %t %q", n.ID, n.Faults, n.Advice, n.Missing, n.Meaning)
		}
	}
	return page.Digest(said)
}

// digests returns the digests of the groups of a form. The form sends them as its field "shown".
func digests(groups []noteGroup) string {
	out := make([]string, len(groups))
	for n, g := range groups {
		out[n] = g.digest()
	}
	return strings.Join(out, " ")
}

// changedGroups returns which of the groups with these digests the form does not show as they are.
func changedGroups(req *console.Request, now string) []bool {
	shown, changed := strings.Fields(req.Form.Get("shown")), []bool(nil)
	for n, digest := range strings.Fields(now) {
		changed = append(changed, n >= len(shown) || shown[n] != digest)
	}
	return changed
}

// changedNotes returns the groups that the form does not show as they are.
func changedNotes(req *console.Request, groups []noteGroup, now string) []noteGroup {
	var out []noteGroup
	for n, changed := range changedGroups(req, now) {
		if changed {
			out = append(out, groups[n])
		}
	}
	return out
}

// notesOf returns the notes of the fields of a table.
func notesOf(fields map[string]*FormField, specs []FieldSpec) []fieldNotes {
	out := make([]fieldNotes, len(specs))
	for n, spec := range specs {
		out[n] = fields[spec.Name].Notes
	}
	return out
}

// draftGroups returns the feedback on the fields of a draft, and then on those of each line, with that on the entries
// of their lists.
func draftGroups(fields map[string]*FormField, entries []formEntries, lines []formLine) []noteGroup {
	ofDraft := notesOf(fields, Fields)
	for _, of := range entries {
		ofDraft = append(ofDraft, of.notes()...)
	}
	out := []noteGroup{{Notes: ofDraft}}
	for _, l := range lines {
		out = append(out, noteGroup{Notes: append(notesOf(l.Fields, ItemFields), l.More.Entries.notes()...),
			NoteID: l.NoteID(), Net: l.Net})
	}
	return out
}
