package access

import (
	"strings"
	"testing"
)

// matrix is the whole policy: a column for each role, then one for each scope of an API key.
const matrix = `
                 owner accountant developer viewer | read write submit webhooks
public           -     -          -         -      | -    -     -      -
own login        yes   yes        yes       yes    | -    -     -      -
read account     yes   yes        yes       yes    | yes  yes   yes    yes
read             yes   yes        yes       yes    | yes  -     -      -
read webhooks    yes   yes        yes       yes    | yes  -     -      yes
write            yes   yes        -         -      | -    yes   -      -
submit           yes   yes        -         -      | -    -     yes    -
manage webhooks  yes   -          yes       -      | -    -     -      yes
manage keys      yes   -          yes       -      | -    -     -      -
manage users     yes   -          -         -      | -    -     -      -
read audit       yes   -          -         -      | -    -     -      -
`

func TestMatrix(t *testing.T) {
	var got strings.Builder
	got.WriteString("\n                 owner accountant developer viewer | read write submit webhooks\n")
	for _, p := range append([]Permission{Public}, All...) {
		line := (p.String() + strings.Repeat(" ", 17))[:17]
		cell := func(width int, set Permissions) {
			text := "-"
			if set.Has(p) {
				text = "yes"
			}
			line += text + strings.Repeat(" ", width-len(text)+1)
		}
		for _, role := range Roles {
			cell(len(role), role.Permissions())
		}
		line += "| "
		for _, scope := range Scopes {
			cell(len(scope), scope.Permissions())
		}
		got.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if got.String() != matrix {
		t.Errorf("the policy is%s", got.String())
	}
}

// TestNothingByMistake checks that an operation that names no permission is refused to everybody, and that unknown
// roles and scopes give nothing.
func TestNothingByMistake(t *testing.T) {
	if Owner.Permissions().Has(0) || PermissionsOf(Scopes).Has(0) {
		t.Error("somebody has the zero permission")
	}
	for _, unknown := range []string{"", "Owner", "admin", "owner "} {
		if Role(unknown).Permissions() != 0 || Role(unknown).IsValid() || Scope(unknown).Permissions() != 0 ||
			Scope(unknown).IsValid() {
			t.Errorf("%q gives permissions", unknown)
		}
	}
	names := map[string]bool{}
	for _, p := range append([]Permission{Public}, All...) {
		if names[p.String()] || strings.HasPrefix(p.String(), "Permission(") {
			t.Errorf("%q is no name of its own", p)
		}
		names[p.String()] = true
	}
	if got := PermissionsOf([]Scope{ScopeWrite,
		ScopeWebhooks}); got != ScopeWrite.Permissions()|ScopeWebhooks.Permissions() || got.Has(Submit) {
		t.Errorf("two scopes give %b", got)
	}
}
