package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quittance/test/kit"
)

// The files of monitoring.
const (
	metricsGuide   = "../../docs/ops/monitor.md"
	alertsGuide    = "../../docs/ops/alerts.md"
	alertRules     = "../../deploy/prometheus/alerts.yml"
	alertTests     = "../../deploy/prometheus/alerts_test.yml"
	longAlertTests = "../../deploy/prometheus/alerts_days_test.yml"
	dashboardFile  = "../../deploy/grafana/quittance.json"
)

var (
	metricRow  = regexp.MustCompile("(?m)^\\| `(quittance_[a-z_]+)` \\| ([a-z]+) \\| ([^|]+) \\| [^|]+ \\| [^|]+ \\|$")
	metricType = regexp.MustCompile(`(?m)^# TYPE (quittance_[a-z_]+) ([a-z]+)$`)
	// metricUse matches the name of a metric in a query, and a series in a scrape with its labels.
	metricUse    = regexp.MustCompile(`quittance_[a-z_]+`)
	metricSeries = regexp.MustCompile(`(?m)^(quittance_[a-z_]+)(?:\{(.*)\})? \S+$`)
	labelName    = regexp.MustCompile(`([a-z]+)="`)
	ofHistogram  = regexp.MustCompile(`_(bucket|count|sum)$`)
	alertName    = regexp.MustCompile(`(?m)^      - alert: (\w+)$`)
)

// readText returns the text of a file.
func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documentedMetrics returns the rows of the table of metrics: type and labels by name.
func documentedMetrics(t *testing.T) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for _, row := range metricRow.FindAllStringSubmatch(readText(t, metricsGuide), -1) {
		var labels []string
		for label := range strings.FieldsSeq(row[3]) {
			if name, ok := strings.CutPrefix(label, "`"); ok {
				labels = append(labels, strings.TrimSuffix(name, "`"))
			}
		}
		slices.Sort(labels)
		rows[row[1]] = fmt.Sprint(row[2], labels)
	}
	return rows
}

// checkMetricsTable compares the table of metrics with a scrape of a process that has done every kind of work, in both
// directions: names, types and labels.
func checkMetricsTable(t *testing.T, scrape []byte) {
	t.Helper()
	types, labels := map[string]string{}, map[string][]string{}
	for _, found := range metricType.FindAllSubmatch(scrape, -1) {
		types[string(found[1])] = string(found[2])
	}
	for _, series := range metricSeries.FindAllSubmatch(scrape, -1) {
		name := string(series[1])
		if base := ofHistogram.ReplaceAllString(name, ""); types[base] == "histogram" {
			name = base
		}
		for _, label := range labelName.FindAllSubmatch(series[2], -1) {
			if text := string(label[1]); text != "le" && !slices.Contains(labels[name], text) {
				labels[name] = append(labels[name], text)
			}
		}
	}
	scraped := map[string]string{}
	for name, kind := range types {
		slices.Sort(labels[name])
		scraped[name] = fmt.Sprint(kind, labels[name])
	}
	documented := documentedMetrics(t)
	if bytes.Contains(scrape, []byte(`engine="postgres"`)) {
		delete(documented, "quittance_disk_free_bytes") // of the file system of a SQLite database
	}
	if !maps.Equal(documented, scraped) || len(scraped) < 20 {
		t.Errorf("the table in %s has\n%v\nand the scrape\n%v", metricsGuide, documented, scraped)
	}
}

// wantDocumented checks that a text uses documented metrics only.
func wantDocumented(t *testing.T, place, text string) {
	t.Helper()
	documented := documentedMetrics(t)
	for _, name := range metricUse.FindAllString(text, -1) {
		if documented[name] == "" && documented[ofHistogram.ReplaceAllString(name, "")] == "" {
			t.Errorf("%s uses %s, which %s does not have", place, name, metricsGuide)
		}
	}
}

// TestAlertRules runs the unit tests of the alert rules, and checks that each alert has one, and a section in the
// guide, which it names. An alert that is about a whole installation also has one with two of them on one Prometheus.
func TestAlertRules(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	command := exec.CommandContext(t.Context(), "promtool", "test", "rules", filepath.Base(alertTests),
		filepath.Base(longAlertTests))
	command.Dir = filepath.Dir(alertTests)
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v (scripts/setup installs it)\n%s", err, out)
	}
	rules, tests, guide := readText(t, alertRules), readText(t, alertTests)+readText(t, longAlertTests),
		readText(t, alertsGuide)
	wantDocumented(t, alertRules, rules)
	names := alertName.FindAllStringSubmatch(rules, -1)
	for _, found := range names {
		name := found[1]
		if !strings.Contains(tests, "        alertname: "+name+"\n") ||
			!strings.Contains(tests, "alertname: "+name+", exp_alerts: []}") {
			t.Errorf("%s does not test when %s fires and when it does not", alertTests, name)
		}
		_, rule, _ := strings.Cut(rules, "- alert: "+name+"\n")
		rule, _, _ = strings.Cut(rule, "- alert: ")
		if strings.Contains(rule, "by (installation") && !strings.Contains(tests, "# two installations: "+name+"\n") {
			t.Errorf("%s does not test %s with two installations", alertTests, name)
		}
		if regexp.MustCompile(`\b(max|min|sum|count|absent)\((quittance|rate|increase)`).MatchString(strings.ReplaceAll(rule,
			"or on () absent(", "")) {
			t.Errorf("%s mixes installations", name)
		}
		if !strings.Contains(guide, "\n## "+name+"\n") || !strings.Contains(rules,
			"          runbook: docs/ops/alerts.md#"+strings.ToLower(name)+"\n") {
			t.Errorf("%s has no section for %s, or the rule does not name it", alertsGuide, name)
		}
	}
	if len(names) < 10 || strings.Count(rules, "- alert:") != len(names) ||
		strings.Count(guide, "\n## Quittance") != len(names) {
		t.Errorf("%d alerts were found", len(names))
	}
}

