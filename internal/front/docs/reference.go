package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
)

// The paths of the reference that are not made of the name of a tag.
const (
	errorsPath = referencePath + "/errors"
	eventsPath = referencePath + "/webhook-events"
)

// operationView is an operation, or a callback, as the reference shows it.
type operationView struct {
	*operation
	About                            template.HTML
	PathParameters, Query, Headers   []field
	Body                             []field
	BodyTypes                        []string
	Successes                        []successView
	ResponseHeaders                  []field
	Errors                           []errorView
	Samples                          []sampleView
	Request, Response, ResponseTitle template.HTML
}

// successView is a response of an operation that is no error.
type successView struct {
	Status, Type, Link string
	Text               template.HTML
}

// errorView is an error of the API with an example of its body.
type errorView struct {
	Status, Code, Message string
	Body                  template.HTML
	// When and What are the columns of the table in docs/errors.md: the causes of the error, and what the caller does
	// about it.
	When, What template.HTML
	Headers    []field
}

// sampleView is a sample as HTML.
type sampleView struct {
	Language, Label string
	Source          template.HTML
}

// pathOf returns the path of the page about a tag: /docs/reference/credit-notes.
func pathOf(tag string) string {
	return referencePath + "/" + strings.ReplaceAll(strings.ToLower(tag), " ", "-")
}

// referencePages returns the pages of the reference: the first one, one for each tag, the webhook events and the
// errors.
func (b *builder) referencePages() ([]page, error) {
	first := page{Path: referencePath, Title: "API reference", Reference: true}
	var pages []page
	for _, tag := range b.api.Tags {
		p, err := b.tagPage(tag.Name, tag.Description)
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
		b.search(kindPage, p.Title, tag.Description, p.Path)
	}
	events, err := b.eventsPage()
	if err != nil {
		return nil, err
	}
	errors, err := b.errorsPage()
	if err != nil {
		return nil, err
	}
	pages = append(pages, events, errors)
	envelopes, err := b.objects("Pagination", "Cursor", "ErrorBody", "Fault")
	if err != nil {
		return nil, err
	}
	first.Body, err = b.execute("introduction", map[string]any{"API": b.api, "Pages": pages, "Objects": envelopes})
	return append([]page{first}, pages...), err
}

// execute renders a part of the reference.
func (b *builder) execute(name string, data any) (template.HTML, error) {
	var out bytes.Buffer
	if err := b.layout.ExecuteTemplate(&out, name, data); err != nil {
		return "", fmt.Errorf("docs: %s: %w", name, err)
	}
	return template.HTML(out.String()), nil //nolint:gosec // rendered by html/template
}

// tagPage returns the page about the operations with a tag, and the objects that they return.
func (b *builder) tagPage(tag, about string) (page, error) {
	p := page{Path: pathOf(tag), Title: tag, About: about, Reference: true}
	var views []operationView
	var returned []string
	for _, o := range b.api.operations(tag) {
		view, name, err := b.operation(o, p.Path)
		if err != nil {
			return p, fmt.Errorf("docs: %s: %w", o.ID, err)
		}
		views = append(views, view)
		p.Sections = append(p.Sections, section{ID: o.ID, Title: o.Summary, Method: o.Method, Path: o.Path})
		if name != "" && !slices.Contains(returned, name) {
			returned = append(returned, name)
		}
	}
	objects, err := b.objects(returned...)
	if err != nil {
		return p, err
	}
	for _, object := range objects {
		b.searchFields(object.Name, object.Fields, p.Path)
	}
	p.Body, err = b.execute("operations", map[string]any{"Title": tag, "About": about, "Operations": views,
		"Objects": objects})
	return p, err
}

// objects returns schemas by their names.
func (b *builder) objects(names ...string) (out []objectView, err error) {
	for _, name := range names {
		s, ok := b.api.Components.Schemas[name]
		if !ok {
			return nil, fmt.Errorf("docs: there is no schema %s", name)
		}
		object := objectView{Name: name}
		if object.Description, err = markdown(s.Description); err != nil {
			return nil, err
		}
		if object.Fields, err = b.api.fields(name, s, []string{name}); err != nil {
			return nil, err
		}
		out = append(out, object)
	}
	return out, nil
}

