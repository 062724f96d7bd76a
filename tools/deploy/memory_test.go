package deploy

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// memoryLimit returns the value of GOMEMLIMIT among the variables of a container in bytes, 0 if it is not set.
func memoryLimit(t *testing.T, variables []corev1.EnvVar) int64 {
	t.Helper()
	for _, variable := range variables {
		if variable.Name != "GOMEMLIMIT" {
			continue
		}
		number, found := strings.CutSuffix(variable.Value, "MiB")
		mebibytes, err := strconv.ParseInt(number, 10, 64)
		if err != nil || !found {
			t.Fatalf("GOMEMLIMIT is %q: %v", variable.Value, err)
		}
		return mebibytes << 20
	}
	return 0
}

// TestMemoryLimits: in every container of every installation, GOMEMLIMIT is just below nine tenths of the limit of
// memory, in whatever unit that is, and a container without a limit has none.
func TestMemoryLimits(t *testing.T) {
	cases := installations(t)
	for _, limit := range []string{"1Gi", "1.5Gi", "700M", "2000000Ki", "1G", "'800000000'", "734003200", "600000k"} {
		cases[limit] = with(t, everything+fmt.Sprintf("migration: {resources: {limits: {memory: %s}}}\n", limit))
	}
	cases["none"] = with(t, everything+"migration: {resources: {limits: {memory: null}}}\n")
	for name, values := range cases {
		objects, err := render(values)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		limited := 0
		for _, pod := range podsOf(t, objects) {
			for _, container := range pod.Spec.Containers {
				limit := container.Resources.Limits[corev1.ResourceMemory]
				got, below := memoryLimit(t, container.Env), limit.Value()*9/10
				if got > below || below-got > 1<<20 || (got == 0) != limit.IsZero() {
					t.Errorf("%s: %s has GOMEMLIMIT %d with the limit %s", name, pod.Labels["app.kubernetes.io/component"], got,
						limit.String())
				}
				if got > 0 {
					limited++
				}
			}
		}
		if limited < 2 {
			t.Errorf("%s: only %d containers have GOMEMLIMIT", name, limited)
		}
	}
	for _, limit := range []string{"1e9", "512m", "1Pi", "-1Gi", "some"} {
		if _, err := render(with(t, "worker: {resources: {limits: {memory: '"+limit+"'}}}")); err == nil ||
			!strings.Contains(err.Error(), "/worker/resources/limits/memory") {
			t.Errorf("%s: %v, want an error about the limit", limit, err)
		}
	}
}

// TestTemporaryFiles: what a container may write to /tmp and to its log fits into its limit of ephemeral storage,
// because the kubelet evicts a pod above it; a container without the limit could fill the disk of the node with its
// log.
func TestTemporaryFiles(t *testing.T) {
	for name, values := range installations(t) {
		objects, err := render(values)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range podsOf(t, objects) {
			for _, container := range pod.Spec.Containers {
				limit := container.Resources.Limits[corev1.ResourceEphemeralStorage]
				least := resource.MustParse("128Mi")
				if container.Args[0] == "serve" {
					least = resource.MustParse("1Gi")
					least.Add(resource.MustParse("128Mi"))
				}
				if limit.Cmp(least) < 0 || container.Resources.Requests.StorageEphemeral().IsZero() {
					t.Errorf("%s: %s requests %s and is limited to %s of ephemeral storage", name, container.Args[0],
						container.Resources.Requests.StorageEphemeral(), limit.String())
				}
			}
		}
	}
}

// TestComposeMemory: the runtime's share of the memory and the files in /tmp leave a reserve within the limit of the
// container.
func TestComposeMemory(t *testing.T) {
	found := 0
	for _, service := range projects(t)["behind a proxy"].Services {
		share := service.Environment["GOMEMLIMIT"]
		if share == nil {
			continue
		}
		found++
		if len(service.Tmpfs) != 1 {
			t.Fatalf("%s has %q", service.Name, service.Tmpfs)
		}
		_, options, _ := strings.Cut(service.Tmpfs[0], ":size=")
		size, _, _ := strings.Cut(options, ",")
		temporary, err := resource.ParseQuantity(strings.ToUpper(size) + "i")
		if err != nil {
			t.Fatalf("%s: %v", size, err)
		}
		limit, used := int64(service.MemLimit), memoryLimit(t, []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: *share}})+
			temporary.Value()
		if used > limit*19/20 || used < limit*4/5 {
			t.Errorf("%s: GOMEMLIMIT and /tmp are %d bytes of %d", service.Name, used, limit)
		}
	}
	if found < 2 {
		t.Errorf("%d services have GOMEMLIMIT", found)
	}
}
