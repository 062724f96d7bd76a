package archtest_test

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	layerFile    = "ARCHITECTURE.md"
	layerHeading = "## Layers"
)

// testLayers holds that a package of a layer imports nothing of a higher one, that every package below internal is in
// the row of its folder, and that no arrow is [forbidden]. What is in no layer is beside the product.
func (m *module) testLayers(t *testing.T) {
	layers, named := readLayers(t)
	for pkg := range named {
		if m.packages[pkg] == nil {
			t.Errorf("%s has the package %s, which is not there", layerFile, pkg)
		}
	}
	m.production(func(pkg string, f sourceFile) {
		from, inLayer := layerOf(layers, pkg)
		below := strings.HasPrefix(pkg, "internal/")
		if below && !inLayer {
			t.Errorf("%s has no layer for %s", layerFile, pkg)
		}
		folder := path.Dir(pkg)
		if _, lists := ordered[folder]; below && folder != "internal" && !lists && !named[pkg] {
			t.Errorf("%s does not name %s in the row of %s", layerFile, pkg, folder)
		}
		for _, spec := range f.syntax.Imports {
			name := relative(imported(spec))
			for _, no := range forbidden {
				if within(pkg, no.from) && within(name, no.to) && !within(name, no.from) {
					t.Errorf("%s: %s imports %s: %s", m.at(spec), pkg, name, no.why)
				}
			}
			if to, ok := layerOf(layers, name); inLayer && ok && to < from {
				t.Errorf("%s: %s imports %s, which is in a higher layer of %s", m.at(spec), pkg, name, layerFile)
			}
		}
	})
}

// forbidden are arrows within and between layers that the order of the layers would allow.
var forbidden = []struct{ from, to, why string }{
	{"internal/front", "internal/provider", "no surface has a way to a provider"},
	{"internal/front/view", "internal/front", "what surfaces read knows none of them"},
	{"internal/front/page", "internal/front", "the kit of pages knows no page"},
	{"internal/front/export", "internal/front/page", "files are no pages"},
	{"internal/front/server", "internal/front/page", "the API has no pages"},
	{"internal/front/server", "internal/front/console", "the API has no pages"},
	{"internal/front/operator", "internal/front/console", "operators and companies see different pages"},
	{"internal/front/console", "internal/front/operator", "operators and companies see different pages"},
	{"internal/cli/remote", "internal/ledger", "these commands have the API alone"},
}

// within tells whether a package is one of a folder, or the folder itself.
func within(pkg, folder string) bool { return strings.HasPrefix(pkg+"/", folder+"/") }

// listedPackage matches a package in the list of a doc.go.
var listedPackage = regexp.MustCompile(`(?m)^//   - ([a-z]+):`)

// ordered are the packages whose doc.go lists the packages below them in order. The first imports all of them, and the
// second is imported by all of them.
var ordered = map[string]int{ledger: 1 << 30, "internal/front/console": -1}

// testOrder holds that a package imports only those that stand before it in the list of the package above it.
func (m *module) testOrder(t *testing.T) {
	for above, rank := range ordered {
		text, err := os.ReadFile(above + "/doc.go")
		if err != nil {
			t.Fatal(err)
		}
		order := map[string]int{above: rank}
		for n, found := range listedPackage.FindAllStringSubmatch(string(text), -1) {
			order[above+"/"+found[1]] = n
		}
		m.production(func(pkg string, f sourceFile) {
			if !strings.HasPrefix(pkg+"/", above+"/") {
				return
			}
			from, listed := order[pkg]
			if !listed {
				t.Errorf("%s/doc.go does not list %s", above, pkg)
			}
			for _, spec := range f.syntax.Imports {
				if to, ok := order[relative(imported(spec))]; ok && to >= from {
					t.Errorf("%s: %s imports %s, which stands behind it in %s/doc.go", m.at(spec), pkg, imported(spec), above)
				}
			}
		})
		if len(order) < 7 {
			t.Errorf("%s/doc.go lists only %d packages", above, len(order))
		}
	}
}

// layerOf returns the layer of a package, which is that of the package above it if the table does not have it.
func layerOf(layers map[string]int, pkg string) (layer int, ok bool) {
	for ; pkg != "." && pkg != "internal"; pkg = path.Dir(pkg) {
		if layer, ok = layers[pkg]; ok {
			return layer, true
		}
	}
	return 0, false
}

// beside are the directories of what is beside the product, each with the packages of the product that may import it.
// Tests may import all but tools, which are modules of their own. The list only gets shorter.
var beside = map[string][]string{
	"quittancetest": {},
	"sandbox":       {"internal/cli"}, // the command quittance sandbox
	"test":          {},
	"tools":         {},
}

// testBeside holds that the product imports nothing that only tests and tools need, so that it is what a company's
// invoices pass through and no more.
func (m *module) testBeside(t *testing.T) {
	used := map[string]bool{}
	m.each(func(pkg string, f sourceFile) {
		if !inProduct(pkg) {
			return
		}
		for _, spec := range f.syntax.Imports {
			name, own := strings.CutPrefix(imported(spec), modulePath+"/")
			top, _, _ := strings.Cut(name, "/")
			allowed, isBeside := beside[top]
			if !own || !isBeside || f.test && top != "tools" {
				continue
			}
			if used[top+" "+pkg] = true; !slices.Contains(allowed, pkg) {
				t.Errorf("%s: %s of the product imports %s, which is beside it", m.at(spec), pkg, name)
			}
		}
	})
	for top, allowed := range beside {
		for _, pkg := range allowed {
			if !used[top+" "+pkg] {
				t.Errorf("%s does not import %s any more: take it off the list", pkg, top)
			}
		}
	}
}

// readLayers returns the layers of the table, each with the number of its row, the highest first, and the packages that
// the table names in the row of their folder.
func readLayers(t *testing.T) (layers map[string]int, named map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(layerFile)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), layerHeading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	quoted := regexp.MustCompile("`([a-z/]+)`")
	layers, named = map[string]int{}, map[string]bool{}
	for row, line := range strings.Split(section, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		var folder string
		for _, name := range quoted.FindAllStringSubmatch(cells[1], -1) {
			if folder = name[1]; !strings.Contains(folder, "/") {
				folder = "internal/" + folder
			}
			layers[folder] = row
		}
		for _, name := range quoted.FindAllStringSubmatch(cells[2], -1) {
			named[folder+"/"+name[1]] = true
		}
	}
	if len(layers) < 10 || len(named) < 30 {
		t.Fatalf("%s has %d layers and %d packages in them", layerFile, len(layers), len(named))
	}
	return layers, named
}
