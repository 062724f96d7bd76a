package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFilesAreUpToDate checks that each file that is made from the API is what would be made now.
func TestFilesAreUpToDate(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Error(err)
		} else if string(got) != want {
			t.Errorf("%s is not up to date. In the root of the repository, run go run ./sdk/generate", name)
		}
	}
}

// TestUnknownTypesAreErrors checks that a schema for which a language has no type is an error, and not an empty type.
func TestUnknownTypesAreErrors(t *testing.T) {
	for name, property := range map[string]*schema{"no type": {}, "an unknown type": {Type: []string{"tuple"}}} {
		o := object{name: "Thing", schema: &schema{Properties: map[string]*schema{"field": property}}}
		for _, language := range []func([]object) (string, error){python, typescript} {
			if text, err := language([]object{o}); err == nil {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
}

// TestNamesOfDecimals checks that a name cannot be that of a decimal and of an integer, because the TypeScript SDK
// knows decimals by name.
func TestNamesOfDecimals(t *testing.T) {
	field := func(name string) *schema {
		return &schema{Properties: map[string]*schema{"field": {Type: []string{name}}}}
	}
	if text, err := typescriptDecimals([]object{{name: "A", schema: field("number")},
		{name: "B", schema: field("integer")}}); err == nil {
		t.Error(text)
	}
}
