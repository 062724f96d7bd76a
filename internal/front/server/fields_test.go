package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// fault is one value of one field and the rules that it breaks. Without rules, the value is accepted.
type fault struct {
	path  string // of the field that is set
	value string // JSON; "" removes the field
	rules string // separated by commas
	at    string // the path of the reported faults, if it is not path
}

func repeat(n int, text string) string { return `"` + strings.Repeat(text, n) + `"` }

// textFaults returns the cases for a text of at most the given number of code points.
func textFaults(path string, most int, required bool) []fault {
	absent := ""
	if required {
		absent = "required"
	}
	return []fault{
		{path: path, value: "", rules: absent}, {path: path, value: "null", rules: absent},
		{path: path, value: `""`, rules: absent}, {path: path, value: `" \u00a0"`, rules: absent},
		{path: path, value: repeat(most, "é")}, {path: path, value: repeat(most, "😀")},
		{path: path, value: repeat(most+1, "x"), rules: "max_length"}, {path: path, value: "1", rules: "type"},
		{path: path, value: "true", rules: "type"}, {path: path, value: `["x"]`, rules: "type"},
		{path: path, value: `{"x":"y"}`, rules: "type"},
		{path: path, value: `"a\u0000b"`, rules: "control_characters"}, {path: path, value: `"a\u001fb"`,
			rules: "control_characters"}, {path: path, value: `"a\u007f"`, rules: "control_characters"},
		{path: path, value: `"a\u0085"`, rules: "control_characters"}, {path: path, value: `"\u202eabc\u2066"`},
		{path: path, value: `"` + strings.Repeat("x", most) + `\u0001"`, rules: "max_length,control_characters"},
	}
}

// allTextFaults returns the cases for every text of a type that only has a length.
func allTextFaults[T any](prefix string) (faults []fault) {
	for _, field := range invoice.FieldsOf[T]() {
		most, err := strconv.Atoi(field.Tag.Get("maxLength"))
		if err == nil && field.Tag.Get("pattern") == "" && field.Tag.Get("text") == "" {
			faults = append(faults, textFaults(prefix+field.Name, most, field.Tag.Get("required") == "true")...)
		}
	}
	return faults
}

// decimalFaults returns the cases for a number.
func decimalFaults(path string, required, negative bool) []fault {
	absent, below := "", "minimum"
	if required {
		absent = "required"
	}
	if negative {
		below = ""
	}
	return []fault{
		{path: path, value: "", rules: absent}, {path: path, value: "null", rules: absent},
		{path: path, value: "true", rules: "type"}, {path: path, value: "[1]", rules: "type"},
		{path: path, value: "{}", rules: "type"}, {path: path, value: "-0.01", rules: below}, {path: path, value: "-0"},
		{path: path, value: "0"}, {path: path, value: "1234567890123456789", rules: "decimal"},
		{path: path, value: "0.0000001", rules: "decimal"}, {path: path, value: "1e400", rules: "decimal"},
		{path: path, value: "1e-400", rules: "decimal"},
		{path: path, value: "1e999999999999999999999", rules: "decimal"},
		// A string with a number is that number, and all rules for numbers apply.
		{path: path, value: `"1"`}, {path: path, value: `"1050.00"`}, {path: path, value: `"1.5e1"`}, {path: path,
			value: `"\u0031"`}, {path: path, value: `"-0.01"`, rules: below},
		{path: path, value: `"1234567890123456789"`, rules: "decimal"}, {path: path, value: `"0.0000001"`, rules: "decimal"},
		{path: path, value: `"1e400"`, rules: "decimal"}, {path: path, value: repeat(100_000, "9"), rules: "decimal"},
		{path: path, value: `""`, rules: "type"}, {path: path, value: `" 1"`, rules: "type"},
		{path: path, value: `"1 "`, rules: "type"}, {path: path, value: `"+1"`, rules: "type"},
		{path: path, value: `"1,050.00"`, rules: "type"}, {path: path, value: `"1."`, rules: "type"},
		{path: path, value: `".5"`, rules: "type"}, {path: path, value: `"01"`, rules: "type"},
		{path: path, value: `"0x10"`, rules: "type"}, {path: path, value: `"NaN"`, rules: "type"},
		{path: path, value: `"Infinity"`, rules: "type"}, {path: path, value: `"null"`, rules: "type"},
		{path: path, value: `"1\n"`, rules: "type"}, {path: path, value: `"1\u0000"`, rules: "type"},
		{path: path, value: `"١"`, rules: "type"},
		{path: path, value: `"\"1\""`, rules: "type"},
	}
}

