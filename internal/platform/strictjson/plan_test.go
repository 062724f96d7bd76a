package strictjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/platform/strictjson"
)

// TestRequestTypesHaveDecoders makes the decoders that the server makes when it starts.
func TestRequestTypesHaveDecoders(t *testing.T) {
	strictjson.For[api.LoginRequest]()
	strictjson.For[api.Profile]()
	strictjson.For[api.Draft]()
	strictjson.For[api.SubscriptionRequest]()
}

type recursive struct {
	Next []recursive `json:"next" maxItems:"1"`
}

type twice struct {
	embedded
	Flat *string `json:"flat"`
}

type custom struct{ X string }

// UnmarshalJSON makes custom a type that decodes itself.
func (*custom) UnmarshalJSON([]byte) error { return nil }

var _ json.Unmarshaler = (*custom)(nil)

func TestForRejectsRulesItCannotEnforce(t *testing.T) {
	tests := map[string]struct {
		make func()
		want string
	}{
		"no struct": {func() { strictjson.For[string]() }, "plain struct"},
		"a time":    {func() { strictjson.For[time.Time]() }, "plain struct"},
		"own unmarshaler": {func() {
			strictjson.For[struct {
				A custom `json:"a"`
			}]()
		}, "plain struct"},
		"recursion":      {func() { strictjson.For[recursive]() }, "contains itself"},
		"no json name":   {func() { strictjson.For[struct{ A string }]() }, "no json name"},
		"one name twice": {func() { strictjson.For[twice]() }, "two fields are named flat"},
		"a map": {func() {
			strictjson.For[struct {
				A map[string]string `json:"a"`
			}]()
		}, "no form here"},
		"a float": {func() {
			strictjson.For[struct {
				A float64 `json:"a"`
			}]()
		}, "no form here"},
		"a list of lists": {func() {
			strictjson.For[struct {
				A [][]string `json:"a" maxItems:"1"`
			}]()
		}, "no form here"},
		"endless list": {func() {
			strictjson.For[struct {
				A []string `json:"a"`
			}]()
		}, "needs maxItems"},
		"bad required": {func() {
			strictjson.For[struct {
				A string `json:"a" required:"yes"`
			}]()
		}, "neither true nor false"},
		"bad count": {func() {
			strictjson.For[struct {
				A string `json:"a" maxLength:"-1"`
			}]()
		}, "tag maxLength"},
		"bad items": {func() {
			strictjson.For[struct {
				A []string `json:"a" maxItems:"x"`
			}]()
		}, "tag maxItems"},
		"bad minimum": {func() {
			strictjson.For[struct {
				A int `json:"a" minimum:"x"`
			}]()
		}, "tag minimum"},
		"bad pattern": {func() {
			strictjson.For[struct {
				A string `json:"a" pattern:"(" patternDescription:"x"`
			}]()
		}, "tag pattern"},
		"silent pattern": {func() {
			strictjson.For[struct {
				A string `json:"a" pattern:"a"`
			}]()
		}, "needs patternDescription"},
		"bad text": {func() {
			strictjson.For[struct {
				A string `json:"a" text:"some"`
			}]()
		}, "tag text"},
		"other format": {func() {
			strictjson.For[struct {
				A string `json:"a" format:"uuid"`
			}]()
		}, "tag format"},
		"length of int": {func() {
			strictjson.For[struct {
				A int `json:"a" maxLength:"1"`
			}]()
		}, "tag maxLength"},
		"minimum of text": {func() {
			strictjson.For[struct {
				A string `json:"a" minimum:"1"`
			}]()
		}, "tag minimum"},
		"enum of int": {func() {
			strictjson.For[struct {
				A int `json:"a" enum:"1,2"`
			}]()
		}, "tag enum"},
		"length of list": {func() {
			strictjson.For[struct {
				A []string `json:"a" maxItems:"1" maxLength:"1"`
			}]()
		}, "tag maxLength"},
		"enum of numbers": {func() {
			strictjson.For[struct {
				A []int `json:"a" maxItems:"1" enum:"1"`
			}]()
		}, "tag enum"},
		"unique items": {func() {
			strictjson.For[struct {
				A []string `json:"a" maxItems:"1" uniqueItems:"true"`
			}]()
		}, "tag uniqueItems"},
		"default": {func() {
			strictjson.For[struct {
				A string `json:"a" default:"x"`
			}]()
		}, "tag default"},
		"inside a list": {func() {
			strictjson.For[struct {
				A []struct {
					B float64 `json:"b"`
				} `json:"a" maxItems:"1"`
			}]()
		}, "field A"},
		"embedded": {func() { strictjson.For[struct{ wideOpen }]() }, "wideOpen"},
	}
	for name, test := range tests {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, "strictjson: ") || !strings.Contains(got, test.want) {
					t.Errorf("%s: panic %q, want %q", name, got, test.want)
				}
			}()
			test.make()
		}()
	}
}

type wideOpen struct {
	Open []string `json:"open"`
}

func TestForRejectsTooManyFields(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "more than 64 fields") {
			t.Errorf("panic %q", got)
		}
	}()
	strictjson.For[tooWide]()
}

// tooWide has one field more than a decoder can have.
type tooWide struct {
	F00 string `json:"f00"`
	F01 string `json:"f01"`
	F02 string `json:"f02"`
	F03 string `json:"f03"`
	F04 string `json:"f04"`
	F05 string `json:"f05"`
	F06 string `json:"f06"`
	F07 string `json:"f07"`
	F08 string `json:"f08"`
	F09 string `json:"f09"`
	F10 string `json:"f10"`
	F11 string `json:"f11"`
	F12 string `json:"f12"`
	F13 string `json:"f13"`
	F14 string `json:"f14"`
	F15 string `json:"f15"`
	F16 string `json:"f16"`
	F17 string `json:"f17"`
	F18 string `json:"f18"`
	F19 string `json:"f19"`
	F20 string `json:"f20"`
	F21 string `json:"f21"`
	F22 string `json:"f22"`
	F23 string `json:"f23"`
	F24 string `json:"f24"`
	F25 string `json:"f25"`
	F26 string `json:"f26"`
	F27 string `json:"f27"`
	F28 string `json:"f28"`
	F29 string `json:"f29"`
	F30 string `json:"f30"`
	F31 string `json:"f31"`
	F32 string `json:"f32"`
	F33 string `json:"f33"`
	F34 string `json:"f34"`
	F35 string `json:"f35"`
	F36 string `json:"f36"`
	F37 string `json:"f37"`
	F38 string `json:"f38"`
	F39 string `json:"f39"`
	F40 string `json:"f40"`
	F41 string `json:"f41"`
	F42 string `json:"f42"`
	F43 string `json:"f43"`
	F44 string `json:"f44"`
	F45 string `json:"f45"`
	F46 string `json:"f46"`
	F47 string `json:"f47"`
	F48 string `json:"f48"`
	F49 string `json:"f49"`
	F50 string `json:"f50"`
	F51 string `json:"f51"`
	F52 string `json:"f52"`
	F53 string `json:"f53"`
	F54 string `json:"f54"`
	F55 string `json:"f55"`
	F56 string `json:"f56"`
	F57 string `json:"f57"`
	F58 string `json:"f58"`
	F59 string `json:"f59"`
	F60 string `json:"f60"`
	F61 string `json:"f61"`
	F62 string `json:"f62"`
	F63 string `json:"f63"`
	F64 string `json:"f64"`
}
