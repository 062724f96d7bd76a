package deploy

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// decoded returns the objects of a kind by their names.
func decoded[T any](t *testing.T, objects []string, kind string) map[string]*T {
	t.Helper()
	found := map[string]*T{}
	for _, text := range objects {
		var of metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(text), &of); err != nil {
			t.Fatal(err)
		}
		if of.Kind != kind {
			continue
		}
		found[of.Name] = new(T)
		if err := yaml.Unmarshal([]byte(text), found[of.Name]); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// selects says whether a selector of labels selects a pod.
func selects(t *testing.T, selector *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Matches(labels.Set(of))
}

// TestMigrationReachesTheDatabase: in a namespace that forbids everything else, the job of a first installation, which
// runs before the other objects exist, has a policy that is created before it and lets it reach name servers and the
// database. Helm removes the policy with the job.
func TestMigrationReachesTheDatabase(t *testing.T) {
	for name, values := range installations(t) {
		objects, err := render(values)
		if err != nil {
			t.Fatal(err)
		}
		jobs, policies := decoded[batchv1.Job](t, objects, "Job"),
			decoded[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy")
		if want := map[bool]int{false: 1}[name == "nothing"]; len(jobs) != want || want == 0 && len(policies) > 0 {
			t.Errorf("%s: %d jobs, %d policies", name, len(jobs), len(policies))
		}
		for _, job := range jobs {
			if policy := policies[job.Name]; policy == nil {
				t.Errorf("%s: %s has no policy", name, job.Name)
			} else {
				opensTheDatabase(t, policy, job)
			}
		}
		for _, policy := range policies { // a hook is not part of the release, so the others are none
			if hook := policy.Annotations["helm.sh/hook"] != ""; hook != strings.HasSuffix(policy.Name, "-migration") {
				t.Errorf("%s: %s is a hook: %v", name, policy.Name, hook)
			}
		}
	}
}

// opensTheDatabase fails the test unless a policy is there before a job and as long as it, and lets its pod reach name
// servers and the database.
func opensTheDatabase(t *testing.T, policy *networkingv1.NetworkPolicy, job *batchv1.Job) {
	t.Helper()
	for _, annotation := range []string{"helm.sh/hook", "helm.sh/hook-delete-policy"} {
		if policy.Annotations[annotation] != job.Annotations[annotation] {
			t.Errorf("the policy has %s: %s", annotation, policy.Annotations[annotation])
		}
	}
	before, err := strconv.Atoi(policy.Annotations["helm.sh/hook-weight"])
	if err != nil {
		t.Fatal(err)
	}
	if weight, err := strconv.Atoi(job.Annotations["helm.sh/hook-weight"]); err != nil || before >= weight {
		t.Errorf("the policy has the weight %d, the job %d, %v", before, weight, err)
	}
	if !selects(t, &policy.Spec.PodSelector, job.Spec.Template.Labels) {
		t.Error("the policy does not select the job's pod")
	}
	for _, port := range []int32{53, 5432} {
		if !slices.ContainsFunc(policy.Spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
			return len(rule.To) > 0 && slices.ContainsFunc(rule.Ports,
				func(p networkingv1.NetworkPolicyPort) bool { return *p.Port == intstr.FromInt32(port) })
		}) {
			t.Errorf("the policy does not allow port %d", port)
		}
	}
}

// TestBackupReachesTheStore: a store at a private address is allowed to the pods of backups alone.
func TestBackupReachesTheStore(t *testing.T) {
	objects, err := render(with(t, everything))
	if err != nil {
		t.Fatal(err)
	}
	policy := decoded[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy")["invoices-quittance-backup"]
	for _, pod := range podsOf(t, objects) {
		backup := pod.Spec.Containers[0].Args[0] == "backup"
		if selects(t, &policy.Spec.PodSelector, pod.Labels) != backup {
			t.Errorf("the pod of %q can reach the store: %v", pod.Spec.Containers[0].Args, !backup)
		}
	}
	rule := policy.Spec.Egress[0]
	if rule.To[0].IPBlock.CIDR != "10.9.8.7/32" || *rule.Ports[0].Port != intstr.FromInt32(7070) {
		t.Errorf("%+v", rule)
	}
}

// TestStartup: without the job, a server that updates the schema is not killed before the deadline of a migration, and
// its rollout does not fail before; a deadline below ten minutes does not shorten a start.
func TestStartup(t *testing.T) {
	for text, want := range map[string]int32{"migration: {deadline: 7200}": 600, "migration: {enabled: false}": 3600,
		"migration: {enabled: false, deadline: 7200}": 7200, "migration: {enabled: false, deadline: 60}": 600} {
		objects, err := render(with(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if err := accepted(objects); err != nil {
			t.Error(err)
		}
		checked := 0
		for _, text := range objects {
			if !strings.Contains(text, "kind: Deployment\n") {
				continue
			}
			checked++
			pod, err := podOf(text)
			if err != nil {
				t.Fatal(err)
			}
			probe := pod.Spec.Containers[0].StartupProbe
			if got := probe.PeriodSeconds * probe.FailureThreshold; got != want ||
				!strings.Contains(text, fmt.Sprintf("progressDeadlineSeconds: %d\n", want+300)) {
				t.Errorf("a start may take %d s, want %d:\n%s", got, want, text)
			}
		}
		if checked != 2 {
			t.Errorf("%d deployments", checked)
		}
	}
}

// TestHelmTest: the pod of helm test asks the service of the API at its port, is allowed to, and succeeds when a server
// of the chart answers, with and without TLS, and fails when none does.
func TestHelmTest(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	for name, values := range map[string]map[string]any{"proxy": with(t,
		"networkPolicy: {api: {from: [{podSelector: {}}]}}"), "TLS": with(t, everything),
		"port": with(t, "service: {port: 8443}")} {
		t.Run(name, func(t *testing.T) {
			objects, err := render(values)
			if err != nil {
				t.Fatal(err)
			}
			asks := decoded[corev1.Pod](t, objects, "Pod")["invoices-quittance-test"]
			if asks.Annotations["helm.sh/hook"] != "test" {
				t.Error("the pod is installed")
			}
			mayAsk(t, objects, asks.Labels)
			asking := asks.Spec.Containers[0]
			service := decoded[corev1.Service](t, objects, "Service")["invoices-quittance"]
			if at := asking.Env[0]; at.Name != "QUITTANCE_LISTEN" ||
				at.Value != net.JoinHostPort(service.Name, strconv.Itoa(int(service.Spec.Ports[0].Port))) {
				t.Errorf("it asks %+v", at)
			}
			m := newMachine(t)
			container := decoded[appsv1.Deployment](t, objects,
				"Deployment")["invoices-quittance-api"].Spec.Template.Spec.Containers[0]
			server, err := m.serve(t, container.Args, variablesOf(container))
			if err != nil {
				t.Fatal(err)
			}
			scheme := "http://"
			if name == "TLS" {
				scheme = "https://"
			}
			if err := answers(t, scheme+local(server.listen)+"/readyz"); err != nil {
				t.Fatal(err)
			}
			for address, ready := range map[string]bool{strings.Replace(local(server.listen), "127.0.0.1", "localhost", 1): true,
				"localhost:1": false} {
				environment := append(variablesOf(asking), "QUITTANCE_LISTEN="+address)
				if out, err := m.command(t.Context(), asking.Args, environment).CombinedOutput(); (err == nil) != ready {
					t.Errorf("%s: %v\n%s", address, err, out)
				}
			}
		})
	}
}

// mayAsk fails the test unless the policies let a pod with these labels call the API, in both directions.
func mayAsk(t *testing.T, objects []string, of map[string]string) {
	t.Helper()
	policies := decoded[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy")
	api := decoded[appsv1.Deployment](t, objects, "Deployment")["invoices-quittance-api"].Spec.Template.Labels
	if out := policies["invoices-quittance-test"]; !selects(t, &out.Spec.PodSelector, of) ||
		!selects(t, out.Spec.Egress[0].To[0].PodSelector, api) {
		t.Error("the pod may not call the API")
	}
	from := policies["invoices-quittance-api"].Spec.Ingress[0].From
	if len(from) > 0 && !slices.ContainsFunc(from, func(peer networkingv1.NetworkPolicyPeer) bool {
		return peer.PodSelector != nil && len(peer.PodSelector.MatchLabels) > 0 && selects(t, peer.PodSelector, of)
	}) {
		t.Error("the API may not be called by the pod")
	}
}

// variablesOf returns the variables of a container.
func variablesOf(container corev1.Container) []string {
	var set []string
	for _, variable := range container.Env {
		set = append(set, variable.Name+"="+variable.Value)
	}
	return set
}
