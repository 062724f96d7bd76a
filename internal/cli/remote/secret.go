package remote

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"quittance/internal/exchange/webhook"
)

// signingSecret is the form of the secrets that listen signs with: that of the service, or one as hard to guess.
var signingSecret = regexp.MustCompile(`^whsec_[!-~]{32,256}$`)

// keptSecret returns the signing secret in a file. It makes both if the file does not exist.
func keptSecret(path string) (string, error) {
	text, err := readPrivate(path, "use another secret")
	if errors.Is(err, fs.ErrNotExist) {
		return makeSecret(path)
	}
	if err != nil {
		return "", fmt.Errorf("--secret-file: %w", err)
	}
	key := strings.TrimSpace(string(text))
	if !signingSecret.MatchString(key) {
		return "",
			fmt.Errorf(
				"--secret-file: %s must have one line, whsec_ and 32 to 256 visible ASCII characters; if there is no such file, one is made", path)
	}
	return key, nil
}

// makeSecret writes a new signing secret to a file that does not exist, with mode 0600.
func makeSecret(path string) (key string, err error) {
	if key, err = webhook.NewSecret(rand.Reader); err != nil {
		return "", err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("--secret-file: %w", err)
	}
	_, err = file.WriteString(key + "\n")
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", fmt.Errorf("--secret-file: %w", errors.Join(err, os.Remove(path)))
	}
	return key, nil
}
