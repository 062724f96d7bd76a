package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"quittance/client"
	"quittance/internal/platform/files"
	"quittance/internal/platform/secret"
)

// Profile is what login keeps about one server.
type Profile struct {
	Name string `json:"-"`
	// URL is the address of the server.
	URL string `json:"url"`
	// AccountID and Company are those of the login.
	AccountID string `json:"account_id"`
	Company   string `json:"company"`
	// Email is that of the user whose token is kept; empty for an API key.
	Email string `json:"email,omitempty"`
	// ExpiresAt is when the token ends; nil for an API key.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// Credential is the API key or the token.
	Credential secret.Text `json:"-"`
	// Simulated is the provider of a sandbox on this machine; nil otherwise.
	Simulated *Simulated `json:"-"`
	// Replaced are the profiles that this one of a sandbox has replaced, the last one first; see [KeepSandbox].
	Replaced []Profile `json:"-"`
}

// Simulated is how to control the provider of a sandbox, and where its receiver is.
type Simulated struct {
	ProviderURL string
	Credential  secret.Text
	ReceiverURL string
}

// profileFile is the form of a profile in its file.
type profileFile struct {
	Profile
	Secret    string         `json:"credential"`
	Simulated *simulatedFile `json:"sandbox,omitempty"`
	Replaced  []profileFile  `json:"replaced,omitempty"`
}

type simulatedFile struct {
	ProviderURL string `json:"provider_url"`
	Secret      string `json:"provider_credential"`
	ReceiverURL string `json:"receiver_url"`
}

// client returns a client that calls the server of the profile with its credential. A token is presented as a key is.
func (p Profile) client() (*client.Client, error) { return client.New(p.config()) }

func (p Profile) config() client.Config {
	return client.Config{BaseURL: p.URL, APIKey: p.Credential.Reveal(), UserAgent: userAgent}
}

const userAgent = "quittance-cli"

// profiles is a directory with a file for each profile, and the positions of listen.
type profiles string

var (
	errNoProfile = errors.New("nobody is logged in: run quittance login --url URL, or start quittance sandbox")
	profileName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
)

// checkName returns an error for a name that no profile can have.
func checkName(name string) error {
	if !profileName.MatchString(name) {
		return fmt.Errorf(
			"--profile: %q is no name: letters, digits, dots, hyphens and underscores, at most 64, beginning with a letter or a digit", name)
	}
	return nil
}

func (d profiles) file(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	return filepath.Join(string(d), "profiles", name+".json"), nil
}

// Load reads a profile. It refuses a file that others can read. With an error it returns a profile that has only its
// name.
func (d profiles) Load(name string) (Profile, error) {
	path, err := d.file(name)
	if err != nil {
		return Profile{}, err
	}
	text, err := readPrivate(path, "revoke the key")
	if errors.Is(err, fs.ErrNotExist) {
		return Profile{Name: name}, fmt.Errorf("profile %s: %w", name, errNoProfile)
	}
	if err != nil {
		return Profile{Name: name}, fmt.Errorf("profile %s: %w", name, err)
	}
	var saved profileFile
	if json.Unmarshal(text, &saved) != nil || saved.URL == "" || saved.Secret == "" {
		return Profile{Name: name},
			fmt.Errorf("profile %s: %s is damaged: quittance logout --local removes it, and quittance login writes another",
				name, path)
	}
	return saved.profile(name), nil
}

// profile returns the profile that a file holds.
func (f profileFile) profile(name string) Profile {
	p := f.Profile
	p.Name, p.Credential = name, secret.New(f.Secret)
	if s := f.Simulated; s != nil {
		p.Simulated = &Simulated{ProviderURL: s.ProviderURL, Credential: secret.New(s.Secret), ReceiverURL: s.ReceiverURL}
	}
	for _, before := range f.Replaced {
		p.Replaced = append(p.Replaced, before.profile(name))
	}
	return p
}

// Save writes a profile, with mode 0600.
func (d profiles) Save(p Profile) error {
	path, err := d.file(p.Name)
	if err != nil {
		return err
	}
	saved := p.file()
	for _, before := range p.Replaced {
		saved.Replaced = append(saved.Replaced, before.file())
	}
	return writePrivate(path, saved)
}

// file returns the form of a profile in its file, without those that it has replaced.
func (p Profile) file() profileFile {
	saved := profileFile{Profile: p, Secret: p.Credential.Reveal()}
	if s := p.Simulated; s != nil {
		saved.Simulated = &simulatedFile{ProviderURL: s.ProviderURL, Secret: s.Credential.Reveal(),
			ReceiverURL: s.ReceiverURL}
	}
	return saved
}

// Remove removes a profile if it exists, with the positions of its listeners.
func (d profiles) Remove(p Profile) error {
	path, err := d.file(p.Name)
	if err != nil {
		return err
	}
	err = d.removePositions(p)
	if removed := os.Remove(path); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// readPrivate reads a file that only its owner may read. exposed is what to do if others could.
func readPrivate(path, exposed string) (_ []byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if files.Grants(info, 0o077) {
		return nil,
			fmt.Errorf("others may read %s, whose mode is %04o: run chmod 600 on it, and %s if it could have been read", path,
				info.Mode().Perm(), exposed)
	}
	return io.ReadAll(file)
}

// writePrivate replaces a JSON file as a whole, durably, with mode 0600.
func writePrivate(path string, value any) (err error) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// with mode 0600
	staged, err := os.CreateTemp(filepath.Dir(path), "."+strings.TrimSuffix(filepath.Base(path), ".json")+".*")
	if err != nil {
		return err
	}
	_, err = staged.Write(append(text, '\n'))
	err = errors.Join(err, staged.Sync(), staged.Close())
	if err == nil {
		err = os.Rename(staged.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(staged.Name())))
	}
	return files.SyncDirectory(filepath.Dir(path))
}
