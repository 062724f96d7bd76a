package deploy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// chartDir is the chart in the source tree.
var chartDir = filepath.Join("..", "..", "deploy", "helm", "quittance")

// example reads one of the files of values that come with the chart.
func example(t *testing.T, name string) map[string]any {
	t.Helper()
	values, err := common.ReadValuesFile(filepath.Join(chartDir, "examples", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// with returns the values of the example of a sandbox, changed by others in YAML.
func with(t *testing.T, text string) map[string]any {
	t.Helper()
	changes, err := common.ReadValues([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return util.MergeTables(changes, example(t, "sandbox"))
}

// everything turns on all that the chart has, with TLS at the API itself.
const everything = `
tls: {existingSecret: quittance-tls}
proxy: {trusted: []}
publicURL: https://invoices.example
imagePullSecrets: [registry]
database: {directKey: direct, ca: {existingConfigMap: authority}}
signOn: {issuer: "https://login.example", clientID: quittance, existingSecret: sign-on}
traces: {endpoint: "https://collector.example:4318", sample: 0.25, existingSecret: traces}
mail: {url: "smtp://quittance@mail.example:587", from: "Invoices <invoices@example.com>", existingSecret: mail, ca: {existingConfigMap: authority}}
settings: {max-body: 2097152, max-stored-bytes: 21474836480, poll-max: 30m, webhook-ca: /etc/quittance/files/webhooks/ca.pem}
files: [{name: webhooks, existingConfigMap: authorities}, {name: more, existingSecret: more}]
shutdown: {delay: 20, grace: 60}
api:
  settings: {max-requests: 1024, max-body: 4194304}
  autoscaling: {enabled: true}
  podAnnotations: {example.com/team: invoices}
  nodeSelector: {kubernetes.io/arch: amd64}
  tolerations: [{key: dedicated, operator: Exists, effect: NoSchedule}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: Exists}]}]}}}
  priorityClassName: important
worker: {replicas: 4}
backup: {enabled: true, s3: {url: "s3://backups/quittance", endpoint: "https://store.example:7070", region: eu-west-1, existingSecret: store, ca: {existingConfigMap: authority}}}
service: {type: LoadBalancer, externalTrafficPolicy: Local, annotations: {example.com/balancer: internal}}
ingress: {enabled: true, className: nginx, host: invoices.example, existingSecret: invoices-tls, annotations: {example.com/a: b}}
operators: {enabled: true}
metrics: {serviceMonitor: {enabled: true}, rules: {enabled: true}, dashboard: {enabled: true}}
networkPolicy:
  api: {from: [{ipBlock: {cidr: 10.0.0.0/8}}]}
  operators: {from: [{namespaceSelector: {matchLabels: {team: operations}}}]}
  backup: {to: [{ipBlock: {cidr: 10.9.8.7/32}}], port: 7070}
  public: {except: [203.0.113.0/24, "2a00:1450::/32"]}
  egress: [{to: [{podSelector: {matchLabels: {app: collector}}}], ports: [{port: 4318}]}]
serviceAccount: {annotations: {example.com/role: none}}
`

// nothing turns off all that can be.
const nothing = `
api: {replicas: 1}
worker: {replicas: 1}
migration: {enabled: false}
metrics: {enabled: false}
podDisruptionBudget: {enabled: false}
networkPolicy: {enabled: false, database: {to: []}}
serviceAccount: {create: false}
fullnameOverride: a-name-that-is-much-longer-than-all-that-people-would-think-of
`

// installations are the values with which the chart is tested.
func installations(t *testing.T) map[string]map[string]any {
	return map[string]map[string]any{"sandbox": example(t, "sandbox"), "production": example(t, "production"),
		"everything": with(t, everything), "nothing": with(t, nothing),
		"claim": with(t, "backup: {enabled: true, existingClaim: backups, keep: 3}")}
}

// render returns the objects of the chart in the source tree for an installation, in the order of their files.
func render(values map[string]any) ([]string, error) { return renderChart(chartDir, values) }

// renderChart is render for a directory or an archive with the chart.
func renderChart(from string, values map[string]any) ([]string, error) {
	chart, err := loader.Load(from)
	if err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: "invoices", Namespace: "billing", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	var objects []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		split, err := documents(files[name])
		if err != nil {
			return nil, err
		}
		objects = append(objects, split...)
	}
	return objects, nil
}

// documents splits a YAML stream and leaves out what has only comments.
func documents(text string) ([]string, error) {
	var found []string
	for reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		json, err := yaml.ToJSON(document)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(json, []byte("null")) {
			found = append(found, string(document))
		}
	}
}

// TestChart: with each of the installations, Helm's linter has nothing to say, and the API server would accept every
// object.
func TestChart(t *testing.T) {
	for name, values := range installations(t) {
		t.Run(name, func(t *testing.T) {
			for _, message := range lint.RunAll(chartDir, values, "billing").Messages {
				if message.Severity > support.InfoSev {
					t.Error(message)
				}
			}
			objects, err := render(values)
			if err != nil {
				t.Fatal(err)
			}
			if err := accepted(objects); err != nil {
				t.Error(err)
			}
			if name == "nothing" && len(objects) != 4 || name == "everything" && len(objects) != 21 {
				t.Errorf("%d objects", len(objects))
			}
		})
	}
}

// TestRefusedValues: the schema refuses values that would not work, and its error names them.
func TestRefusedValues(t *testing.T) {
	for text, reason := range map[string]string{
		"image: {repository: ''}":                             "/image/repository",
		"database: {existingSecret: ''}":                      "/database/existingSecret",
		"database: {url: 'postgres://quittance:secret@db/q'}": "url", // a secret as a value
		"keyFile: {content: secret}":                          "content",
		"signOn: {clientSecret: secret}":                      "clientSecret",
		"keyFile: {existingSecret: ''}":                       "/keyFile/existingSecret",
		"proxy: {trusted: []}":                                "/proxy/trusted",
		"proxy: {trusted: [ingress]}":                         "/proxy/trusted/0",
		"environment: local":                                  "/environment",
		"networkPolicy: {database: {to: []}}":                 "/networkPolicy/database/to",
		// would mean everybody
		"networkPolicy: {metrics: {from: []}}": "/networkPolicy/metrics/from",
		"networkPolicy: {dns: {to: [{}]}}":     "/networkPolicy/dns/to/0",
		"settings: {max-bodies: 1}":            "max-bodies",
		"settings: {database: 'sqlite:x'}":     "database",
		"settings: {max-body: 1.5}":            "/settings/max-body",
		"worker: {settings: {role: api}}":      "role",
		"api: {replicas: 0}":                   "/api/replicas",
		"apis: {replicas: 2}":                  "apis",
		// CPU says nothing about a worker
		"worker: {autoscaling: {enabled: true}}":                     "autoscaling",
		"publicURL: http://invoices.example":                         "/publicURL",
		"signOn: {issuer: 'https://login.example', clientID: q}":     "/signOn/existingSecret",
		"ingress: {enabled: true, existingSecret: tls}":              "/ingress/host",
		"metrics: {enabled: false, serviceMonitor: {enabled: true}}": "/metrics/serviceMonitor/enabled",
		// a secret as a value
		"mail: {url: 'smtp://q:secret@mail.example:587', from: q@example.com}":    "/mail/url",
		"mail: {url: 'smtp://mail.example', from: q@example.com}":                 "/publicURL",
		"publicURL: https://invoices.example\nmail: {url: 'smtp://mail.example'}": "/mail/from",
		"backup: {enabled: true}":                              "/backup/existingClaim",
		"backup: {enabled: true, s3: {url: 's3://backups/q'}}": "/backup/s3/existingSecret",
		// two places
		"backup: {enabled: true, existingClaim: b, s3: {url: 's3://b', existingSecret: s}}": "/backup/existingClaim",
		"backup: {enabled: true, existingClaim: b, keep: -1}":                               "/backup/keep",
		"backup: {s3: {endpoint: 'http://store.example'}}":                                  "/backup/s3/endpoint",
		"backup: {s3: {secretAccessKey: secret}}":                                           "secretAccessKey",
		"mail: {password: secret}":                                                          "password",
		"settings: {smtp-url: 'smtp://mail.example'}":                                       "smtp-url",
		"files: [{name: a}]":                                                                "/files/0",
		"traces: {sample: 0}":                                                               "/traces/sample",
		"shutdown: {delay: 15s}":                                                            "/shutdown/delay",
		"service: {externalTrafficPolicy: Local}":                                           "/service/externalTrafficPolicy",
	} {
		if objects, err := render(with(t, text)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %d objects, %v; want an error about %s", text, len(objects), err, reason)
		}
	}
	// The values that have no default are all named at once.
	_, err := render(map[string]any{})
	for _, name := range []string{"/image/repository", "/database/existingSecret", "/keyFile/existingSecret",
		"/tls/existingSecret", "/proxy/trusted", "/networkPolicy/database/to"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
}

// TestMonitoringFiles: the alert rules and the dashboard of the chart, which Helm reads only from below the chart's
// directory, are copies of those in deploy/prometheus and deploy/grafana, which other tests check. They are no symbolic
// links: archives and checkouts may lose those.
func TestMonitoringFiles(t *testing.T) {
	chart, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range chart.Files {
		from := map[string]string{"files/alerts.yml": "prometheus/alerts.yml",
			"files/quittance.json": "grafana/quittance.json"}[file.Name]
		if from == "" {
			continue
		}
		want, err := os.ReadFile(filepath.Join("..", "..", "deploy", from))
		if err != nil || !bytes.Equal(file.Data, want) {
			t.Errorf("%s is not equal to deploy/%s, copy it: %v", file.Name, from, err)
		}
		found++
	}
	if found != 2 {
		t.Errorf("the chart has %d of the two files", found)
	}
}