// operation returns the view of an operation, and the name of the object that it returns, "" for a file.
func (b *builder) operation(o *operation, path string) (v operationView, returned string, err error) {
	v.operation = o
	b.search(kindOperation, o.Summary, o.Method+" "+o.Path+" "+o.ID, path+"#"+o.ID)
	if v.About, err = markdown(o.Description); err != nil {
		return v, "", err
	}
	for _, p := range o.Parameters {
		f, err := b.api.field(o.ID, p.Name, p.Schema, nil)
		if err != nil {
			return v, "", err
		}
		if f.Description, err = markdown(p.Description); err != nil {
			return v, "", err
		}
		f.Required = p.Required
		switch p.In {
		case "path":
			v.PathParameters = append(v.PathParameters, f)
		case "query":
			v.Query = append(v.Query, f)
			b.search(kindField, p.Name, o.Summary, path+"#"+f.ID)
		default:
			v.Headers = append(v.Headers, f)
		}
	}
	if err := b.requestBody(&v, path); err != nil {
		return v, "", err
	}
	for _, s := range o.Samples {
		v.Samples = append(v.Samples, sampleView{s.Language, s.Label, highlight(s.Language, s.Source)})
	}
	returned, err = b.responses(&v, path)
	return v, returned, err
}

// requestBody adds the body of a request to a view.
func (b *builder) requestBody(v *operationView, path string) error {
	v.BodyTypes = slices.Sorted(maps.Keys(v.operation.Body.Content))
	body, isJSON := v.operation.Body.Content["application/json"]
	if !isJSON {
		return nil
	}
	object, name, err := b.api.object(body.Schema)
	if err != nil || object == nil {
		return err
	}
	if v.Body, err = b.api.fields(v.ID, object, []string{name}); err != nil {
		return err
	}
	b.searchFields(v.ID, v.Body, path)
	v.Request, err = jsonExample(body.Example)
	return err
}

