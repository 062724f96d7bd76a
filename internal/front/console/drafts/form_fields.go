package drafts

import (
	"errors"
	"strconv"

	"quittance/internal/front/console"
)

// controls returns the fields of a form in a part of the layout.
func controls(fields map[string]*FormField, part string) []*FormField {
	out := make([]*FormField, len(layout[part]))
	for n, name := range layout[part] {
		out[n] = fields[name]
	}
	return out
}

// keyLabel returns the label of a form's field by its key.
func keyLabel(c console.Catalogue, key string) string { return c.TextOr("field."+key, key) }

// moveButton is a button that moves or removes a line of a draft.
type moveButton struct {
	// Value is what the button sends, and Icon is its only visible content.
	Value, Icon string
	// Label is its accessible name.
	Label           string
	Disabled, Focus bool
}

// moveButtons returns the buttons of a line.
func moveButtons(c console.Catalogue, l formLine) ([]moveButton, error) {
	number := strconv.Itoa(l.Number)
	up, errUp := c.Text("draft.up", number)
	down, errDown := c.Text("draft.down", number)
	remove, errRemove := c.Text("draft.remove", number)
	buttons := []moveButton{{Icon: doUp, Label: up, Disabled: l.First}, {Icon: doDown, Label: down, Disabled: l.Last},
		{Icon: doRemove, Label: remove}}
	for n := range buttons {
		b := &buttons[n]
		b.Value, b.Focus = b.Icon+":"+strconv.Itoa(l.Index()), l.Focus == b.Icon
	}
	return buttons, errors.Join(errUp, errDown, errRemove)
}

// newDropButton returns the button that takes an entry away.
func newDropButton(c console.Catalogue, e formEntry) (moveButton, error) {
	name, err := c.FieldLabel(e.Path)
	if err != nil {
		return moveButton{}, err
	}
	label, err := c.Text("draft.drop", name)
	return moveButton{Value: e.Drop, Icon: doRemove, Label: label, Focus: e.Focus}, err
}
