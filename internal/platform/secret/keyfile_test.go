package secret_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"quittance/internal/platform/secret"
)

func newKeyFile(t *testing.T) (*secret.Keyring, string) {
	t.Helper()
	ring, path := generate(t), filepath.Join(t.TempDir(), "quittance.key")
	if err := ring.WriteKeyFile(path); err != nil {
		t.Fatal(err)
	}
	return ring, path
}

// names returns the names of the files in a directory.
func names(t *testing.T, directory string) string {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, entry := range entries {
		out = append(out, entry.Name())
	}
	return strings.Join(out, " ")
}

func TestKeyFileKeepsEveryKey(t *testing.T) {
	ring := rotate(t, generate(t))
	path := filepath.Join(t.TempDir(), "quittance.key")
	if err := ring.WriteKeyFile(path); err != nil {
		t.Fatal(err)
	}
	sealed, err := ring.Seal([]byte("plain"), binding())
	if err != nil {
		t.Fatal(err)
	}
	read, err := secret.ReadKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := read.Open(sealed, binding()); err != nil || string(plain) != "plain" {
		t.Errorf("opened %q, %v", plain, err)
	}
	if len(read.List()) != 2 || read.PrimaryID() != ring.PrimaryID() {
		t.Errorf("read %+v, want %+v", read.List(), ring.List())
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	if got := names(t, filepath.Dir(path)); got != "quittance.key" {
		t.Errorf("directory holds %q", got)
	}
}

func TestKeyFileIsNeverOverwritten(t *testing.T) {
	_, path := newKeyFile(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := generate(t).WriteKeyFile(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second write: %v, want fs.ErrExist", err)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the file changed (%v)", err)
	}
	if got := names(t, filepath.Dir(path)); got != "quittance.key" {
		t.Errorf("directory holds %q", got)
	}
}

func TestOneOfManyWritersWins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quittance.key")
	var wins atomic.Int32
	var winner atomic.Uint32
	var group sync.WaitGroup
	for range 8 {
		ring := generate(t)
		group.Go(func() {
			err := ring.WriteKeyFile(path)
			switch {
			case err == nil:
				wins.Add(1)
				winner.Store(ring.PrimaryID())
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	group.Wait()
	read, err := secret.ReadKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if wins.Load() != 1 || read.PrimaryID() != winner.Load() {
		t.Errorf("%d writers believe they won; the file holds key %d, want %d", wins.Load(), read.PrimaryID(), winner.Load())
	}
}

func TestReadKeyFileRejectsFilesThatOthersCanRead(t *testing.T) {
	_, path := newKeyFile(t)
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o602, 0o644, 0o666, 0o610} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := secret.ReadKeyFile(path); !errors.Is(err, secret.ErrKeyFileMode) {
			t.Errorf("mode %v: %v, want ErrKeyFileMode", mode, err)
		}
	}
	for _, mode := range []fs.FileMode{0o600, 0o400} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := secret.ReadKeyFile(path); err != nil {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}

// TestReadKeyFileAcceptsCredentials checks that the group can read a key file in the directory of a systemd service's
// credentials, and nowhere else, and that nobody else can read or write one.
func TestReadKeyFileAcceptsCredentials(t *testing.T) {
	_, path := newKeyFile(t)
	dir := filepath.Dir(path)
	for _, c := range []struct {
		mode        fs.FileMode
		credentials string
		accepted    bool
	}{{0o440, dir, true}, {0o400, dir, true}, {0o444, dir, false}, {0o460, dir, false}, {0o440, filepath.Dir(dir), false},
		{0o440, "", false}} {
		t.Setenv("CREDENTIALS_DIRECTORY", c.credentials)
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := secret.ReadKeyFile(path); (err == nil) != c.accepted || err != nil &&
			!errors.Is(err, secret.ErrKeyFileMode) {
			t.Errorf("mode %v, credentials in %q: %v", c.mode, c.credentials, err)
		}
	}
}

func TestReadKeyFileRejectsOtherFiles(t *testing.T) {
	_, path := newKeyFile(t)
	directory := t.TempDir()
	if _, err := secret.ReadKeyFile(directory); !errors.Is(err, secret.ErrKeyFileMode) {
		t.Errorf("a directory: %v, want ErrKeyFileMode", err)
	}
	pipe := filepath.Join(directory, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := secret.ReadKeyFile(pipe); !errors.Is(err, secret.ErrKeyFileMode) {
		t.Errorf("a named pipe: %v, want ErrKeyFileMode", err)
	}
	if _, err := secret.ReadKeyFile(filepath.Join(directory, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file: %v, want fs.ErrNotExist", err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{
		"empty":            "",
		"no JSON":          canary,
		"cut":              string(good[:len(good)/2]),
		"bad material":     withMaterial(t, good, canary),
		"no keys":          `{"primaryKeyId":1,"key":[]}`,
		"another key type": strings.ReplaceAll(string(good), "AesGcmKey", "AesGcmSivKey"),
		"another prefix":   strings.ReplaceAll(string(good), `"TINK"`, `"RAW"`),
		"disabled primary": strings.ReplaceAll(string(good), `"ENABLED"`, `"DISABLED"`),
		"no such primary":  strings.Replace(string(good), `"primaryKeyId":`, `"primaryKeyId":1`, 1),
	}
	for name, content := range contents {
		bad := filepath.Join(directory, "bad.key")
		if err := os.WriteFile(bad, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := secret.ReadKeyFile(bad)
		if !errors.Is(err, secret.ErrKeys) {
			t.Errorf("%s: %v, want ErrKeys", name, err)
			continue
		}
		assertHidden(t, name, err.Error())
	}
}

// material returns the bounds of the key material in a key file with one key.
func material(t *testing.T, keyset map[string]any) map[string]any {
	t.Helper()
	return keyset["key"].([]any)[0].(map[string]any)["keyData"].(map[string]any)
}

// withMaterial returns a key file whose key material is replaced.
func withMaterial(t *testing.T, file []byte, value any) string {
	t.Helper()
	keyset := decode(t, file)
	material(t, keyset)["value"] = value
	out, err := json.Marshal(keyset)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func decode(t *testing.T, file []byte) map[string]any {
	t.Helper()
	var keyset map[string]any
	if err := json.Unmarshal(file, &keyset); err != nil {
		t.Fatal(err)
	}
	return keyset
}

func TestDisabledKeyIsListedAndDoesNotOpen(t *testing.T) {
	old := generate(t)
	sealed, err := old.Seal([]byte("x"), binding())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "quittance.key")
	if err := rotate(t, old).WriteKeyFile(path); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The first key in the file is the old one.
	if err := os.WriteFile(path, []byte(strings.Replace(string(file), `"ENABLED"`, `"DISABLED"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	ring, err := secret.ReadKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if keys := ring.List(); len(keys) != 2 || keys[0] != (secret.Key{ID: old.PrimaryID(), Status: "disabled"}) {
		t.Errorf("List = %+v", keys)
	}
	if _, err := ring.OpenText(sealed, binding()); !errors.Is(err, secret.ErrUnknownKey) {
		t.Errorf("open under a disabled key: %v, want ErrUnknownKey", err)
	}
}

func TestReplaceKeyFileLosesNoKey(t *testing.T) {
	ring, path := newKeyFile(t)
	first, second := rotate(t, ring), rotate(t, ring)
	if err := first.ReplaceKeyFile(path); err != nil {
		t.Fatal(err)
	}
	if err := second.ReplaceKeyFile(path); !errors.Is(err, secret.ErrKeyFileBehind) {
		t.Errorf("a rotation of the old file: %v, want ErrKeyFileBehind", err)
	}
	read, err := secret.ReadKeyFile(path)
	if err != nil || read.PrimaryID() != first.PrimaryID() || len(read.List()) != 2 {
		t.Fatalf("file holds %+v, %v, want %+v", read.List(), err, first.List())
	}
	if err := first.ReplaceKeyFile(path); err != nil {
		t.Errorf("replacing with the same keys: %v", err)
	}
	if got := names(t, filepath.Dir(path)); got != "quittance.key" {
		t.Errorf("directory holds %q", got)
	}
}

func TestReplaceKeyFileNeedsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent.key")
	if err := generate(t).ReplaceKeyFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("replacing nothing: %v, want fs.ErrNotExist", err)
	}
	if got := names(t, filepath.Dir(path)); got != "" {
		t.Errorf("directory holds %q", got)
	}
}

func TestStagedFileLocksOutASecondWriter(t *testing.T) {
	ring, path := newKeyFile(t)
	if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := rotate(t, ring).ReplaceKeyFile(path)
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path+".new") {
		t.Errorf("error %v, want fs.ErrExist that names the staged file", err)
	}
	if got := names(t, filepath.Dir(path)); got != "quittance.key quittance.key.new" {
		t.Errorf("directory holds %q", got)
	}
}

// TestReplaceKeyFileComparesMaterial checks that a key with the number of another key but other material is a different
// key.
func TestReplaceKeyFileComparesMaterial(t *testing.T) {
	ring, path := newKeyFile(t)
	_, otherPath := newKeyFile(t)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(otherPath)
	if err != nil {
		t.Fatal(err)
	}
	strange := withMaterial(t, file, material(t, decode(t, other))["value"])
	if err := os.WriteFile(path, []byte(strange), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := rotate(t, ring).ReplaceKeyFile(path); !errors.Is(err, secret.ErrKeyFileBehind) {
		t.Errorf("replacing a key of the same number: %v, want ErrKeyFileBehind", err)
	}
}