// fieldFaults returns the cases for every rule of every field of an invoice.
func fieldFaults() []fault {
	faults := []fault{
		{path: "buyer_country", value: `"AE"`}, {path: "buyer_country", value: "", rules: ""},
		{path: "buyer_country", value: `"ae"`, rules: "pattern"}, {path: "buyer_country", value: `"ARE"`, rules: "pattern"},
		{path: "buyer_country", value: `"A"`, rules: "pattern"}, {path: "buyer_country", value: `"A\n"`,
			rules: "control_characters,pattern"}, {path: "buyer_country", value: `"ZZ"`},
		{path: "buyer_country", value: "784", rules: "type"}, {path: "buyer_country", value: `"ÄÖ"`, rules: "pattern"},
		{path: "currency", value: "", rules: "required"}, {path: "currency", value: "null", rules: "required"},
		{path: "currency", value: `"AE"`, rules: "currency"},
		{path: "currency", value: `"aed"`, rules: "currency"},
		{path: "currency", value: `"ZZZ"`, rules: "currency"},
		{path: "currency", value: `" AED"`, rules: "currency"},
		{path: "currency", value: "784", rules: "type"},
		{path: "issue_time", value: `"00:00"`}, {path: "issue_time", value: `"23:59"`}, {path: "issue_time", value: `"24:00"`,
			rules: "pattern"}, {path: "issue_time", value: `"9:30"`, rules: "pattern"},
		{path: "issue_time", value: `"09:60"`, rules: "pattern"}, {path: "issue_time", value: `"09:30:00"`, rules: "pattern"},
		{path: "issue_time", value: `"09:30\n"`, rules: "control_characters,pattern"},
		{path: "issue_time", value: "930", rules: "type"}, {path: "issue_time", value: ""},
		{path: "items", value: "", rules: "required"}, {path: "items", value: "null", rules: "required"},
		{path: "items", value: "[]", rules: "min_items"}, {path: "items", value: "{}", rules: "type"},
		{path: "items", value: `"x"`, rules: "type"}, {path: "items[0]", value: "null", rules: "type"},
		{path: "items[0]", value: "[]", rules: "type"}, {path: "items", value: "[" + strings.Repeat("1,", 1000) + "1]",
			rules: "max_items"}, {path: "no_such", value: "1", rules: "unknown_field"},
		{path: "no_such", value: "null", rules: "unknown_field"},
		{path: "items[0].no_such", value: "1", rules: "unknown_field"}, {path: "Currency", value: `"AED"`,
			rules: "unknown_field"}, {path: "submitted", value: "true", rules: "unknown_field"},
		{path: "id", value: `"x"`, rules: "unknown_field"},
		{path: "submission_state", value: `"accepted"`, rules: "unknown_field"},
		{path: "items[0].description", value: `"a\tb\r\nc"`}, {path: "items[0].description", value: `"a\u000bb"`,
			rules: "control_characters"}, {path: "items[0].description", value: repeat(1024, "ß")},
		{path: "items[0].description", value: repeat(1025, "x"), rules: "max_length"},
		{path: "items[0].description", value: "7", rules: "type"}, {path: "items[0].description", value: ""},
		{path: "note", value: `"a\tb\r\nc"`}, {path: "note", value: `"a\u000bb"`, rules: "control_characters"},
		{path: "note", value: repeat(1024, "ß")}, {path: "note", value: repeat(1025, "x"), rules: "max_length"},
		{path: "note", value: "7", rules: "type"}, {path: "note", value: ""},
		{path: "transaction_flags", value: `"00000000"`}, {path: "transaction_flags", value: `"10000001"`},
		{path: "transaction_flags", value: ""}, {path: "transaction_flags", value: `"0000000"`, rules: "pattern"},
		{path: "transaction_flags", value: `"000000000"`, rules: "pattern"}, {path: "transaction_flags", value: `"0000000X"`,
			rules: "pattern"}, {path: "transaction_flags", value: `""`, rules: "pattern"},
		{path: "transaction_flags", value: "1", rules: "type"},
		{path: "transaction_flags", value: `["00000000"]`, rules: "type"},
		{path: "tax_exchange_rate", value: "3.6725"}, {path: "tax_exchange_rate", value: `"3.6725"`},
		{path: "tax_exchange_rate", value: "0.000001"}, {path: "tax_exchange_rate", value: ""},
		{path: "tax_exchange_rate", value: "0", rules: "exclusive_minimum"},
		{path: "tax_exchange_rate", value: "0.000000", rules: "exclusive_minimum"}, {path: "tax_exchange_rate", value: "-0",
			rules: "exclusive_minimum"}, {path: "tax_exchange_rate", value: "-3.6725", rules: "exclusive_minimum"},
		{path: "tax_exchange_rate", value: "3.67250001", rules: "decimal"},
		{path: "tax_exchange_rate", value: `"x"`, rules: "type"},
	}
	for _, path := range []string{"issue_date", "due_date"} {
		absent := ""
		if path == "issue_date" {
			absent = "required"
		}
		faults = append(faults, fault{path: path, value: "", rules: absent}, fault{path: path, value: "null", rules: absent})
		for _, date := range []string{"0001-01-01", "2024-02-29", "2026-12-31", "9999-12-31"} {
			faults = append(faults, fault{path: path, value: `"` + date + `"`})
		}
		for _, date := range []string{"2026-02-29", "2026-13-01", "2026-00-01", "2026-01-00", "2026-04-31", "0000-01-01",
			"26-01-01", "2026-1-1", "20260101", "2026-01-01T00:00:00Z", "01/02/2026", "10000-01-01", " 2026-01-01", "tomorrow"} {
			faults = append(faults, fault{path: path, value: `"` + date + `"`, rules: "date"})
		}
		faults = append(faults, fault{path: path, value: "20260101", rules: "type"})
	}
	faults = append(faults, allTextFaults[api.Draft]("")...)
	faults = append(faults, allTextFaults[api.Item]("items[0].")...)
	for _, path := range []string{"items[0].base_quantity", "items[0].gross_unit_price", "items[0].vat_rate"} {
		faults = append(faults, decimalFaults(path, false, false)...)
	}
	faults = append(faults, decimalFaults("items[0].discount_amount", false, true)...)
	faults = append(faults, decimalFaults("items[0].net_unit_price", true, false)...)
	faults = append(faults, decimalFaults("items[0].quantity", true, true)...)
	return append(faults, decimalFaults("total_amount", true, true)...)
}

