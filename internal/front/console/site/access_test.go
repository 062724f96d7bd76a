package site_test

import (
	"cmp"
	"flag"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"quittance/client/api"
	"quittance/internal/front/console/site"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/accesstest"
	"quittance/test/accounttest"
	"quittance/test/kit"
)

var update = flag.Bool("update", false, "write the table of pages in docs/permissions.md anew")

// colleague adds a user with a role to the sandbox's company and returns a visitor who is logged in as that user.
func (s *system) colleague(t testing.TB, role access.Role) *visitor {
	t.Helper()
	hash, err := accounttest.Cheap().Hash(colleaguePassword)
	kit.Must(t, err)
	id, err := base.ParseID(s.Info.AccountID)
	kit.Must(t, err)
	email := string(role) + "@colleagues.example"
	_, err = identity.AddUser(t.Context(), s.DB(), id, identity.NewUser{Email: email, Name: string(role), Role: role,
		PasswordHash: hash})
	kit.Must(t, err)
	v := s.visitor(t)
	v.login(email, colleaguePassword)
	return v
}

// pathVariable is a variable in the path of a route.
var pathVariable = regexp.MustCompile(`\{\w+\}`)

// TestEveryRoleOnEveryPage requests every page, and does everything that a page does, with every role. What the role
// does not allow gets 403 and a page that says so; nothing else does.
func TestEveryRoleOnEveryPage(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	for _, role := range access.Roles {
		v := s.colleague(t, role)
		for _, route := range site.Routes() {
			if route.Path == "/logout" || route.Path == "/account/leave" {
				continue // it ends the session; every role has it
			}
			path := pathVariable.ReplaceAllString(route.Path, "00000000-0000-7000-8000-00000000000f")
			got := v.do(route.Method, path, "")
			allowed := route.Needs == access.Public || role.Permissions().Has(route.Needs)
			if forbidden := got.status == http.StatusForbidden; forbidden == allowed ||
				forbidden != strings.Contains(got.body, "Your role does not allow this") {
				t.Errorf("%s: %s %s answered %d, allowed: %v", role, route.Method, route.Path, got.status, allowed)
			}
			atLogin := strings.HasPrefix(route.Path, "/login") // the steps of a login lead back to its first one
			if location := got.header.Get("Location"); strings.HasPrefix(location, "/login") && !atLogin || atLogin &&
				v.get("/").status != http.StatusOK {
				t.Fatalf("%s: %s %s ended the session", role, route.Method, route.Path)
			}
		}
	}
}

// TestPagesOfferWhatTheRoleAllows follows the links of the console with every role. No page has a link, a form or a
// part for something that the role does not allow.
func TestPagesOfferWhatTheRoleAllows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	s := start(t, first(), false, 50*time.Millisecond)
	s.submitted(t, s.token(t, s.email, s.password), "OFFER-1", "sandbox-rejected-validation")
	incomplete := draft("OFFER-2", "1")
	incomplete.DueDate = nil
	var made api.Invoice
	s.api(t, s.token(t, s.email, s.password), http.MethodPost, "/api/v1/client/invoices", incomplete, &made)
	routeOf := site.RouteFinder()
	for _, role := range access.Roles {
		v := s.colleague(t, role)
		queue, seen := []string{"/", "/webhooks/lost", "/invoices/" + made.ID}, map[string]bool{}
		perRoute := map[string]int{}
		for n := 0; n < len(queue) && n < 200; n++ {
			got := v.get(queue[n])
			if got.status != http.StatusOK {
				continue
			}
			elements(parse(t, got.body), func(node *html.Node) {
				for name, method := range map[string]string{"href": http.MethodGet, "hx-get": http.MethodGet,
					"hx-post": http.MethodPost, "data-check": http.MethodPost, "action": strings.ToUpper(attribute(node, "method"))} {
					target, _, _ := strings.Cut(attribute(node, name), "?")
					target, _, _ = strings.Cut(target, "#")
					route, needs, found := routeOf(cmp.Or(method, http.MethodGet), target)
					if !strings.HasPrefix(target, "/") || !found {
						continue
					}
					if needs != access.Public && !role.Permissions().Has(needs) {
						t.Errorf("%s: %s offers %s %s", role, queue[n], method, route)
					}
					if perRoute[route] < 4 && method == http.MethodGet && node.Data == "a" && !seen[target] {
						perRoute[route]++
						seen[target] = true
						queue = append(queue, target)
					}
				}
			})
		}
		if len(queue) < 12 {
			t.Errorf("%s: only %d pages were found", role, len(queue))
		}
	}
}

// TestAccessTable checks that docs/permissions.md shows for every page who may see and use it.
func TestAccessTable(t *testing.T) {
	accesstest.WantTable(t, "Pages of the console", site.Routes(), false, *update)
}
