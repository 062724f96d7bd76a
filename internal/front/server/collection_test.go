package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/internal/front/server"
)

// exchanged is a collection in the format v2.1 of Postman.
type exchanged struct {
	Info struct {
		Name, Description, Version, Schema string
	} `json:"info"`
	Auth struct {
		Type   string
		Bearer []keyed
	} `json:"auth"`
	Item []struct {
		Name string
		Item []struct {
			Name    string
			Request struct {
				Method, Description string
				Auth                *struct{ Type string }
				Header              []keyed
				Body                *struct{ Mode, Raw string }
				URL                 struct {
					Raw        string
					Host, Path []string
					Query      []keyed
				} `json:"url"`
			}
		}
	} `json:"item"`
	Variable []keyed `json:"variable"`
}

type keyed struct {
	Key, Value, Type, Description string
	Disabled                      bool
}

// TestCollection checks that the collection for API clients is in the format that they import, has every operation
// once, names no variable that it does not have, and has bodies that conform to their schemas once their variables are
// filled in.
func TestCollection(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		d := s.readDocument(t)
		a := s.send(t, request{method: http.MethodGet, path: "/collection.json"})
		a.want(t, http.StatusOK, "")
		var c exchanged
		if err := json.Unmarshal([]byte(a.text), &c, json.RejectUnknownMembers(true),
			json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		if c.Info.Schema != "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" || c.Info.Name == "" ||
			c.Auth.Type != "bearer" || len(c.Auth.Bearer) != 1 || c.Auth.Bearer[0].Value != "{{token}}" {
			t.Errorf("info %+v, auth %+v", c.Info, c.Auth)
		}
		var pairs []string
		for _, v := range c.Variable {
			pairs = append(pairs, "{{"+v.Key+"}}", v.Value)
		}
		pairs = append(pairs, "{{$guid}}", "b4a4f7b0-7d0f-4f39-9f6b-3a1a1a2c7c11") // made by the client
		fill := strings.NewReplacer(pairs...)
		routes := map[string]server.Route{}
		for _, route := range server.Routes() {
			if !route.Hidden {
				routes[route.Method+" "+route.Path] = route
			}
		}
		for _, folder := range c.Item {
			for _, item := range folder.Item {
				r := item.Request
				path := "/" + strings.NewReplacer("{{", "{", "}}", "}").Replace(strings.Join(r.URL.Path, "/"))
				route, known := routes[r.Method+" "+path]
				delete(routes, r.Method+" "+path)
				if !known || item.Name == "" || r.Description == "" || folder.Name == "" || r.URL.Host[0] != "{{base_url}}" ||
					(r.Auth != nil) != route.Public {
					t.Errorf("%s %s: %+v", r.Method, path, item)
					continue
				}
				text := r.URL.Raw
				for _, query := range r.URL.Query {
					if query.Description == "" || !query.Disabled && !strings.Contains(r.URL.Raw, query.Key+"="+query.Value) {
						t.Errorf("%s: %+v in %s", route.Name, query, r.URL.Raw)
					}
				}
				for _, header := range r.Header {
					text += header.Value
				}
				if (r.Body != nil) != route.HasBody {
					t.Errorf("%s: body %+v", route.Name, r.Body)
				}
				if r.Body != nil {
					text += r.Body.Raw
					o := d.Paths[route.Path][strings.ToLower(route.Method)]
					if !route.FileBody {
						body := jsontext.Value(fill.Replace(r.Body.Raw))
						if faults := d.faults("body", o.Body.Content["application/json"].Schema, body, true); len(faults) > 0 {
							t.Errorf("%s: %v", route.Name, faults)
						}
					}
				}
				if left := fill.Replace(text); strings.Contains(left, "{{") || strings.Contains(left, "$") {
					t.Errorf("%s: a variable without a value: %s", route.Name, left)
				}
			}
		}
		for name := range routes {
			t.Errorf("%s is not in the collection", name)
		}
	})
}
