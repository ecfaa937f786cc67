package deploy

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// alert is a rule of Prometheus.
type alert struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

func alerts(t *testing.T) (all []alert) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []alert }
	}
	if err := yaml.Unmarshal(read(t, "prometheus/alerts.yml"), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("there are no alerts")
	}
	return all
}

// anchors are what can be linked to in a page: its headings, as they are written in
// links.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(read(t, page)), -1) {
		name := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all[strings.ReplaceAll(name, " ", "-")] = true
	}
	return all
}

// Who is woken at night is told what it means and what to do.
func TestEveryAlertHasItsRunbook(t *testing.T) {
	there := anchors(t, "../docs/OPERATIONS.md")
	for _, a := range alerts(t) {
		page, anchor, _ := strings.Cut(a.Annotations["runbook"], "#")
		if page != "docs/OPERATIONS.md" || anchor != strings.ToLower(a.Alert) || !there[anchor] {
			t.Errorf("%s has the runbook %q, and there is no such heading", a.Alert, a.Annotations["runbook"])
		}
		if a.Annotations["summary"] == "" || !slices.Contains([]string{"page", "ticket"}, a.Labels["severity"]) {
			t.Errorf("%s has the summary %q and the severity %q", a.Alert, a.Annotations["summary"], a.Labels["severity"])
		}
	}
}

// What a page calls worrying and what somebody is woken for are the same.
func TestBoundsOfTheDocsAreThoseOfTheAlerts(t *testing.T) {
	rows, rules := string(read(t, "../docs/METRICS.md")), map[string]string{}
	for _, a := range alerts(t) {
		rules[strings.TrimPrefix(a.Alert, "Quotashare")] = strings.TrimSpace(a.Expr) + " for " + a.For
	}
	for _, bound := range []struct{ alert, rule, figure, words string }{
		{"LogAway", "broker_connected == 0 .* for 30s", "broker_connected", "0 for more than 30 s"},
		{"LogAway", "log_silent_seconds > 10 .* for 30s", "log_silent_seconds", "above 10 for more than 30 s"},
		{"LogAway", "has_leader == 0 for 30s", "server_has_leader", "0 for more than 30 s"},
		{"DecidersMissing", "for 2m", "ready", "0 for more than 2 minutes"},
		{"LogSlow", "> 1 for", "publish_seconds", "p99 above 1 s"},
		{"SpoolNotEmpty", "> 0 for 5m", "spool_events", "above 0 for more than 5 minutes"},
		{"SpoolFilling", "> 0.8 for", "spool_limit_bytes", "above 80 %"},
		{"HTTPErrors", "> 0.05 for", "http_requests_total", "5xx above 5 %"},
		{"Rejected", `\[15m\]\)\) > 10 for`, "rejected_total", "more than 10 in 15 minutes"},
		{"ClockSkew", "> 1 .* < -1 for", "clock_ahead_seconds", "beyond ±1"},
		{"HoldsFull", "holds_open\\) > 800000 ", "holds_open", "above 800,000"},
		{"HoldsWithoutLog", "> 0 for 2m", "local_holds_open", "above 0 for more than 2 minutes"},
		{"DiskFilling", "< 0.15 for", "disk_free_bytes", "below 15 % of the size"},
		{"DiskFull", "< 1e9 for", "disk_free_bytes", "or 1 GB"},
		{"NobodyPurges", "!= 1 for 5m", "lease_held", "not 1 for more than 5 minutes"},
		{"GatewayErrors", "> 0.05 for", "gateway_requests_total", "5xx above 5 %"},
	} {
		if !regexp.MustCompile(bound.rule).MatchString(rules[bound.alert]) {
			t.Errorf("%s is %q, and docs/METRICS.md has %q", bound.alert, rules[bound.alert], bound.words)
		}
		row := regexp.MustCompile("(?m)^\\| `quotashare_" + bound.figure + "[`{].*").FindString(rows)
		if !strings.Contains(row, bound.words) {
			t.Errorf("docs/METRICS.md has %q, and %s is %q", row, bound.alert, rules[bound.alert])
		}
	}
}

// A rule or a panel that names a job is of no use where the job has another name.
func TestJobsThatAreAskedForAreTold(t *testing.T) {
	told, asked := string(read(t, "prometheus/prometheus.yml"))+string(read(t, page)), map[string]string{}
	for _, a := range alerts(t) {
		asked["the alert "+a.Alert] = a.Expr
	}
	for _, p := range grafana(t).Panels {
		for _, target := range p.Targets {
			asked["the panel "+p.Title] += target.Expr
		}
	}
	for _, must := range []string{"the alert QuotashareDown", "the panel Deciders that answer"} {
		if !strings.Contains(asked[must], "job=") {
			t.Errorf("%s names no job: it is %q", must, asked[must])
		}
	}
	for who, expr := range asked {
		for _, m := range regexp.MustCompile(`job=~?"([^"]*)"`).FindAllStringSubmatch(expr, -1) {
			for name := range strings.SplitSeq(m[1], "|") {
				if !strings.Contains(told, "job_name: "+name+"\n") {
					t.Errorf("%s asks for the job %s, which neither prometheus.yml nor %s has", who, name, page)
				}
			}
		}
	}
}

