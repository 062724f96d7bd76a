package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"quittance/client/api"
	"quittance/internal/platform/strictjson"
)

var draftDecoder = strictjson.For[api.Draft]()

// drafts generates invoice drafts that conform to every rule, with and without the optional fields.
func drafts() *rapid.Generator[api.Draft] {
	return rapid.Custom(func(t *rapid.T) api.Draft {
		letters := rapid.SampledFrom([]rune("aZ0 \"\\/<>&é漢😀\u202e\u2028\ufeff"))
		text := func(name string, most int) *string {
			return new("x" + rapid.StringOfN(letters, 0, most-1, -1).Draw(t, name))
		}
		maybe := func(name string, most int) *string {
			if rapid.Bool().Draw(t, name+" is absent") {
				return nil
			}
			return text(name, most)
		}
		date := func(name string) *string {
			day := rapid.IntRange(0, 9998*365).Draw(t, name)
			return new(time.Date(1, 1, 1+day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
		}
		decimal := func(name string, sign string) *api.Decimal {
			scale := rapid.IntRange(0, api.MaxScale).Draw(t, name+" scale")
			digits := fmt.Sprintf("%07d", rapid.Int64Range(0, 999_999_999_999_999_999).Draw(t, name))
			whole := strings.TrimLeft(digits[:len(digits)-scale], "0")
			if whole == "" {
				whole = "0"
			}
			out := sign + whole
			if scale > 0 {
				out += "." + digits[len(digits)-scale:]
			}
			return new(api.MustDecimal(out))
		}
		d := api.Draft{
			InvoiceNumber: text("number", 64), RecipientName: text("name", 256), RecipientNetworkID: maybe("network", 64),
			BuyerStreet: maybe("street", 256), TotalAmount: decimal("total", rapid.SampledFrom([]string{"", "-"}).Draw(t,
				"sign")), Currency: text("currency", 3),
			IssueDate: date("issued"), DueDate: date("due"),
			BuyerCountry: new(rapid.StringMatching(`[A-Z]{2}`).Draw(t, "country")),
			IssueTime:    new(rapid.StringMatching(`([01][0-9]|2[0-3]):[0-5][0-9]`).Draw(t, "time")),
		}
		for range rapid.IntRange(1, 4).Draw(t, "lines") {
			item := api.Item{Name: text("item", 256), Quantity: decimal("quantity", "-"), NetUnitPrice: decimal("net", ""),
				VATRate: decimal("rate", ""), UnitCode: maybe("unit", 64)}
			if rapid.Bool().Draw(t, "described") {
				item.Description = new(rapid.StringOfN(rapid.SampledFrom([]rune("a\t\n\r")), 0, 1024, -1).Draw(t, "description"))
			}
			d.Items = append(d.Items, item)
		}
		return d
	})
}

func TestDraftsRoundTrip(t *testing.T) {
	encoders := map[string]func(api.Draft) ([]byte, error){
		"encoding/json": func(d api.Draft) ([]byte, error) { return json.Marshal(d) },
		"json v2":       func(d api.Draft) ([]byte, error) { return jsonv2.Marshal(d) },
		"indented":      func(d api.Draft) ([]byte, error) { return json.MarshalIndent(d, " ", "\t") },
	}
	for name, encode := range encoders {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				want := drafts().Draw(t, "draft")
				body, err := encode(want)
				if err != nil {
					t.Fatal(err)
				}
				v, err := strictjson.Parse(body)
				if err != nil {
					t.Fatalf("%s: %v", body, err)
				}
				got, faults := draftDecoder.Decode(v)
				if len(faults) > 0 {
					t.Fatalf("%s: %s", body, rules(faults))
				}
				// One of the encoders writes an absent list as an empty one.
				exported := cmp.Exporter(func(reflect.Type) bool { return true })
				if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), exported); d != "" {
					t.Errorf("the decoded draft (-want +got):\n%s", d)
				}
			})
		})
	}
}

// TestDecodedTextIsACopy checks that a draft does not share memory with the buffer of its body.
func TestDecodedTextIsACopy(t *testing.T) {
	body := []byte(tenItems())
	v, err := strictjson.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := draftDecoder.Decode(v)
	clear(body)
	want, _ := draftDecoder.Decode(parse(t, tenItems()))
	wantEqual(t, "the draft after its body was cleared", got, want)
}

func TestWalkRebuildsTheValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(jsonTexts(4).Draw(t, "text"))
		v, err := strictjson.Parse(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		wantEqual(t, "the value of the walk", generic(t, rebuild(t, v)), generic(t, text))
	})
}

