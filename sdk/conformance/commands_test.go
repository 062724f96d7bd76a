package conformance_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"quittance/client"
	"quittance/client/api"
)

// exampleID stands for every identifier in docs/cli.md.
const exampleID = "01890a5d-ac96-774b-bcce-b302099a8057"

// TestCommandPage runs the commands of docs/cli.md that end by themselves, block by block, against a sandbox.
// TestListen and the scripts of the program have the others.
func TestCommandPage(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and starts the binary; make test runs it")
	}
	s := startSandbox(t)
	c, err := client.New(client.Config{BaseURL: s.BaseURL, Email: s.Email, Password: s.Password})
	if err != nil {
		t.Fatal(err)
	}
	var drafts [2]api.Invoice
	for n := range drafts {
		if drafts[n], err = c.CreateInvoice(t.Context(), completeDraft()); err != nil {
			t.Fatal(err)
		}
	}
	deliveries, err := c.Deliveries(t.Context(), client.DeliveryQuery{State: "delivered"})
	if err != nil || len(deliveries.Data) == 0 {
		t.Fatalf("%v, %+v", err, deliveries)
	}
	ids := map[string]string{"quittance invoices delete": drafts[1].ID, "quittance deliveries": deliveries.Data[0].ID,
		"quittance": drafts[0].ID}
	dir := t.TempDir()
	draft, err := json.Marshal(completeDraft())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"invoice.json": string(draft), "patch.json": `{"note":"Thank you"}`, "key.txt": s.key + "\n",
		"credit-note.json": `{"invoice_id":"` + drafts[0].ID +
			`","credit_note_number":"CN-PAGE-1","issue_date":"2026-03-05","reason":"returned","kind":"full"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ran := 0
	for _, block := range blocks(t, "docs/cli.md", "sh") {
		if strings.HasPrefix(block, "quittance sandbox") {
			continue // three terminals
		}
		var script strings.Builder
		for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
			switch {
			case regexp.MustCompile(`^quittance (sandbox|listen|events resend|webhooks verify)`).MatchString(line):
				continue // they do not end by themselves, or need what only another program has
			case strings.HasPrefix(line, "quittance events tail"):
				line = "timeout --preserve-status -s INT 10 " + line
			}
			for _, prefix := range []string{"quittance invoices delete", "quittance deliveries", "quittance"} {
				if strings.HasPrefix(line, prefix) {
					line = strings.ReplaceAll(line, exampleID, ids[prefix])
					break
				}
			}
			ran += strings.Count(line, "quittance ")
			script.WriteString(strings.NewReplacer("http://127.0.0.1:8080", s.BaseURL, "https://quittance.example.com",
				s.BaseURL, "owner@example.com", s.Email).Replace(line))
		}
		command := exec.CommandContext(t.Context(), "bash", "-eu", "-o", "pipefail", "-c", script.String())
		command.Dir, command.Stdin = dir, strings.NewReader(s.Password+"\n")
		command.Env = append(os.Environ(), "PATH="+filepath.Dir(s.binary)+":"+os.Getenv("PATH"),
			"QUITTANCE_CONFIG_DIR="+filepath.Join(dir, "config"))
		var log bytes.Buffer
		command.Stderr = &log
		if printed, err := command.Output(); err != nil {
			t.Errorf("%v: %s\n%s\n%s", err, printed, log.Bytes(), &script)
		}
	}
	if ran < 20 {
		t.Errorf("only %d commands ran", ran)
	}
}
