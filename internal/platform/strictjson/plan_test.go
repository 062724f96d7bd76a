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
		if got := fmt.Sprint(recover()); !strings.Contains(got, "more than 128 fields") {
			t.Errorf("panic %q", got)
		}
	}()
	strictjson.For[tooWide]()
}

// tooWide has one field more than a decoder can have.
type tooWide struct {
	F000 string `json:"f000"`
	F001 string `json:"f001"`
	F002 string `json:"f002"`
	F003 string `json:"f003"`
	F004 string `json:"f004"`
	F005 string `json:"f005"`
	F006 string `json:"f006"`
	F007 string `json:"f007"`
	F008 string `json:"f008"`
	F009 string `json:"f009"`
	F010 string `json:"f010"`
	F011 string `json:"f011"`
	F012 string `json:"f012"`
	F013 string `json:"f013"`
	F014 string `json:"f014"`
	F015 string `json:"f015"`
	F016 string `json:"f016"`
	F017 string `json:"f017"`
	F018 string `json:"f018"`
	F019 string `json:"f019"`
	F020 string `json:"f020"`
	F021 string `json:"f021"`
	F022 string `json:"f022"`
	F023 string `json:"f023"`
	F024 string `json:"f024"`
	F025 string `json:"f025"`
	F026 string `json:"f026"`
	F027 string `json:"f027"`
	F028 string `json:"f028"`
	F029 string `json:"f029"`
	F030 string `json:"f030"`
	F031 string `json:"f031"`
	F032 string `json:"f032"`
	F033 string `json:"f033"`
	F034 string `json:"f034"`
	F035 string `json:"f035"`
	F036 string `json:"f036"`
	F037 string `json:"f037"`
	F038 string `json:"f038"`
	F039 string `json:"f039"`
	F040 string `json:"f040"`
	F041 string `json:"f041"`
	F042 string `json:"f042"`
	F043 string `json:"f043"`
	F044 string `json:"f044"`
	F045 string `json:"f045"`
	F046 string `json:"f046"`
	F047 string `json:"f047"`
	F048 string `json:"f048"`
	F049 string `json:"f049"`
	F050 string `json:"f050"`
	F051 string `json:"f051"`
	F052 string `json:"f052"`
	F053 string `json:"f053"`
	F054 string `json:"f054"`
	F055 string `json:"f055"`
	F056 string `json:"f056"`
	F057 string `json:"f057"`
	F058 string `json:"f058"`
	F059 string `json:"f059"`
	F060 string `json:"f060"`
	F061 string `json:"f061"`
	F062 string `json:"f062"`
	F063 string `json:"f063"`
	F064 string `json:"f064"`
	F065 string `json:"f065"`
	F066 string `json:"f066"`
	F067 string `json:"f067"`
	F068 string `json:"f068"`
	F069 string `json:"f069"`
	F070 string `json:"f070"`
	F071 string `json:"f071"`
	F072 string `json:"f072"`
	F073 string `json:"f073"`
	F074 string `json:"f074"`
	F075 string `json:"f075"`
	F076 string `json:"f076"`
	F077 string `json:"f077"`
	F078 string `json:"f078"`
	F079 string `json:"f079"`
	F080 string `json:"f080"`
	F081 string `json:"f081"`
	F082 string `json:"f082"`
	F083 string `json:"f083"`
	F084 string `json:"f084"`
	F085 string `json:"f085"`
	F086 string `json:"f086"`
	F087 string `json:"f087"`
	F088 string `json:"f088"`
	F089 string `json:"f089"`
	F090 string `json:"f090"`
	F091 string `json:"f091"`
	F092 string `json:"f092"`
	F093 string `json:"f093"`
	F094 string `json:"f094"`
	F095 string `json:"f095"`
	F096 string `json:"f096"`
	F097 string `json:"f097"`
	F098 string `json:"f098"`
	F099 string `json:"f099"`
	F100 string `json:"f100"`
	F101 string `json:"f101"`
	F102 string `json:"f102"`
	F103 string `json:"f103"`
	F104 string `json:"f104"`
	F105 string `json:"f105"`
	F106 string `json:"f106"`
	F107 string `json:"f107"`
	F108 string `json:"f108"`
	F109 string `json:"f109"`
	F110 string `json:"f110"`
	F111 string `json:"f111"`
	F112 string `json:"f112"`
	F113 string `json:"f113"`
	F114 string `json:"f114"`
	F115 string `json:"f115"`
	F116 string `json:"f116"`
	F117 string `json:"f117"`
	F118 string `json:"f118"`
	F119 string `json:"f119"`
	F120 string `json:"f120"`
	F121 string `json:"f121"`
	F122 string `json:"f122"`
	F123 string `json:"f123"`
	F124 string `json:"f124"`
	F125 string `json:"f125"`
	F126 string `json:"f126"`
	F127 string `json:"f127"`
	F128 string `json:"f128"`
}
