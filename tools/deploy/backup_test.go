package deploy

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// backedUp runs the command of a backup on a database that has a schema. A backup to a directory must be complete
// there; one to a bucket must reach the store, over TLS, with the credentials of the container.
func backedUp(t *testing.T, m machine, args, environment []string) error {
	t.Helper()
	if out, err := m.command(t.Context(), []string{"migrate", "--create"}, environment).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	args = slices.Clone(args)
	to := args[slices.Index(args, "--to")+1]
	if strings.HasPrefix(to, "s3://") {
		return refusedByStore(t, m, args, environment)
	}
	for n, argument := range args {
		if strings.HasPrefix(argument, "/") {
			args[n] = filepath.Join(m.root, argument)
		}
	}
	if out, err := m.command(t.Context(), args, environment).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), product, "backup", "list",
		"--from", filepath.Join(m.root, to)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), " complete ") {
		return fmt.Errorf("the backup is not in %s: %w\n%s", to, err, out)
	}
	return nil
}

// refusedByStore runs the command of a backup to a bucket against a store that refuses everything, which takes the
// place of the one that the arguments name. The store must have been asked for the bucket with the credentials.
func refusedByStore(t *testing.T, m machine, args, environment []string) error {
	t.Helper()
	var asked []string
	store := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+" "+r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusForbidden)
	}))
	endpoint, ca := slices.Index(args, "--s3-endpoint")+1, slices.Index(args, "--s3-ca")+1
	if endpoint == 0 {
		return errors.New("the backup names no store")
	}
	file := filepath.Join("etc", "authority.pem")
	if ca > 0 {
		file = args[ca]
	} else {
		args, ca = append(args, "--s3-ca", ""), len(args)+1
	}
	m.write(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: store.Certificate().Raw})), 0o644)
	args[endpoint], args[ca] = store.URL, filepath.Join(m.root, file)
	for n, variable := range environment {
		if name, _, _ := strings.Cut(variable, "="); name == "AWS_ACCESS_KEY_ID" || name == "AWS_SECRET_ACCESS_KEY" {
			environment[n] = name + "=of-the-secret"
		}
	}
	out, err := m.command(t.Context(), args, environment).CombinedOutput()
	store.Close()
	exit := new(exec.ExitError)
	if !errors.As(err, &exit) || exit.ExitCode() != 1 { // 2 is a wrong flag
		return fmt.Errorf("%w\n%s", err, out)
	}
	if len(asked) == 0 || !strings.Contains(asked[0], "backups/") ||
		!strings.Contains(asked[0], "Credential=of-the-secret/") {
		return fmt.Errorf("the store was asked for %q\n%s", asked, out)
	}
	return nil
}

// cronJob returns the scheduled backup of an installation, nil if it has none.
func cronJob(t *testing.T, values map[string]any) *batchv1.CronJob {
	t.Helper()
	objects, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	if err := accepted(objects); err != nil {
		t.Error(err)
	}
	for _, text := range objects {
		if !strings.Contains(text, "kind: CronJob\n") {
			continue
		}
		job := new(batchv1.CronJob)
		if err := yaml.Unmarshal([]byte(text), job); err != nil {
			t.Fatal(err)
		}
		return job
	}
	return nil
}

// TestScheduledBackup: backups do not overlap, end at some time, and leave a bounded number of jobs. There is none by
// default. Its name is one that the API server accepts, however long that of the release is. Credentials come from the
// secret alone, and keep: 0 removes nothing.
func TestScheduledBackup(t *testing.T) {
	if cronJob(t, example(t, "sandbox")) != nil {
		t.Error("a backup is scheduled without a place")
	}
	cronJob(t, with(t, nothing+"backup: {enabled: true, existingClaim: backups}\n"))
	for name, args := range map[string]string{
		"production": "backup --to s3://company-backups/quittance --keep 14 --s3-endpoint https://s3.example",
		"everything": "backup --to s3://backups/quittance --keep 14 --s3-endpoint https://store.example:7070 --s3-region eu-west-1 --s3-ca /etc/quittance/backup/ca.pem",
		"claim":      "backup --to /backups --keep 3",
	} {
		job := cronJob(t, installations(t)[name])
		spec := job.Spec
		if spec.ConcurrencyPolicy != batchv1.ForbidConcurrent || spec.StartingDeadlineSeconds == nil ||
			*spec.SuccessfulJobsHistoryLimit != 1 || *spec.FailedJobsHistoryLimit != 3 ||
			*spec.JobTemplate.Spec.ActiveDeadlineSeconds != 14400 {
			t.Errorf("%s: %+v", name, spec)
		}
		container := spec.JobTemplate.Spec.Template.Spec.Containers[0]
		if got := strings.Join(container.Args, " "); got != args {
			t.Errorf("%s: %s, want %s", name, got, args)
		}
		credentials := 0
		for _, variable := range container.Env {
			if strings.HasPrefix(variable.Name, "AWS_") && variable.ValueFrom.SecretKeyRef.Key == variable.Name {
				credentials++
			}
		}
		if want := map[bool]int{true: 3}[name != "claim"]; credentials != want {
			t.Errorf("%s: %d credentials", name, credentials)
		}
	}
	kept := cronJob(t,
		with(t,
			"backup: {enabled: true, existingClaim: backups, keep: 0}")).Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args
	if slices.Contains(kept, "--keep") {
		t.Errorf("%q removes backups", kept)
	}
}

// TestPlantedBackups: a scheduled backup whose command or mounts do not fit the product is found.
func TestPlantedBackups(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	for _, mistake := range []struct{ installation, old, new, reason string }{
		{"claim", "- --keep", "- --keeps", "unknown flag --keeps"},
		{"claim", "mountPath: /backups", "mountPath: /backup", "nothing mounts"},
		{"everything", "- --s3-region", "- --s3-zone", "unknown flag --s3-zone"},
		{"everything", "name: AWS_ACCESS_KEY_ID", "name: AWS_ACCESS_KEY", "the store was asked"},
	} {
		objects, err := render(installations(t)[mistake.installation])
		if err != nil {
			t.Fatal(err)
		}
		planted := false
		for _, text := range objects {
			if !strings.Contains(text, "kind: CronJob\n") || !strings.Contains(text, mistake.old) {
				continue
			}
			planted = true
			pod, err := podOf(strings.Replace(text, mistake.old, mistake.new, 1))
			if err != nil {
				t.Fatal(err)
			}
			if err := runs(t, newMachine(t), pod); err == nil || !strings.Contains(err.Error(), mistake.reason) {
				t.Errorf("%q: %v, want an error about %s", mistake.new, err, mistake.reason)
			}
		}
		if !planted {
			t.Errorf("no backup has %q", mistake.old)
		}
	}
}