// dashboard is the part of a Grafana dashboard that the test reads.
type dashboard struct {
	Templating struct {
		List []struct{ Name, Type string }
	}
	Panels []struct {
		Type, Title string
		Datasource  struct{ UID string }
		Targets     []struct {
			Expr       string
			Datasource struct{ UID string }
		}
	}
}

// TestDashboard lets Prometheus scrape a sandbox, and checks that each query of the dashboard has a result there, on
// whatever data source a person chooses, and that Prometheus accepts the alert rules.
func TestDashboard(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	var board dashboard
	text := readText(t, dashboardFile)
	if err := json.Unmarshal([]byte(text), &board); err != nil {
		t.Fatal(err)
	}
	wantDocumented(t, dashboardFile, text)
	base, metrics := monitoredSandbox(t)
	api := startPrometheus(t, metrics)
	queries := 0
	for _, panel := range board.Panels {
		if panel.Title == "" || (panel.Type == "row") != (len(panel.Targets) == 0) || panel.Type != "row" &&
			panel.Datasource.UID != "${datasource}" {
			t.Errorf("panel %q has %d queries and the data source %q", panel.Title, len(panel.Targets), panel.Datasource.UID)
		}
		for _, target := range panel.Targets {
			queries++
			query := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$installation", ".*").Replace(target.Expr)
			if strings.Contains(query, "$") || target.Datasource.UID != "${datasource}" {
				t.Errorf("%s: the query %s has unknown variables, or the data source %q", panel.Title, query, target.Datasource.UID)
			}
			if err := kit.Poll(func() error { return wantResult(base, api, query) }); err != nil {
				t.Errorf("%s: %v", panel.Title, err)
			}
		}
	}
	if queries < 30 || len(board.Templating.List) != 3 || board.Templating.List[0].Type != "datasource" {
		t.Errorf("%d queries, and the variables %v", queries, board.Templating.List)
	}
}

// monitoredSandbox starts a sandbox, whose example company makes every kind of call, and returns its address and the
// host of its metrics.
func monitoredSandbox(t *testing.T) (base, metrics string) {
	t.Helper()
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready.json")
	p, err := start(dir, sandboxName, "sandbox", "--chaos", "off", "--listen", "127.0.0.1:0", "--metrics-listen",
		"127.0.0.1:0", "--ready-file", ready)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	var info struct {
		BaseURL    string `json:"base_url"`
		MetricsURL string `json:"metrics_url"`
	}
	if err := p.await(func() error {
		text, err := os.ReadFile(ready)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &info)
	}); err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(info.MetricsURL)
	if err != nil || address.Host == "" {
		t.Fatalf("the metrics are at %q: %v", info.MetricsURL, err)
	}
	return info.BaseURL, address.Host
}

// startPrometheus starts a Prometheus that scrapes a host once a second and has the alert rules, and returns the
// address of its API.
func startPrometheus(t *testing.T, host string) string {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs(alertRules)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(
		"global: {scrape_interval: 1s}\nrule_files: [%q]\nscrape_configs: [{job_name: quittance, static_configs: [{targets: [%q]}]}]\n", rules, host)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := startCommand(dir, "prometheus", exec.Command("prometheus", "--config.file=prometheus.yml",
		"--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:0"))
	if err != nil {
		t.Fatalf("%v (scripts/setup installs it)", err)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	address, err := p.says(regexp.MustCompile(`msg="Listening on" address=(127\.0\.0\.1:\d+)`))
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + address + "/api/v1/query?query="
}

// wantResult returns an error unless a query has a result with a number. It makes a request to the sandbox first,
// because only a rate of some requests has quantiles.
func wantResult(base, api, query string) error {
	caller, err := newCaller("")
	if err != nil {
		return err
	}
	if _, err := caller.call(http.MethodGet, base+"/healthz", "", ""); err != nil {
		return err
	}
	response, err := caller.call(http.MethodGet, api+url.QueryEscape(query), "", "")
	if err != nil {
		return err
	}
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal(response.body, &answer); err != nil {
		return err
	}
	for _, series := range answer.Data.Result {
		if series.Value[1] != "NaN" {
			return nil
		}
	}
	return fmt.Errorf("%s: %s %s, with %d series and no number", query, answer.Status, answer.Error,
		len(answer.Data.Result))
}
