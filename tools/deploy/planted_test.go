package deploy

import (
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

// TestPlantedMistakes: the checks of the other tests find mistakes that somebody could make in a template.
func TestPlantedMistakes(t *testing.T) {
	objects, err := render(with(t, everything))
	if err != nil {
		t.Fatal(err)
	}
	for _, mistake := range []struct{ in, old, new, reason string }{
		{"kind: Deployment", "readOnlyRootFilesystem: true", "readOnlyRootFileSystem: true", "unknown field"},
		{"kind: Deployment", "allowPrivilegeEscalation: false",
			"allowPrivilegeEscalation: false\n            privileged: true", "privileged"},
		{"kind: Deployment", "runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot"},
		{"kind: Deployment", "drop: [ALL]", "add: [NET_ADMIN]", "capabilities"},
		{"kind: Deployment", "containerPort: 8080", "containerPort: 80800", "containerPort"},
		{"kind: Deployment", "type: RollingUpdate", "type: Rolling", "strategy"},
		{"kind: Deployment", "mountPath: /tmp", "mountPath: /run/quittance/key", "must be unique"},
		{"kind: Deployment", "- name: tmp\n          emptyDir", "- name: temp\n          emptyDir", "volumeMounts"},
		{"kind: Job", "restartPolicy: Never", "restartPolicy: Always", "restartPolicy"},
		{"kind: Service\n", "targetPort: http", "targetPort: a_port", "targetPort"},
		{"kind: ServiceAccount", "kind: ServiceAccount", "kind: Secret", "renders a secret"},
		{"kind: NetworkPolicy", "policyTypes: [Ingress, Egress]", "policyType: [Ingress]", "unknown field"},
		{"kind: NetworkPolicy", "cidr: 0.0.0.0/0", "cidr: 0.0.0.0/33", "cidr"},
		{"kind: PodDisruptionBudget", "maxUnavailable: 1", "maxUnavailable: one", "maxUnavailable"},
		{"kind: HorizontalPodAutoscaler", "minReplicas: 2", "minReplicas: 20", "maxReplicas"},
		{"kind: Ingress\n", "pathType: Prefix", "pathType: Begin", "pathType"},
		{"kind: ServiceMonitor", "endpoints:", "endpoint:", "unknown field"},
		{"kind: PrometheusRule", "expr:", "expression:", "unknown field"},
	} {
		planted := 0
		for _, text := range objects {
			if !strings.Contains(text, mistake.in) || !strings.Contains(text, mistake.old) {
				continue
			}
			planted++
			if err := accepted([]string{strings.Replace(text, mistake.old, mistake.new, 1)}); err == nil ||
				!strings.Contains(strings.ToLower(err.Error()), strings.ToLower(mistake.reason)) {
				t.Errorf("%s with %q: %v, want an error about %s", mistake.in, mistake.new, err, mistake.reason)
			}
		}
		if planted == 0 {
			t.Errorf("%s has no %q", mistake.in, mistake.old)
		}
	}
}

// TestPlantedCommands: a container whose command, probe or file does not fit the product is found.
func TestPlantedCommands(t *testing.T) {
	objects, err := render(example(t, "sandbox"))
	if err != nil {
		t.Fatal(err)
	}
	for _, mistake := range []struct{ old, new, reason string }{
		{"--role, worker", "--roles, worker", "unknown flag --roles"},
		{"name: QUITTANCE_KEY_FILE", "name: QUITTANCE_KEYFILE", "--key-file"},
		{"path: /readyz", "path: /ready", "probe"},
		{"containerPort: 8080", "containerPort: 8081", "QUITTANCE_LISTEN"},
		{"value: /run/quittance/key/key.json", "value: /run/quittance/keys/key.json", "nothing mounts"},
		{"value: sandbox", "value: staging", "staging"},
	} {
		planted := false
		for _, text := range objects {
			if !strings.Contains(text, "--role, worker") || !strings.Contains(text, mistake.old) {
				continue
			}
			pod, err := podOf(strings.Replace(text, mistake.old, mistake.new, 1))
			if err != nil || pod == nil {
				t.Fatalf("%q: %v", mistake.new, err)
			}
			planted = true
			if err := runs(t, newMachine(t), pod); err == nil || !strings.Contains(err.Error(), mistake.reason) {
				t.Errorf("%q: %v, want an error about %s", mistake.new, err, mistake.reason)
			}
		}
		if !planted {
			t.Errorf("no worker has %q", mistake.old)
		}
	}
}

// TestPlantedCompose: a container with rights that it does not need is found.
func TestPlantedCompose(t *testing.T) {
	for reason, change := range map[string]func(*types.ServiceConfig){
		"can be written to":  func(s *types.ServiceConfig) { s.ReadOnly = false },
		"capabilities":       func(s *types.ServiceConfig) { s.Privileged = true },
		"gain rights":        func(s *types.ServiceConfig) { s.SecurityOpt = nil },
		"runs as":            func(s *types.ServiceConfig) { s.User = "0:0" },
		"no limit":           func(s *types.ServiceConfig) { s.MemLimit = 0 },
		"not pinned":         func(s *types.ServiceConfig) { s.Image = "quittance:latest" },
		"shares a namespace": func(s *types.ServiceConfig) { s.NetworkMode = "host" },
	} {
		service := projects(t)["TLS"].Services["server"]
		change(&service)
		if err := contained(service); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%v, want an error about %s", err, reason)
		}
	}
}