// FuzzParse checks for every body that Parse does not panic, that the standard library accepts every text that Parse
// accepts, and that both read the same value.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{``, `{}`, ` [1, -0.5e7,"x\u00e9\ud83d\ude00"] `, `{"a":{"a":[{}]},"\u0062":null}`,
		`{"a":1,"\u0061":2}`, `"\ud800"`, "\ufeff{}", `{} x`, `[[[[[[[[`, "\"\xff\"", `{"\\":"\""}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := strictjson.Parse(body)
		if err != nil {
			if at, ok := errors.AsType[*strictjson.MalformedError](err); !ok || at.Line < 1 || at.Column < 1 ||
				at.Line > bytes.Count(body, []byte{'\n'})+1 || at.Column > len(body)+1 {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		if !json.Valid(body) {
			t.Fatalf("%q is not JSON", body)
		}
		if rebuilt := rebuild(t, v); !reflect.DeepEqual(generic(t, rebuilt), generic(t, body)) {
			t.Fatalf("%q is walked as %q", body, rebuilt)
		}
		merged, err := strictjson.Merge(body, v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := strictjson.Parse(merged); err != nil {
			t.Fatalf("%q merged with itself is %q: %v", body, merged, err)
		}
	})
}

// FuzzDecode checks for every body that decoding does not panic, that it has the same result twice, and that the
// standard library reads a body without faults into the same draft.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(tenItems()))
	for _, seed := range []string{
		`{}`, `[]`, `null`, `{"items":[{},null,7]}`, `{"invoice_number":5,"x":1,"X":{"y":[]}}`,
		`{"items":null,"total_amount":"1"}`,
		`{"invoice_number":"a","recipient_name":"b","total_amount":1.00,"currency":"AED","issue_date":"2024-02-29","items":[{"name":"n","quantity":1e2,"net_unit_price":0.000001}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := strictjson.Parse(body)
		if err != nil {
			return
		}
		got, faults := draftDecoder.Decode(v)
		again, faultsAgain := draftDecoder.Decode(v)
		if !reflect.DeepEqual(got, again) || !reflect.DeepEqual(faults, faultsAgain) {
			t.Fatalf("%q is read in two ways", body)
		}
		if len(faults) > 0 {
			return
		}
		var want api.Draft
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("%q: the standard library: %v", body, err)
		}
		if !reflect.DeepEqual(got, want) { // much faster than cmp.Diff
			wantEqual(t, fmt.Sprintf("%q, compared with the standard library", body), got, want)
		}
	})
}

// tenItems returns the body of a complete draft with ten items, about 3 KB.
func tenItems() string {
	item := `{"item_code":"SKU-7","name":"Consulting","description":"Integration workshop\nday one","unit_code":"HUR","quantity":10,"base_quantity":1,` +
		`"net_unit_price":100.00,"gross_unit_price":110.00,"discount_amount":10.00,"vat_category":"S","vat_rate":5}`
	return `{"invoice_number":"INV-2026-0001","recipient_name":"Palm Trading LLC","recipient_network_id":"1234567890","buyer_endpoint_scheme":"0235",` +
		`"buyer_street":"12 Harbour Road","buyer_city":"Dubai","buyer_subdivision":"DXB","buyer_country":"AE","total_amount":10500.00,"currency":"AED",` +
		`"issue_date":"2026-03-01","issue_time":"09:30","due_date":"2026-03-31","payment_means_code":"30","items":[` +
		strings.Repeat(item+",", 9) + item + `]}`
}

func BenchmarkParse(b *testing.B) {
	body := []byte(tenItems())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := strictjson.Parse(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseAndDecode(b *testing.B) {
	body := []byte(tenItems())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		v, err := strictjson.Parse(body)
		if err != nil {
			b.Fatal(err)
		}
		if _, faults := draftDecoder.Decode(v); len(faults) > 0 {
			b.Fatal(faults)
		}
	}
}

// BenchmarkLinear reads hostile bodies of two sizes. The time for each byte must not grow with the size.
func BenchmarkLinear(b *testing.B) {
	for name, unit := range map[string]string{"unknown keys": `"k%d":0,`, "broken items": `{},`} {
		for _, n := range []int{1_000, 100_000} {
			var body strings.Builder
			body.WriteString(map[bool]string{true: `{`, false: `{"items":[`}[unit != `{},`])
			for i := range n {
				body.WriteString(strings.ReplaceAll(unit, "%d", fmt.Sprint(i)))
			}
			body.WriteString(map[bool]string{true: `"end":0}`, false: `{}]}`}[unit != `{},`])
			text := []byte(body.String())
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					v, err := strictjson.Parse(text)
					if err != nil {
						b.Fatal(err)
					}
					draftDecoder.Decode(v)
				}
			})
		}
	}
}
