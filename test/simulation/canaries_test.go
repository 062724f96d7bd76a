package simulation

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"os"
)

// searchCanaries searches the database and the log for every secret, in plain text, hexadecimal and base64.
func (w *world) searchCanaries() {
	kept := map[string][]byte{"the log": w.logged.Bytes()}
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(w.path + suffix)
		if err != nil && !os.IsNotExist(err) {
			w.must(err)
		}
		kept["the database"+suffix] = text
	}
	for _, c := range w.companies {
		secrets := []string{c.credential, c.password, c.token, "canary-wrong-password-1"}
		for _, s := range c.model.subscriptions {
			if s.secret != "" {
				secrets = append(secrets, s.secret)
			}
		}
		for where, text := range kept {
			for _, canary := range secrets {
				for _, form := range []string{canary, hex.EncodeToString([]byte(canary)),
					base64.StdEncoding.EncodeToString([]byte(canary))} {
					if bytes.Contains(text, []byte(form)) {
						w.violate("a secret of %s is in %s", c.name, where)
					}
				}
			}
		}
	}
}