// TestFieldsAreAccepted checks that both engines take the longest and the most unusual values that the rules allow.
func TestFieldsAreAccepted(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		token := c.token(t)
		for _, f := range fieldFaults() {
			if f.rules != "" {
				continue
			}
			if a := s.send(t, request{method: http.MethodPost, path: invoicesPath, body: edit(complete, f.path, f.value),
				token: token}); a.status != http.StatusCreated {
				t.Errorf("%s = %.80s was refused: %s", f.path, f.value, a.text)
			}
		}
	})
}

// TestFieldRules checks that every broken rule of every field is reported with the exact path and the name of the rule,
// and that no other fault is.
func TestFieldRules(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		token := c.token(t)
		send := func(path, body string) response {
			return s.send(t, request{method: http.MethodPost, path: path, body: body, token: token})
		}
		for _, f := range fieldFaults() {
			if f.rules != "" {
				wantRules(t, send(invoicesPath, edit(complete, f.path, f.value)), f)
			}
		}
		for _, f := range []fault{
			{path: "url", value: "", rules: "required"}, {path: "url", value: "null", rules: "required"},
			{path: "url", value: "7", rules: "type"}, {path: "url", value: `"https://a.example/\u0000"`,
				rules: "control_characters"},
			{path: "events", value: "[]", rules: "min_items"},
			{path: "events", value: `"einvoice.terminal"`, rules: "type"}, {path: "events", value: `["einvoice.terminal","x"]`,
				rules: "enum", at: "events[1]"}, {path: "events", value: `[7]`, rules: "type", at: "events[0]"},
			{path: "events", value: "[" + strings.Repeat(`"einvoice.terminal",`, 16) + `"einvoice.terminal"]`,
				rules: "max_items"},
			{path: "description", value: repeat(1025, "x"), rules: "max_length"}, {path: "description", value: `"\u0007"`,
				rules: "control_characters"}, {path: "secret", value: `"x"`, rules: "unknown_field"},
		} {
			wantRules(t, send(subscriptions, edit(`{"url":"https://hooks.example.com/"}`, f.path, f.value)), f)
		}
		for _, f := range []fault{
			{path: "email", value: "", rules: "required"}, {path: "email", value: `" "`, rules: "required"},
			{path: "email", value: "7", rules: "type"}, {path: "email", value: repeat(257, "x"), rules: "max_length"},
			{path: "email", value: `"a\u0000@b.c"`, rules: "control_characters"},
			{path: "password", value: "null", rules: "required"}, {path: "password", value: "7", rules: "type"},
			{path: "password", value: repeat(1025, "x"), rules: "max_length"},
			{path: "password", value: `"a\u0000"`, rules: "control_characters"}, {path: "otp", value: "1", rules: "type"},
			{path: "no_such", value: "1", rules: "unknown_field"},
		} {
			wantRules(t, s.send(t, request{method: http.MethodPost, path: loginPath,
				body: edit(credentials(c.email, password), f.path, f.value)}), f)
		}
	})
}