// ruleTest is one of promtool's.
type ruleTest struct {
	Name   string
	Series []struct{ Series string } `yaml:"input_series"`
	Alerts []struct {
		Name     string `yaml:"alertname"`
		Expected []any  `yaml:"exp_alerts"`
	} `yaml:"alert_rule_test"`
}

// promtool runs the tests of the rules; that none is left out is seen here. The first
// is of a system that is just well enough, and must know every figure, as a rule is
// silent also when what it asks for is not there.
func TestEveryAlertIsTested(t *testing.T) {
	var file struct{ Tests []ruleTest }
	if err := yaml.Unmarshal(read(t, "prometheus/alerts.test.yml"), &file); err != nil {
		t.Fatal(err)
	}
	well, fires, silent := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, one := range file.Tests {
		for _, a := range one.Alerts {
			if len(a.Expected) > 0 {
				fires[a.Name] = true
			} else if one.Name == file.Tests[0].Name {
				silent[a.Name] = true
			}
		}
	}
	for _, s := range file.Tests[0].Series {
		name, _, _ := strings.Cut(s.Series, "{")
		well[name] = true
	}
	for _, a := range alerts(t) {
		if !fires[a.Alert] || !silent[a.Alert] {
			t.Errorf("%s: a test in which it fires: %t, and one in which all is well and it does not: %t", a.Alert, fires[a.Alert], silent[a.Alert])
		}
		for name := range figures(a.Expr) {
			if !well[name] {
				t.Errorf("%s asks for %s, which the test in which all is well has not", a.Alert, name)
			}
		}
	}
}

// figures are the metrics of ours that an expression names.
func figures(expr string) map[string]bool {
	all := map[string]bool{}
	for _, name := range regexp.MustCompile(`\bquotashare_[a-z0-9_]+`).FindAllString(expr, -1) {
		all[name] = true
	}
	return all
}

// dashboard is a file of Grafana.
type dashboard struct {
	UID, Title string
	Panels     []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct {
		Defaults struct{ Unit string }
	}
	Targets []struct{ Expr string }
}

func grafana(t *testing.T) (d dashboard) {
	t.Helper()
	if err := json.Unmarshal(read(t, "grafana/dashboards/quotashare.json"), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Panels) == 0 || d.Title == "" || d.UID == "" {
		t.Fatal("the dashboard has no panels, no title or no id")
	}
	return d
}

// A number without a unit is read as another one.
func TestEveryPanelSaysWhatItShows(t *testing.T) {
	ids, titles := map[int]bool{}, map[string]bool{}
	for _, p := range grafana(t).Panels {
		if p.Title == "" || titles[p.Title] || ids[p.ID] {
			t.Errorf("panel %d has the title %q, which is empty or not its own, or not its own number", p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		if p.Type != "row" && (p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0) {
			t.Errorf("panel %q has the unit %q and %d queries", p.Title, p.FieldConfig.Defaults.Unit, len(p.Targets))
		}
	}
}

func TestNoPanelLiesOnAnother(t *testing.T) {
	taken := map[string]string{}
	for _, p := range grafana(t).Panels {
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				at := fmt.Sprint(x, ",", y)
				if other, is := taken[at]; is || x >= 24 {
					t.Fatalf("panel %q lies on %q, or beyond the edge", p.Title, other)
				}
				taken[at] = p.Title
			}
		}
	}
}

// A panel that names an alert is where somebody looks who was told of it.
func TestPanelsNameAlertsThatThereAre(t *testing.T) {
	there := map[string]bool{}
	for _, a := range alerts(t) {
		there[a.Alert] = true
	}
	for _, p := range grafana(t).Panels {
		for _, name := range regexp.MustCompile(`Quotashare[A-Z]\w*`).FindAllString(p.Description, -1) {
			if !there[name] {
				t.Errorf("panel %q names the alert %s, which is none", p.Title, name)
			}
		}
	}
}

// used are the figures that anything here asks for, by who asks.
func used(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, a := range alerts(t) {
		for name := range figures(a.Expr) {
			all[name] = "the alert " + a.Alert
		}
	}
	for _, p := range grafana(t).Panels {
		for _, target := range p.Targets {
			for name := range figures(target.Expr) {
				all[name] = "the panel " + p.Title
			}
		}
	}
	return all
}

// Every figure has a line in the docs, where a reader of a panel finds what it is.
func TestFiguresAreThoseOfTheDocs(t *testing.T) {
	docs := string(read(t, "../docs/METRICS.md"))
	for name, who := range used(t) {
		family := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		if !regexp.MustCompile("`" + family + "[`{]").MatchString(docs) {
			t.Errorf("%s asks for %s, which docs/METRICS.md does not know", who, name)
		}
	}
}
