package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// commitTime is the time of the commits of the tests.
const commitTime = "2026-03-01T09:00:00Z"

// command runs a program in dir and returns what it prints.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+commitTime, "GIT_COMMITTER_DATE="+commitTime,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=Test",
		"GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// commitTree copies the work tree into a new repository with one commit. Its hash depends on nothing but the files.
func commitTree(t *testing.T, dir string) string {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, relative)
		switch {
		case entry.IsDir() && slices.Contains([]string{".git", ".bin", "bin", "dist", "node_modules"}, relative):
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(to, 0o755)
		case !entry.Type().IsRegular() || relative == ".git":
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
	command(t, dir, "git", "init", "-q", "-b", "main")
	command(t, dir, "git", "add", "-A")
	command(t, dir, "git", "commit", "-q", "-m", "Everything")
	return strings.TrimSpace(command(t, dir, "git", "rev-parse", "HEAD"))
}

// TestTwoBuilds builds a release of one commit in two directories, for the platform of the test. All files must be the
// same bytes, and they must say what they are.
func TestTwoBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	if runtime.GOOS != "linux" {
		t.Fatal("the packages and the image are for Linux: run this test there")
	}
	key := filepath.Join(t.TempDir(), "key")
	command(t, "", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "releases@quittance.example", "-f", key)
	var commits, outs []string
	for n := range 2 {
		dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
		commits, outs = append(commits, commitTree(t, dir)), append(outs, out)
		if n == 1 {
			plantIgnored(t, dir)
		}
		if err := run(t.Context(), []string{"-source", dir, "-out", out, "-release", "1.2.0", "-platforms",
			"linux/" + runtime.GOARCH, "-key", key}, t.Output()); err != nil {
			t.Fatal(err)
		}
	}
	first, second := contents(t, outs[0]), contents(t, outs[1])
	if commits[0] != commits[1] || len(first) != 9 {
		t.Fatalf("the commits are %q, and the files %q", commits, slices.Sorted(maps.Keys(first)))
	}
	for name := range first {
		if !bytes.Equal(first[name], second[name]) {
			t.Errorf("%s differs between two builds of one commit", name)
		}
	}
	dir := t.TempDir()
	name := "quittance-1.2.0-linux-" + runtime.GOARCH
	unpack(t, first[name+".tar.gz"], dir)
	binary := filepath.Join(dir, name, "quittance")
	t.Run("version", func(t *testing.T) { testVersion(t, binary, commits[0]) })
	t.Run("licences", func(t *testing.T) {
		terms, err := os.ReadFile(filepath.Join(dir, name, "THIRD-PARTY-LICENSES"))
		for _, want := range []string{"\nThe Go standard library\n", "\nmodernc.org/sqlite\n",
			"\ninternal/document/pdf/assets/OFL.txt\n", "\ninternal/front/page/static/htmx.LICENSE\n"} {
			if err != nil || !strings.Contains(string(terms), want) {
				t.Errorf("%q is missing: %v", want, err)
			}
		}
	})
	t.Run("bill of materials", func(t *testing.T) { testBill(t, first[name+".cdx.json"], binary) })
	t.Run("checksums and signature", func(t *testing.T) { testSums(t, outs[0], key+".pub") })
	t.Run("package", func(t *testing.T) { testPackage(t, outs[0], binary) })
	t.Run("chart", func(t *testing.T) { testChart(t, first["quittance-1.2.0-chart.tgz"]) })
	t.Run("compose files", func(t *testing.T) { testCompose(t, second["quittance-1.2.0-compose.tar.gz"]) })
	t.Run("image", func(t *testing.T) { testImage(t, first["quittance-1.2.0-oci.tar"], commits[0]) })
}