func wantRules(t *testing.T, a response, f fault) {
	t.Helper()
	at := f.at
	if at == "" {
		at = f.path
	}
	a.wantFaults(t, api.CodeValidationFailed, map[string][]string{at: strings.Split(f.rules, ",")})
}

// TestAllFaultsAreReportedAtOnce checks that one response reports every fault of a payload, including those of rules
// across fields.
func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		body, want := complete, map[string][]string{}
		for _, f := range []fault{
			{path: "invoice_number", value: "", rules: "required"}, {path: "recipient_name", value: "7", rules: "type"},
			{path: "recipient_network_id", value: repeat(65, "x"), rules: "max_length"},
			{path: "buyer_endpoint_scheme", value: `"\u0001"`, rules: "control_characters"},
			{path: "buyer_street", value: "{}", rules: "type"}, {path: "buyer_city", value: "[]", rules: "type"},
			{path: "buyer_subdivision", value: "true", rules: "type"}, {path: "buyer_country", value: `"uae"`, rules: "pattern"},
			{path: "total_amount", value: "1.001", rules: "minor_unit"}, {path: "issue_date", value: `"2026-02-30"`,
				rules: "date"}, {path: "issue_time", value: `"25:00"`, rules: "pattern"},
			{path: "due_date", value: `"soon"`, rules: "date"}, {path: "payment_means_code", value: "30", rules: "type"},
			{path: "no_such", value: "1", rules: "unknown_field"}, {path: "items[0].item_code", value: "7", rules: "type"},
			{path: "items[0].name", value: `""`, rules: "required"},
			{path: "items[0].description", value: repeat(1025, "x"), rules: "max_length"},
			{path: "items[0].unit_code", value: repeat(65, "x"), rules: "max_length"}, {path: "items[0].quantity",
				value: `"ten"`, rules: "type"}, {path: "items[0].base_quantity", value: "-1", rules: "minimum"},
			{path: "items[0].net_unit_price", value: "", rules: "required"}, {path: "items[0].gross_unit_price", value: "1e400",
				rules: "decimal"}, {path: "items[0].discount_amount", value: "0.0000001", rules: "decimal"},
			{path: "items[0].vat_category", value: "5", rules: "type"}, {path: "items[0].vat_rate", value: "-5",
				rules: "minimum"}, {path: "items[0].no_such", value: "[]", rules: "unknown_field"},
			{path: "items[1]", value: `{"name":"N","quantity":1,"net_unit_price":-1}`, rules: "minimum",
				at: "items[1].net_unit_price"}, {path: "items[2]", value: "7", rules: "type"},
		} {
			body = edit(body, f.path, f.value)
			at := f.path
			if f.at != "" {
				at = f.at
			}
			want[at] = []string{f.rules}
		}
		c.post(t, invoicesPath, body).wantFaults(t, api.CodeValidationFailed, want)

		want["currency"] = []string{"currency"} // without a valid currency, total_amount has no known minor unit
		withoutUnit := maps.Clone(want)
		delete(withoutUnit, "total_amount")
		c.post(t, invoicesPath, edit(body, "currency", `"XXXX"`)).wantFaults(t, api.CodeValidationFailed, withoutUnit)

		var many []string
		for n := range 600 {
			many = append(many, fmt.Sprintf(`"k%d":0`, n))
		}
		a := c.post(t, invoicesPath, "{"+strings.Join(many, ",")+"}")
		a.want(t, http.StatusUnprocessableEntity, api.CodeValidationFailed)
		wantRaw(t, a, "/error/details/k499/0/rule", `"unknown_field"`)
		wantRaw(t, a, "/error/details/k500", "")
		wantRaw(t, a, "/error/details/body/0/rule", `"unknown_field"`)
	})
}
