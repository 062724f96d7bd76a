package deploy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/jackc/pgx/v5/pgconn"
)

// composeDir is the directory of the compose file.
var composeDir = filepath.Join("..", "..", "deploy", "compose")

// compose loads files of the directory as the command docker compose does, with an image and no other variables, and
// with the service that makes a backup.
func compose(t *testing.T, files ...string) (*types.Project, error) {
	t.Helper()
	for n, file := range files {
		files[n] = filepath.Join(composeDir, file)
	}
	options, err := cli.NewProjectOptions(files, cli.WithWorkingDirectory(composeDir),
		cli.WithEnv([]string{"QUITTANCE_IMAGE=quittance:1.2.0"}), cli.WithProfiles([]string{"backup"}))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(t.Context())
}

// projects are the ways to start the compose file.
func projects(t *testing.T) map[string]*types.Project {
	t.Helper()
	found := map[string]*types.Project{}
	for name, files := range map[string][]string{"behind a proxy": {"compose.yaml"}, "TLS": {"compose.yaml", "tls.yaml"}} {
		project, err := compose(t, files...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found[name] = project
	}
	return found
}

// TestCompose: no container has rights that it does not need, nothing but the API and Grafana is published, and every
// file that is mounted exists or is made by prepare.
func TestCompose(t *testing.T) {
	for name, project := range projects(t) {
		if len(project.Services) != 6 {
			t.Errorf("%s: %d services", name, len(project.Services))
		}
		for _, service := range project.Services {
			if err := contained(service); err != nil {
				t.Errorf("%s: %s: %v", name, service.Name, err)
			}
			for _, volume := range service.Volumes {
				if volume.Target == "/backups" && service.Name == "backup" {
					continue // TestComposeBackup
				}
				if _, err := os.Stat(volume.Source); volume.Type == types.VolumeTypeBind && (err != nil || !volume.ReadOnly) {
					t.Errorf("%s: %s mounts %s, read-only: %v, %v", name, service.Name, volume.Source, volume.ReadOnly, err)
				}
			}
			for _, port := range service.Ports {
				outside := service.Name == "server" && name == "TLS" && port.Target == 8443
				if port.HostIP != "127.0.0.1" && !outside || service.Name != "server" && service.Name != "grafana" ||
					port.Target == 9090 {
					t.Errorf("%s: %s publishes %+v", name, service.Name, port)
				}
			}
		}
		for _, network := range []string{"database", "monitoring"} {
			if !project.Networks[network].Internal {
				t.Errorf("%s: the network %s leads outside", name, network)
			}
		}
	}
	prepare, err := os.ReadFile(filepath.Join(composeDir, "prepare"))
	if err != nil {
		t.Fatal(err)
	}
	made := []string{"key.json", "tls-cert.pem", "tls-key.pem"} // made by others
	for _, secret := range projects(t)["TLS"].Secrets {
		file := filepath.Base(secret.File)
		if filepath.Base(filepath.Dir(secret.File)) != "secrets" || !slices.Contains(made, file) &&
			!strings.Contains(string(prepare), "\tgive "+file+" ") {
			t.Errorf("nothing makes the secret %s", secret.File)
		}
	}
}

// contained returns an error if a container runs as root, can gain rights, writes to its root, has no bounds, or has an
// image that changes by itself.
func contained(service types.ServiceConfig) error {
	_, tag, _ := strings.Cut(service.Image, ":")
	switch {
	case !service.ReadOnly:
		return errors.New("its root file system can be written to")
	case !slices.Equal(service.CapDrop, []string{"ALL"}) || len(service.CapAdd) > 0 || service.Privileged:
		return errors.New("it has capabilities")
	case !slices.Equal(service.SecurityOpt, []string{"no-new-privileges:true"}):
		return errors.New("it can gain rights")
	case service.User == "" || strings.HasPrefix(service.User, "0") || strings.HasPrefix(service.User, "root"):
		return fmt.Errorf("it runs as %q", service.User)
	case service.MemLimit == 0 || service.PidsLimit == 0:
		return errors.New("its memory or its processes have no limit")
	case !strings.Contains(tag, "."):
		return fmt.Errorf("its image is not pinned: %s", service.Image)
	case service.NetworkMode != "" || service.Pid != "" || service.Ipc != "":
		return errors.New("it shares a namespace of the host")
	}
	return nil
}

// TestComposeNeedsAnImage: without the name of the image nothing starts, and the error says what to set.
func TestComposeNeedsAnImage(t *testing.T) {
	options, err := cli.NewProjectOptions([]string{filepath.Join(composeDir, "compose.yaml")},
		cli.WithWorkingDirectory(composeDir), cli.WithEnv(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := options.LoadProject(t.Context()); err == nil || !strings.Contains(err.Error(), "QUITTANCE_IMAGE") ||
		!strings.Contains(err.Error(), "quittance:1.2.0") {
		t.Errorf("without an image: %v", err)
	}
}

// TestComposeCommands runs the commands of the product's containers with their variables: the migration succeeds, the
// server serves and passes its own health check, and the password of the database comes from the file of the secret.
func TestComposeCommands(t *testing.T) {
	for name, project := range projects(t) {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			migration, server := project.Services["migration"], project.Services["server"]
			if after := server.DependsOn["migration"].Condition; after != types.ServiceConditionCompletedSuccessfully {
				t.Errorf("the server starts when the migration is %q", after)
			}
			if out, err := m.command(t.Context(), migration.Command, variables(migration)).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			running, err := m.serve(t, server.Command, variables(server))
			if err != nil {
				t.Fatal(err)
			}
			test := server.HealthCheck.Test
			if len(test) < 2 || test[0] != "CMD" || test[1] != "/usr/bin/quittance" {
				t.Fatalf("the health check is %q", test)
			}
			environment := slices.DeleteFunc(running.environment,
				func(v string) bool { return strings.HasPrefix(v, "QUITTANCE_LISTEN=") })
			scheme := "http://"
			if name == "TLS" {
				scheme = "https://"
			}
			if err := answers(t, scheme+local(running.listen)+"/readyz"); err != nil {
				t.Fatal(err)
			}
			if out, err := m.command(t.Context(), test[2:],
				append(environment, "QUITTANCE_LISTEN="+running.listen)).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if err := answers(t, "http://"+local(running.metrics)+"/metrics"); err != nil {
				t.Error(err)
			}
			backup := project.Services["backup"] // while the server runs
			if err := backedUp(t, m, backup.Command, variables(backup)); err != nil {
				t.Error(err)
			}
			address := strings.ReplaceAll(*server.Environment["QUITTANCE_DATABASE"], "/run/", m.root+"/run/")
			if config, err := pgconn.ParseConfig(address); err != nil || config.Password != "from-the-file" ||
				config.Host != "database" || config.User != "quittance" {
				t.Errorf("the connection to %s: %+v, %v", address, config, err)
			}
		})
	}
}

// TestComposeBackup: a backup is made only when it is asked for, in a directory of the machine that prepare makes for
// the user of the container and that the engine never makes itself, as root. It and the migration reach a database or a
// bucket that is elsewhere.
func TestComposeBackup(t *testing.T) {
	project := projects(t)["behind a proxy"]
	backup := project.Services["backup"]
	if !slices.Equal(backup.Profiles, []string{"backup"}) || backup.Restart != "no" || len(backup.Volumes) != 1 {
		t.Fatalf("%+v", backup)
	}
	volume := backup.Volumes[0]
	if dir, err := filepath.Abs(composeDir); err != nil || volume.Type != types.VolumeTypeBind ||
		volume.Source != filepath.Join(dir, "backups") || volume.Bind == nil || bool(volume.Bind.CreateHostPath) {
		t.Errorf("backups come to %+v, %v", volume, err)
	}
	for _, name := range []string{"migration", "backup", "server"} {
		outside := false
		for network := range project.Services[name].Networks {
			outside = outside || !project.Networks[network].Internal
		}
		if !outside {
			t.Errorf("the %s reaches no database elsewhere", name)
		}
	}
	dir := copyOfPrepare(t)
	for range 2 { // the second run changes nothing
		prepare(t, dir)
		info, err := os.Stat(filepath.Join(dir, "backups"))
		if err != nil {
			t.Fatal(err)
		}
		owner := info.Sys().(*syscall.Stat_t)
		if fmt.Sprintf("%d:%d", owner.Uid, owner.Gid) != backup.User || info.Mode().Perm() != 0o700 {
			t.Errorf("the directory of backups belongs to %d:%d with the mode %v", owner.Uid, owner.Gid, info.Mode())
		}
	}
}

// variables returns the variables of a service.
func variables(service types.ServiceConfig) []string {
	var set []string
	for name, value := range service.Environment {
		if value != nil {
			set = append(set, name+"="+*value)
		}
	}
	slices.Sort(set)
	return set
}

// TestComposeMonitoring: promtool accepts the configuration with the files where the container has them, and the
// dashboard is where Grafana looks for it.
func TestComposeMonitoring(t *testing.T) {
	project := projects(t)["behind a proxy"]
	root := t.TempDir()
	for _, service := range []string{"prometheus", "grafana"} {
		for _, volume := range project.Services[service].Volumes {
			if volume.Type != types.VolumeTypeBind {
				continue
			}
			text, err := os.ReadFile(volume.Source)
			if err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(root, volume.Target)
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, err := exec.CommandContext(t.Context(), "promtool", "check",
		"config", filepath.Join(root, "etc/prometheus/prometheus.yml")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "rules found") {
		t.Errorf("%v\n%s", err, out)
	}
	provider, err := os.ReadFile(filepath.Join(root, "etc/grafana/provisioning/dashboards/quittance.yml"))
	if err != nil || !strings.Contains(string(provider), "path: /etc/grafana/dashboards\n") {
		t.Errorf("%v\n%s", err, provider)
	}
	if _, err := os.Stat(filepath.Join(root, "etc/grafana/dashboards/quittance.json")); err != nil {
		t.Error(err)
	}
}