// contents returns the files in dir by name.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{}
	for _, file := range found {
		if texts[file.Name()], err = os.ReadFile(filepath.Join(dir, file.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

// unpack writes the files of a tar file, which may be compressed, below dir.
func unpack(t *testing.T, archive []byte, dir string) {
	t.Helper()
	var reader io.Reader = bytes.NewReader(archive)
	if bytes.HasPrefix(archive, []byte{0x1f, 0x8b}) {
		var err error
		if reader, err = gzip.NewReader(reader); err != nil {
			t.Fatal(err)
		}
	}
	files := tar.NewReader(reader)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.ModTime.UTC().Format(time.RFC3339) != commitTime || header.Uname != "" {
			t.Errorf("%s has the time %v and the owner %q", header.Name, header.ModTime, header.Uname)
		}
		to := filepath.Join(dir, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeDir {
			continue
		}
		if header.Typeflag != tar.TypeReg {
			t.Errorf("%s is no file: %q", header.Name, header.Typeflag)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(to, content, 0o600), os.Chmod(to, fs.FileMode(header.Mode))); err != nil {
			t.Fatal(err)
		}
	}
}

// testVersion: the binary says which release of which commit it is.
func testVersion(t *testing.T, binary, commit string) {
	want := fmt.Sprintf(`{"version":"1.2.0","commit":%q,"date":%q,"modified":false,"go":%q,"platform":"linux/%s"}`, commit,
		commitTime, runtime.Version(), runtime.GOARCH)
	if got := command(t, "", binary, "version", "--json"); got != want+"\n" {
		t.Errorf("%s, want %s", got, want)
	}
}

// testBill: the bill of materials has the standard library and every module that the binary records.
func testBill(t *testing.T, text []byte, binary string) {
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	recorded, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if bom.SpecVersion != cyclonedx.SpecVersion1_6 || bom.Metadata.Timestamp != commitTime ||
		bom.Metadata.Component.Version != "1.2.0" || len(recorded.Deps) < 10 {
		t.Errorf("%v, %+v, %d modules", bom.SpecVersion, bom.Metadata, len(recorded.Deps))
	}
	var urls []string
	for _, component := range *bom.Components {
		urls = append(urls, component.PackageURL)
	}
	for _, module := range recorded.Deps {
		want := "pkg:golang/" + module.Path + "@" + module.Version
		if module.Replace != nil {
			want = "pkg:golang/" + module.Path // the SDK of the same tree
		}
		if !slices.Contains(urls, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if want := "pkg:golang/std@" + strings.TrimPrefix(recorded.GoVersion, "go"); len(urls) != len(recorded.Deps)+1 ||
		urls[0] != want {
		t.Errorf("%d components for %d modules, the first of them %s, want %s", len(urls), len(recorded.Deps), urls[0], want)
	}
}

// testSums: the usual tools verify the checksums and the signature, and notice a changed file.
func testSums(t *testing.T, out, public string) {
	command(t, out, "sha256sum", "--check", "--strict", "SHA256SUMS")
	key, err := os.ReadFile(public)
	if err != nil {
		t.Fatal(err)
	}
	signers := filepath.Join(t.TempDir(), "allowed_signers")
	if err := os.WriteFile(signers, slices.Concat([]byte("releases@quittance.example "), key), 0o600); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for text, valid := range map[string]bool{string(sums): true, string(sums) + "\n": false} {
		verify := exec.CommandContext(t.Context(), "ssh-keygen", "-Y", "verify", "-f", signers,
			"-I", "releases@quittance.example", "-n", "file", "-s", "SHA256SUMS.sig")
		verify.Dir, verify.Stdin = out, strings.NewReader(text)
		if said, err := verify.CombinedOutput(); (err == nil) != valid {
			t.Errorf("valid: %v, but %v: %s", valid, err, said)
		}
	}
}

// testPackage: the package installs what its unit uses, and the file of settings names only flags that exist.
func testPackage(t *testing.T, out, binary string) {
	file := filepath.Join(out, "quittance_1.2.0-1_"+runtime.GOARCH+".deb")
	listed := command(t, "", "dpkg-deb", "--contents", file)
	for _, want := range []string{`-rwxr-xr-x root/root +\d+ 2026-03-01 \d\d:\d\d \./usr/bin/quittance`,
		`-rw-r----- root/root .* \./etc/quittance/quittance\.env`,
		`\./usr/lib/systemd/system/quittance\.service`, `\./usr/share/doc/quittance/copyright`,
		`\./usr/share/doc/quittance/THIRD-PARTY-LICENSES`, `\./usr/share/doc/quittance/docs/operations\.md`,
		`\./usr/share/doc/quittance/docs/ops/install\.md`} {
		if !regexp.MustCompile(want + "\n").MatchString(listed) {
			t.Errorf("no line matches %s:\n%s", want, listed)
		}
	}
	dir := t.TempDir()
	command(t, "", "dpkg-deb", "--raw-extract", file, dir)
	control := contents(t, filepath.Join(dir, "DEBIAN"))
	if got := string(control["conffiles"]); got != "/etc/quittance/quittance.env\n" {
		t.Errorf("files of settings: %q", got)
	}
	unit, err := os.ReadFile(filepath.Join(dir, "usr/lib/systemd/system/quittance.service"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ExecStart=/usr/bin/quittance serve --key-file ${CREDENTIALS_DIRECTORY}/key.json",
		"EnvironmentFile=/etc/quittance/quittance.env", "DynamicUser=yes", "StateDirectory=quittance", "Restart=on-failure",
		"RestartPreventExitStatus=78", "NoNewPrivileges=yes", "ProtectSystem=strict", "MemoryDenyWriteExecute=yes",
		"CapabilityBoundingSet="} {
		if !strings.Contains(string(unit), "\n"+want+"\n") {
			t.Errorf("the unit has no line %s", want)
		}
	}
	settings, err := os.ReadFile(filepath.Join(dir, "etc/quittance/quittance.env"))
	if err != nil {
		t.Fatal(err)
	}
	flags := command(t, "", binary, "serve", "--help")
	names := regexp.MustCompile(`QUITTANCE_([A-Z_]+)`).FindAllStringSubmatch(string(settings), -1)
	for _, name := range names {
		if flag := "--" + strings.ReplaceAll(strings.ToLower(name[1]), "_", "-"); !strings.Contains(flags, flag) {
			t.Errorf("quittance.env names %s, and serve has no flag %s", name[0], flag)
		}
	}
	if len(names) < 4 {
		t.Errorf("%d settings were checked", len(names))
	}
}

// testImage: the image layout has an index with the platform, whose image runs the binary as a user without rights.
func testImage(t *testing.T, archive []byte, commit string) {
	dir := t.TempDir()
	unpack(t, archive, dir)
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	top, err := index.IndexManifest()
	if err != nil || len(top.Manifests) != 1 ||
		top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.0" {
		t.Fatalf("%+v, %v", top, err)
	}
	platforms, err := index.ImageIndex(top.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := platforms.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Platform.String() != "linux/"+runtime.GOARCH {
		t.Fatalf("%+v, %v", manifest, err)
	}
	image, err := platforms.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal([]any{config.Config.User, config.Config.Entrypoint,
		config.Config.Labels["org.opencontainers.image.revision"], config.Created}); err != nil ||
		string(got) != fmt.Sprintf(`["65532:65532",["/usr/bin/quittance"],%q,%q]`, commit, commitTime) {
		t.Errorf("%s, %v", got, err)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*tar.Header{}
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = header
	}
	if data := files["var/lib/quittance/"]; data == nil || data.Uid != imageUser || data.Mode != 0o700 {
		t.Errorf("the data directory: %+v", data)
	}
	for _, name := range []string{"usr/bin/quittance", "etc/ssl/certs/ca-certificates.crt", "etc/passwd"} {
		if files[name] == nil || files[name].Size == 0 || files[name].Uid != 0 {
			t.Errorf("%s: %+v", name, files[name])
		}
	}
}
