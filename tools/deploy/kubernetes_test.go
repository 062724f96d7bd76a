package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	autoscalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/pod-security-admission/api"
	podsecurity "k8s.io/pod-security-admission/policy"
)

// accepted returns an error if the API server would refuse one of the objects, if it is a secret, or if its pods are
// not allowed in a namespace that enforces the restricted Pod Security Standard.
func accepted(objects []string) error {
	var faults []error
	for _, text := range objects {
		if err := acceptedObject(text); err != nil {
			faults = append(faults, fmt.Errorf("%w in\n%s", err, text))
		}
	}
	return errors.Join(faults...)
}

// acceptedObject is accepted for one object.
func acceptedObject(text string) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(text), &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "Secret":
		return errors.New("the chart renders a secret")
	case "ServiceMonitor":
		return decodeStrictly(text, &monitoring.ServiceMonitor{})
	case "PrometheusRule":
		return decodeStrictly(text, &monitoring.PrometheusRule{})
	}
	// As the API server does: unknown fields are errors, then the defaults are set.
	decoder := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDecoder()
	object, err := runtime.Decode(decoder, []byte(text))
	if err != nil {
		return err
	}
	if faults := validate(object); len(faults) > 0 {
		return faults.ToAggregate()
	}
	pod, err := podOf(text)
	if err != nil || pod == nil {
		return err
	}
	return restricted(pod)
}

// decodeStrictly decodes an object of the Prometheus operator, which may have no fields that its type has not.
func decodeStrictly(text string, into any) error {
	object, err := yaml.ToJSON([]byte(text))
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(strings.NewReader(string(object)))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// validate does what the API server does when the object is created.
func validate(object runtime.Object) field.ErrorList {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	accessor.SetNamespace("billing")
	switch o := object.(type) {
	case *apps.Deployment:
		return appsvalidation.ValidateDeployment(o, corevalidation.PodValidationOptions{})
	case *batch.Job:
		// The API server adds a selector of its own first.
		o.Spec.Selector = &metav1.LabelSelector{MatchLabels: o.Spec.Template.Labels}
		return batchvalidation.ValidateJobSpec(&o.Spec, nil, field.NewPath("spec"), corevalidation.PodValidationOptions{})
	case *batch.CronJob:
		return batchvalidation.ValidateCronJobCreate(o, corevalidation.PodValidationOptions{})
	case *core.Pod:
		return corevalidation.ValidatePodCreate(o, corevalidation.PodValidationOptions{})
	case *core.Service:
		allocate(&o.Spec)
		return corevalidation.ValidateServiceCreate(o)
	case *core.ServiceAccount:
		return corevalidation.ValidateServiceAccount(o)
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(o)
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(o, policyvalidation.PodDisruptionBudgetValidationOptions{})
	case *networking.NetworkPolicy:
		return networkingvalidation.ValidateNetworkPolicy(o, networkingvalidation.NetworkPolicyValidationOptions{})
	case *networking.Ingress:
		return networkingvalidation.ValidateIngressCreate(o)
	case *autoscaling.HorizontalPodAutoscaler:
		return autoscalingvalidation.ValidateHorizontalPodAutoscaler(o,
			autoscalingvalidation.HorizontalPodAutoscalerSpecValidationOptions{MinReplicasLowerBound: 1})
	}
	return field.ErrorList{field.NotSupported(field.NewPath("kind"), fmt.Sprintf("%T", object),
		[]string{"a kind that this test can validate"})}
}

// allocate sets what the API server allocates to a service before it validates it.
func allocate(spec *core.ServiceSpec) {
	if spec.ClusterIP == core.ClusterIPNone {
		spec.ClusterIPs = []string{core.ClusterIPNone}
	}
	if spec.Type == core.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == core.ServiceExternalTrafficPolicyLocal {
		spec.HealthCheckNodePort = 30000
	}
}

// podOf returns the pod template of an object, or nil if it has none.
func podOf(text string) (*corev1.PodTemplateSpec, error) {
	object, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode([]byte(text), nil, nil)
	if err != nil {
		return nil, err
	}
	switch o := object.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template, nil
	case *batchv1.Job:
		return &o.Spec.Template, nil
	case *corev1.Pod:
		return &corev1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}, nil
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template, nil
	}
	return nil, nil
}

// podsOf returns the pod templates of all objects that have one.
func podsOf(t *testing.T, objects []string) []*corev1.PodTemplateSpec {
	t.Helper()
	var found []*corev1.PodTemplateSpec
	for _, text := range objects {
		if strings.Contains(text, "kind: ServiceMonitor") || strings.Contains(text, "kind: PrometheusRule") {
			continue // has no pods, and is not of a kind that podOf knows
		}
		pod, err := podOf(text)
		if err != nil {
			t.Fatal(err)
		}
		if pod != nil {
			found = append(found, pod)
		}
	}
	return found
}

// restricted returns an error if a namespace that enforces the latest restricted standard refuses the pod.
func restricted(pod *corev1.PodTemplateSpec) error {
	evaluator, err := podsecurity.NewEvaluator(podsecurity.DefaultChecks(), nil)
	if err != nil {
		return err
	}
	result := podsecurity.AggregateCheckResults(evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted,
		Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec))
	if !result.Allowed {
		return fmt.Errorf("the restricted Pod Security Standard forbids it: %s", result.ForbiddenDetail())
	}
	return nil
}
