package archtest_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestSDKNeedsOnlyTheStandardLibrary checks that the module of the SDK requires no other module, not even for its
// tests.
func TestSDKNeedsOnlyTheStandardLibrary(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "list", "-m", "all")
	command.Dir = "client"
	if out, err := command.CombinedOutput(); err != nil || string(out) != sdkPath+"\n" {
		t.Errorf("the modules of the SDK: %v\n%s", err, out)
	}
}

// TestSetModulePath publishes a copy of the repository under another module path. Every import of the copy must lead to
// a package, and only import paths may have changed: labels in stored data begin with the name of the product, too.
func TestSetModulePath(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	dir := t.TempDir()
	copyTree(t, dir)
	const published = "code.example/acme/quittance"
	command := exec.CommandContext(t.Context(), "scripts/set-module-path", published)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	label := regexp.MustCompile(regexp.QuoteMeta(published) + `/[a-z/]+/v[0-9]`)
	for name, text := range goFiles(t, dir) {
		if found := label.Find(text); found != nil {
			t.Errorf("%s: a label of stored data has changed to %s", name, found)
		}
	}
}

// copyTree copies the files of the repository to dir.
func copyTree(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		to := filepath.Join(dir, name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", ".bin", "bin", "dist"}, name):
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(to, 0o700)
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoSymbolicLinks: checkouts on Windows and some archives turn a symbolic link into a file that holds only its
// target.
func TestNoSymbolicLinks(t *testing.T) {
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", ".bin", "bin", "dist", "node_modules"}, entry.Name()) &&
			name != "tools/dist":
			return fs.SkipDir
		case entry.Type() == fs.ModeSymlink:
			t.Errorf("%s is a symbolic link", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// goFiles returns the texts of the Go files below dir by their names.
func goFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	texts := map[string][]byte{}
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" {
			return err
		}
		texts[name], err = os.ReadFile(name)
		return err
	})
	if err != nil || len(texts) == 0 {
		t.Fatalf("%d Go files: %v", len(texts), err)
	}
	return texts
}