// responses adds the responses to a view, and returns the name of the object that the operation returns.
func (b *builder) responses(v *operationView, path string) (returned string, err error) {
	headers := map[string][]string{}
	statuses := v.sortedStatuses()
	for _, status := range statuses {
		r := v.Responses[status]
		for name := range r.Headers {
			headers[name] = append(headers[name], status)
		}
		if status >= "300" {
			if v.Errors, err = b.appendErrors(v.Errors, status, r); err != nil {
				return "", err
			}
			continue
		}
		success := successView{Status: status}
		if success.Text, err = markdown(r.Description); err != nil {
			return "", err
		}
		body, isJSON := r.Content["application/json"]
		if !isJSON {
			success.Type = strings.Join(slices.Sorted(maps.Keys(r.Content)), " or ")
			v.Successes = append(v.Successes, success)
			continue
		}
		if success.Type, returned, err = b.data(body.Schema); err != nil {
			return "", err
		}
		success.Link = path + "#" + returned
		v.Successes = append(v.Successes, success)
		if v.Response == "" {
			v.Response, err = jsonExample(body.Example)
			v.ResponseTitle = template.HTML(template.HTMLEscapeString(status)) //nolint:gosec // escaped
		}
		if err != nil {
			return "", err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		f, err := b.header(name)
		if err != nil {
			return "", err
		}
		f.ID = v.ID + ".response." + name
		if len(headers[name]) < len(statuses) {
			f.Limits = append(f.Limits, "with "+strings.Join(headers[name], ", "))
		}
		v.ResponseHeaders = append(v.ResponseHeaders, f)
	}
	return returned, nil
}

// data describes the member data of an envelope, and returns the name of the object in it.
func (b *builder) data(envelope *schema) (text, name string, err error) {
	s, envelopeName := b.api.named(envelope)
	if s == nil || s.Properties["data"] == nil {
		return "", "", fmt.Errorf("docs: %s has no data", envelopeName)
	}
	if text, err = b.api.typeText(s.Properties["data"]); err != nil {
		return "", "", err
	}
	_, name, err = b.api.object(s.Properties["data"])
	return text, name, err
}

// header returns a header field of responses.
func (b *builder) header(name string) (f field, err error) {
	h, ok := b.api.Components.Headers[name]
	if !ok {
		return f, fmt.Errorf("docs: the header field %s is not described", name)
	}
	if f, err = b.api.field("header", name, h.Schema, nil); err != nil {
		return f, err
	}
	f.Description, err = markdown(h.Description)
	return f, err
}

// appendErrors appends the errors with a status, each with its example.
func (b *builder) appendErrors(list []errorView, status string, r response) ([]errorView, error) {
	examples := r.Content["application/json"].Examples
	for _, code := range slices.Sorted(maps.Keys(examples)) {
		found, ok := b.api.Components.Examples[code]
		if !ok {
			return nil, fmt.Errorf("docs: there is no example of %s", code)
		}
		body, err := jsonExample(found.Value)
		if err != nil {
			return nil, err
		}
		list = append(list, errorView{Status: status, Code: code, Message: found.Summary, Body: body})
	}
	return list, nil
}

// errorsPage returns the page with every error code.
func (b *builder) errorsPage() (page, error) {
	p := page{Path: errorsPath, Title: "Errors", About: "Every error code: when it occurs, what to do, and an example.",
		Reference: true}
	statuses := map[string]string{}
	headers := map[string]map[string]bool{}
	for _, methods := range b.api.Paths {
		for _, o := range methods {
			for status, r := range o.Responses {
				for code := range r.Content["application/json"].Examples {
					statuses[code] = status
					if headers[status] == nil {
						headers[status] = map[string]bool{}
					}
					for name := range r.Headers {
						headers[status][name] = true
					}
				}
			}
		}
	}
	statuses["method_not_allowed"] = "405" // of no operation
	var views []errorView
	for code, found := range b.api.Components.Examples {
		body, err := jsonExample(found.Value)
		if err != nil {
			return p, err
		}
		advice, ok := b.advice[code]
		if !ok || statuses[code] == "" {
			return p, fmt.Errorf("docs: docs/errors.md does not describe %s", code)
		}
		v := errorView{Status: statuses[code], Code: code, Message: found.Summary, Body: body, When: advice[0],
			What: advice[1]}
		for _, name := range []string{"Retry-After", "WWW-Authenticate"} {
			if !headers[v.Status][name] {
				continue
			}
			f, err := b.header(name)
			if err != nil {
				return p, err
			}
			f.ID = code + "." + name
			v.Headers = append(v.Headers, f)
		}
		views = append(views, v)
	}
	slices.SortFunc(views, func(a, b errorView) int {
		return cmp.Or(strings.Compare(a.Status, b.Status), strings.Compare(a.Code, b.Code))
	})
	for _, v := range views {
		p.Sections = append(p.Sections, section{ID: v.Code, Title: v.Code})
		b.search(kindError, v.Code, v.Status+" "+v.Message, p.Path+"#"+v.Code)
	}
	var err error
	p.Body, err = b.execute("errors", views)
	return p, err
}

// eventsPage returns the page with every event and its callback.
func (b *builder) eventsPage() (page, error) {
	p := page{Path: eventsPath, Title: "Webhook events",
		About:     "The callbacks that a subscription receives: header fields, body and an example of each event.",
		Reference: true}
	var views []operationView
	var payloads []string
	for _, kind := range slices.Sorted(maps.Keys(b.api.Webhooks)) {
		o := b.api.Webhooks[kind]["post"]
		if o == nil {
			return p, fmt.Errorf("docs: %s has no callback", kind)
		}
		v := operationView{operation: o}
		var err error
		if v.About, err = markdown(o.Description); err != nil {
			return p, err
		}
		for _, h := range o.Parameters {
			f, err := b.api.field(o.ID, h.Name, h.Schema, nil)
			if err != nil {
				return p, err
			}
			if f.Description, err = markdown(h.Description); err != nil {
				return p, err
			}
			f.Required = h.Required
			v.Headers = append(v.Headers, f)
		}
		body := o.Body.Content["application/json"]
		_, name, err := b.api.object(body.Schema)
		if err != nil {
			return p, err
		}
		if !slices.Contains(payloads, name) {
			payloads = append(payloads, name)
		}
		v.Successes = []successView{{Type: name, Link: "#" + name}}
		if v.Request, err = jsonExample(body.Example); err != nil {
			return p, err
		}
		views = append(views, v)
		p.Sections = append(p.Sections, section{ID: o.ID, Title: o.Summary})
		b.search(kindEvent, o.Summary, o.Description, p.Path+"#"+o.ID)
	}
	objects, err := b.objects(payloads...)
	if err != nil {
		return p, err
	}
	for _, object := range objects {
		b.searchFields(object.Name, object.Fields, p.Path)
	}
	p.Body, err = b.execute("events", map[string]any{"Events": views, "Objects": objects})
	return p, err
}

// jsonExample returns an example, indented and coloured; "" if there is none.
func jsonExample(text json.RawMessage) (template.HTML, error) {
	if len(text) == 0 {
		return "", nil
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return "", fmt.Errorf("docs: example: %w", err)
	}
	return highlight("json", out.String()), nil
}
