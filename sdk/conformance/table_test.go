package conformance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// testCase is a case of the table.
type testCase struct {
	Name  string `json:"name"`
	Steps []step `json:"steps"`
}

// step is one call of an SDK.
type step struct {
	Operation   string         `json:"operation"`
	Arguments   any            `json:"arguments"`
	Credentials any            `json:"credentials"` // those of the API key if nil
	Options     map[string]any `json:"options"`
	BaseURL     string         `json:"base_url"` // instead of the proxy's, or below it if it begins with a slash
	Faults      []fault        `json:"faults"`
	Result      any            `json:"result"`
	Error       any            `json:"error"`
	Requests    []expected     `json:"requests"`
}

// expected is a request that must have arrived.
type expected struct {
	Is      string            `json:"is"` // method and path
	Query   *string           `json:"query"`
	Headers map[string]string `json:"headers"` // a value that begins with ^ is the beginning of the header field
	Body    any               `json:"body"`
	Key     string            `json:"key"` // none, first, same or new
	WaitMS  int64             `json:"wait_ms"`
}

// readTable reads the cases. Numbers keep their text.
func readTable(t *testing.T) []testCase {
	t.Helper()
	text, err := os.ReadFile("cases.json")
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	var table struct {
		Cases []testCase `json:"cases"`
	}
	if err := decoder.Decode(&table); err != nil {
		t.Fatal(err)
	}
	return table.Cases
}

// variables are the values that "$name" stands for.
type variables map[string]any

// expand replaces the variables and drafts in a value of the table.
func (v variables) expand(value any) (any, error) {
	switch value := value.(type) {
	case string:
		return v.text(value)
	case []any:
		list := make([]any, len(value))
		for n := range value {
			var err error
			if list[n], err = v.expand(value[n]); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		object := map[string]any{}
		for name, member := range value {
			expanded, err := v.expand(member)
			if err != nil {
				return nil, err
			}
			object[name] = expanded
		}
		if text, ok := object["$text"].(string); ok {
			return v.fill(text), nil
		}
		if number, ok := object["$draft"].(string); ok {
			delete(object, "$draft")
			draft := exampleDraft(number + "-" + fmt.Sprint(v["unique"]))
			maps.Copy(draft, object)
			return draft, nil
		}
		return object, nil
	default:
		return value, nil
	}
}

// text returns the value of a variable, or a text that is none.
func (v variables) text(text string) (any, error) {
	name, isVariable := strings.CutPrefix(text, "$")
	if !isVariable {
		return text, nil
	}
	value, found := v[name]
	if !found {
		return nil, fmt.Errorf("the variable %s has no value", text)
	}
	return value, nil
}

// exampleDraft returns a complete invoice. Its decimals are texts, because not every runner can read the scale of a
// number.
func exampleDraft(number string) map[string]any {
	return map[string]any{
		"invoice_number": number, "recipient_name": "Palm Trading LLC", "recipient_network_id": "1234567890",
		"buyer_endpoint_scheme": "0235", "buyer_street": "12 Harbour Road", "buyer_city": "Dubai", "buyer_country": "AE",
		"buyer_subdivision": "DXB", "total_amount": "1050.00", "currency": "AED", "issue_date": "2026-03-01",
		"due_date":           "2026-03-31",
		"payment_means_code": "30",
		"items": []any{map[string]any{"item_code": "SKU-7", "name": "Consulting", "description": "Integration workshop",
			"unit_code": "HUR", "quantity": "10", "base_quantity": "1", "net_unit_price": "100.00", "gross_unit_price": "110.00",
			"discount_amount": "10.00", "vat_category": "S", "vat_rate": "5"}},
	}
}

// match compares a value with what is expected, and saves the variables that the expectation names.
func (v variables) match(at string, want, got any) error {
	switch want := want.(type) {
	case map[string]any:
		if matched, err := v.matchSpecial(at, want, got); matched {
			return err
		}
		object, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is %s, want an object", at, show(got))
		}
		var errs []error
		for _, name := range slices.Sorted(maps.Keys(want)) {
			member, found := object[name]
			if !found {
				errs = append(errs, fmt.Errorf("%s.%s is missing", at, name))
				continue
			}
			errs = append(errs, v.match(at+"."+name, want[name], member))
		}
		return errors.Join(errs...)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Errorf("%s is %s, want a list of %d", at, show(got), len(want))
		}
		var errs []error
		for n := range want {
			errs = append(errs, v.match(fmt.Sprintf("%s[%d]", at, n), want[n], list[n]))
		}
		return errors.Join(errs...)
	case string:
		expanded, err := v.text(want)
		if err != nil {
			return err
		}
		if text(expanded) != text(got) {
			return fmt.Errorf("%s is %s, want %s", at, show(got), show(expanded))
		}
		return nil
	default:
		if text(want) != text(got) {
			return fmt.Errorf("%s is %s, want %s", at, show(got), show(want))
		}
		return nil
	}
}

// matchSpecial handles an expectation that is no value.
func (v variables) matchSpecial(at string, want map[string]any, got any) (special bool, err error) {
	if name, ok := want["$save"].(string); ok {
		v[name] = got
		return true, nil
	}
	if _, ok := want["$any"]; ok {
		if got == nil {
			return true, fmt.Errorf("%s is null", at)
		}
		return true, nil
	}
	if length, ok := want["$length"]; ok {
		if list, ok := got.([]any); !ok || fmt.Sprint(len(list)) != fmt.Sprint(length) {
			return true, fmt.Errorf("%s is %s, want a list of %v", at, show(got), length)
		}
		return true, nil
	}
	if part, ok := want["$contains"].(string); ok {
		if s, ok := got.(string); !ok || !strings.Contains(s, part) {
			return true, fmt.Errorf("%s is %s, which does not contain %q", at, show(got), part)
		}
		return true, nil
	}
	return false, nil
}

// text returns a text that is the same for a number and a string with its text.
func text(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case json.Number:
		return value.String()
	default:
		return show(value)
	}
}

// show returns a value as JSON.
func show(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}
