package deploy

import (
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestContainers runs the containers of the chart with their arguments, variables and files. The migration succeeds;
// both roles serve, and answer each probe at its path and port; the backup comes to its place.
func TestContainers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	for name, values := range installations(t) {
		t.Run(name, func(t *testing.T) {
			objects, err := render(values)
			if err != nil {
				t.Fatal(err)
			}
			ran := 0
			for _, pod := range podsOf(t, objects) {
				ran++
				if err := runs(t, newMachine(t), pod); err != nil {
					t.Errorf("%s: %v", pod.Labels["app.kubernetes.io/component"], err)
				}
			}
			if want := map[string]int{"sandbox": 4, "production": 5, "everything": 5, "claim": 5,
				"nothing": 3}[name]; ran != want {
				t.Errorf("%d pods ran, want %d", ran, want)
			}
		})
	}
}

// runs runs the containers of a pod, and returns an error if one does not do what the pod expects.
func runs(t *testing.T, m machine, pod *corev1.PodTemplateSpec) error {
	t.Helper()
	for _, container := range pod.Spec.Containers {
		if container.Command != nil {
			return fmt.Errorf("the container replaces the program of the image: %q", container.Command)
		}
		if err := mountsFiles(pod, container); err != nil {
			return err
		}
		environment := variablesOf(container)
		switch container.Args[0] {
		case "healthcheck":
			continue // TestHelmTest runs it
		case "migrate":
			if out, err := m.command(t.Context(), container.Args, environment).CombinedOutput(); err != nil {
				return fmt.Errorf("%w\n%s", err, out)
			}
			continue
		case "backup":
			if err := backedUp(t, m, container.Args, environment); err != nil {
				return err
			}
			continue
		}
		server, err := m.serve(t, container.Args, environment)
		if err != nil {
			return err
		}
		if err := probed(t, container, server); err != nil {
			return err
		}
	}
	return nil
}

// mountsFiles returns an error if a variable or an argument names a file outside of what is mounted.
func mountsFiles(pod *corev1.PodTemplateSpec, container corev1.Container) error {
	volumes := map[string]bool{}
	for _, volume := range pod.Spec.Volumes {
		volumes[volume.Name] = true
	}
	named := map[string]string{}
	for _, variable := range container.Env {
		named[variable.Name] = variable.Value
	}
	for n := 1; n < len(container.Args); n++ {
		named[container.Args[n-1]] = container.Args[n]
	}
	for name, file := range named {
		if strings.HasPrefix(file, "/") && !slices.ContainsFunc(container.VolumeMounts, func(mount corev1.VolumeMount) bool {
			return volumes[mount.Name] && (file == mount.MountPath || strings.HasPrefix(file, mount.MountPath+"/"))
		}) {
			return fmt.Errorf("%s names %s, which nothing mounts", name, file)
		}
	}
	return nil
}

// probed asks a server what the probes of its container ask, on the port of their name, and for the metrics.
func probed(t *testing.T, container corev1.Container, server started) error {
	t.Helper()
	addresses := map[string]string{"http": server.listen, "metrics": server.metrics, "operators": server.operators}
	for name, flag := range map[string]string{"http": "QUITTANCE_LISTEN", "metrics": "QUITTANCE_METRICS_LISTEN",
		"operators": "QUITTANCE_OPERATOR_LISTEN"} {
		n := slices.IndexFunc(container.Ports, func(port corev1.ContainerPort) bool { return port.Name == name })
		set := slices.IndexFunc(container.Env, func(v corev1.EnvVar) bool { return v.Name == flag })
		if (n < 0) != (set < 0) || (n < 0) != (addresses[name] == "") {
			return fmt.Errorf("port %s: ports %v, address %q", name, container.Ports, addresses[name])
		}
		if n >= 0 && container.Env[set].Value != fmt.Sprintf(":%d", container.Ports[n].ContainerPort) {
			return fmt.Errorf("port %s is %d, and %s is %s", name, container.Ports[n].ContainerPort, flag,
				container.Env[set].Value)
		}
	}
	for probe, path := range map[*corev1.Probe]string{container.StartupProbe: "/healthz",
		container.LivenessProbe: "/healthz", container.ReadinessProbe: "/readyz"} {
		get := probe.HTTPGet
		if get.Port != intstr.FromString("http") || get.Path != path {
			return fmt.Errorf("the probe of %s asks %s at port %s", path, get.Path, get.Port.String())
		}
		if err := answers(t, strings.ToLower(string(get.Scheme))+"://"+local(server.listen)+get.Path); err != nil {
			return err
		}
	}
	if server.metrics != "" {
		return answers(t, "http://"+local(server.metrics)+"/metrics")
	}
	return nil
}

// local returns the loopback address for an address that a server listens on.
func local(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return net.JoinHostPort("127.0.0.1", port)
}

// TestEverySetting: the values can set every flag of quittance serve. The schema lists those of the value settings; the
// others have a value of their own, which the installation with everything sets.
func TestEverySetting(t *testing.T) {
	help, err := exec.CommandContext(t.Context(), product, "serve", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := common.ReadValuesFile(filepath.Join(chartDir, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := json.Marshal(schema["$defs"])
	if err != nil {
		t.Fatal(err)
	}
	var listed struct {
		Settings struct {
			PropertyNames struct {
				Enum []string `json:"enum"`
			} `json:"propertyNames"`
		} `json:"settings"`
	}
	if err := json.Unmarshal(definitions, &listed); err != nil {
		t.Fatal(err)
	}
	rendered := ""
	for _, values := range installations(t) {
		objects, err := render(values)
		if err != nil {
			t.Fatal(err)
		}
		rendered += strings.Join(objects, "\n")
	}
	settings := listed.Settings.PropertyNames.Enum
	flags := regexp.MustCompile(`(?m)^ +--([a-z-]+)`).FindAllStringSubmatch(string(help), -1)
	if len(flags) < 40 {
		t.Fatalf("only %d flags", len(flags))
	}
	for _, found := range flags {
		flag := found[1]
		n := slices.Index(settings, flag)
		switch {
		case n >= 0:
			settings = slices.Delete(settings, n, n+1)
		// a request for information, an argument, and a file of what the values set
		case flag == "version" || flag == "role" || flag == "env-file":
		case !strings.Contains(rendered, "QUITTANCE_"+strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))+"\n"):
			t.Errorf("no value sets --%s", flag)
		}
	}
	if len(settings) > 0 {
		t.Errorf("quittance serve has no flags %q", settings)
	}
}

// TestSettings: a role's own settings come before those of all roles, and large numbers stay what they are.
func TestSettings(t *testing.T) {
	objects, err := render(with(t, everything))
	if err != nil {
		t.Fatal(err)
	}
	roles := 0
	for _, text := range objects {
		if !strings.Contains(text, "terminationGracePeriodSeconds") {
			continue
		}
		roles++
		body := `name: QUITTANCE_MAX_BODY\s+value: "2097152"`
		if strings.Contains(text, "--role, api") {
			body = `name: QUITTANCE_MAX_BODY\s+value: "4194304"`
		}
		for _, want := range []string{body, `name: QUITTANCE_MAX_STORED_BYTES\s+value: "21474836480"`,
			`name: QUITTANCE_POLL_MAX\s+value: "30m"`, `terminationGracePeriodSeconds: 95\n`} {
			if len(regexp.MustCompile(want).FindAllString(text, -1)) != 1 {
				t.Errorf("not once %s:\n%s", want, text)
			}
		}
	}
	if roles != 2 {
		t.Errorf("%d roles", roles)
	}
}
