package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"quittance/internal/ledger/access"
	"quittance/sdk/samples"
)

// collection is a collection of requests for API clients: the part of the format v2.1 of Postman, which others import
// too, that is needed for this API. https://schema.postman.com/ describes the format.
type collection struct {
	Info struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Version     string `json:"version"`
		Schema      string `json:"schema"`
	} `json:"info"`
	Auth     *collectionAuth      `json:"auth"`
	Items    []collectionFolder   `json:"item"`
	Variable []collectionVariable `json:"variable"`
}

type collectionAuth struct {
	Type   string               `json:"type"`
	Bearer []collectionVariable `json:"bearer,omitempty"`
}

// collectionVariable is a name with a value; disabled query parameters are not sent.
type collectionVariable struct {
	Key         string `json:"key"`
	Value       string `json:"value"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	Disabled    bool   `json:"disabled,omitempty"`
}

type collectionFolder struct {
	Name  string           `json:"name"`
	Items []collectionItem `json:"item"`
}

type collectionItem struct {
	Name    string            `json:"name"`
	Request collectionRequest `json:"request"`
}

type collectionRequest struct {
	Method      string               `json:"method"`
	Description string               `json:"description"`
	Auth        *collectionAuth      `json:"auth,omitempty"`
	Header      []collectionVariable `json:"header"`
	Body        *collectionBody      `json:"body,omitempty"`
	URL         struct {
		Raw   string               `json:"raw"`
		Host  []string             `json:"host"`
		Path  []string             `json:"path"`
		Query []collectionVariable `json:"query,omitempty"`
	} `json:"url"`
}

type collectionBody struct {
	Mode string `json:"mode"`
	Raw  string `json:"raw"`
}

// apiCollection returns the collection of the routes. base is the address of the service.
func apiCollection(routes []route, version, base string) ([]byte, error) {
	all, err := samples.All()
	if err != nil {
		return nil, err
	}
	texts, err := operationTexts()
	if err != nil {
		return nil, err
	}
	c := collection{Auth: &collectionAuth{Type: "bearer",
		Bearer: []collectionVariable{{Key: "token", Value: "{{token}}", Type: "string"}}}}
	c.Info.Name, c.Info.Version, c.Info.Schema = "Quittance", version,
		"https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
	c.Info.Description = "Set the variable token to an API key, or to the token of a login. The reference is at " +
		base + "/docs/reference."
	c.Variable = []collectionVariable{{Key: "base_url", Value: base, Type: "string"}, {Key: "token", Type: "string"}}
	examples := samples.Variables()
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		c.Variable = append(c.Variable, collectionVariable{Key: name, Value: examples[name], Type: "string"})
	}
	folders := map[string]int{}
	for n := range routes {
		rt := &routes[n]
		if rt.hidden {
			continue
		}
		at, known := folders[rt.tag]
		if !known {
			at = len(c.Items)
			folders[rt.tag] = at
			c.Items = append(c.Items, collectionFolder{Name: rt.tag})
		}
		request, err := rt.collectionRequest(all[rt.name], texts[rt.name])
		if err != nil {
			return nil, err
		}
		c.Items[at].Items = append(c.Items[at].Items, collectionItem{Name: rt.summary, Request: request})
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("collection: %w", err)
	}
	return text, nil
}

// sampleVariable is a variable in the body of a sample.
var sampleVariable = regexp.MustCompile(`"\$(\w+)"`)

// collectionRequest returns the request of a route, with the body and the query of its sample.
func (rt *route) collectionRequest(sample samples.Sample, text string) (r collectionRequest, err error) {
	path := parameterName.ReplaceAllString(rt.path, "{{$1}}")
	r.Method, r.Description, r.Header = rt.method, text, []collectionVariable{}
	r.URL.Raw, r.URL.Host, r.URL.Path = "{{base_url}}"+path, []string{"{{base_url}}"},
		strings.Split(strings.TrimPrefix(path, "/"), "/")
	if rt.needs == access.Public {
		r.Auth = &collectionAuth{Type: "noauth"}
	}
	sent, err := url.ParseQuery(sample.Query)
	if err != nil {
		return r, fmt.Errorf("collection: %s: %w", rt.name, err)
	}
	for _, name := range rt.query {
		r.URL.Query = append(r.URL.Query, collectionVariable{Key: name, Value: sent.Get(name),
			Description: queryParameter(name).Description, Disabled: !sent.Has(name)})
	}
	if sample.Query != "" {
		r.URL.Raw += "?" + sample.Query
	}
	switch {
	case sample.Body != "":
		r.Body = &collectionBody{Mode: "raw", Raw: sampleVariable.ReplaceAllString(sample.Body, `"{{$1}}"`)}
		r.Header = append(r.Header, collectionVariable{Key: "Content-Type", Value: "application/json"})
	case sample.File != "":
		r.Body = &collectionBody{Mode: "raw", Raw: sample.File}
		r.Header = append(r.Header, collectionVariable{Key: "Content-Type", Value: sample.FileType})
	}
	if rt.idempotent {
		r.Header = append(r.Header, collectionVariable{Key: headerIdempotencyKey, Value: "{{$guid}}",
			Description: idempotencyText})
	}
	return r, nil
}

func (c *call) serveCollection(context.Context) (int, jsontext.Value, error) {
	document, err := c.collection()
	return http.StatusOK, document, err
}
