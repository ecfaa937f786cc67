package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// setUp runs an engine over the data directory, with variables and flags.
func setUp(t *testing.T, dir string, vars []string, flags ...string) operator {
	t.Helper()
	args := []string{"up", "--data-dir", dir, "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--sync", "100ms"}
	p := startWith(t, vars, "quotashare", append(args, flags...)...)
	p.awaitReady()
	return operator{p}
}

// mustSet compares some settings with "name value source" lines.
func (o operator) mustSet(want ...string) {
	o.t.Helper()
	var doc struct {
		Settings map[string]json.RawMessage
	}
	decode(o.t, o.mustCall("GET", "/api/quota/settings", ""), &doc)
	for _, line := range want {
		name := strings.Fields(line)[0]
		var s struct {
			Value  json.Number
			Source string
		}
		decode(o.t, string(doc.Settings[name]), &s)
		if got := fmt.Sprint(name, " ", s.Value, " ", s.Source); got != line {
			o.t.Errorf("set is %s, want %s", got, line)
		}
	}
}

// A stored setting stands over the flag, that over the variable, and that over
// the default; whatever was in force when the program stopped is when it starts.
func TestStoredSettingsStandOverFlagsVariablesAndDefaults(t *testing.T) {
	dir := t.TempDir()
	o := setUp(t, dir, []string{"QUOTA_MAX_LAG=7s", "QUOTA_SATURATION_THRESHOLD=0.6"}, "--max-lag", "9s")
	o.at(1) // what it was told is an event
	o.mustSet("maxLagMs 9000 environment", "saturationThreshold 0.6 environment", "holdTtlMs 300000 default")

	// The rule that is in force is the one that decides.
	o.plan("c", "tokens/monthly 100")
	o.poolOf("team", []string{"c"}, "alice 10", "bob 90")
	o.consume(used("alice", "c", "tokens", "59", month))
	o.mustSay("alice", "c", "allow ok")
	o.mustCall("PUT", "/api/quota/settings", `{"maxLagMs":"2500","saturationThreshold":0.59}`)
	o.mustSay("alice", "c", "block fair-share")
	last := o.at(0).LastSeq
	o.stop()

	// Another environment: what is stored stands, and nothing is written.
	o = setUp(t, dir, []string{"QUOTA_MAX_LAG=8s"})
	o.mustSet("maxLagMs 2500 stored", "saturationThreshold 0.59 stored")
	o.mustSay("alice", "c", "block fair-share")
	// Taken away, the program's own value counts, and where it was told none the default.
	o.mustCall("PUT", "/api/quota/settings", `{"maxLagMs":null,"saturationThreshold":null}`)
	o.mustSet("maxLagMs 8000 environment", "saturationThreshold 0.5 default")
	if got := o.at(0).LastSeq; got != last+1 {
		t.Errorf("the log has %d events, want %d: a start that changes nothing writes nothing", got, last+1)
	}
	o.stop()

	// The last start wins over another environment; what it does not set stays.
	o = setUp(t, dir, []string{"QUOTA_SATURATION_THRESHOLD=0.7"})
	o.at(last + 2)
	o.mustSet("maxLagMs 8000 environment", "saturationThreshold 0.7 environment")
	o.mustSay("alice", "c", "allow ok")
	o.stop()
}

// Every program says at once all that is wrong with what it was told, and begins
// nothing.
func TestBadSettingsEndEveryProgramAtOnce(t *testing.T) {
	vars := map[string]string{
		"QUOTA_SATURATION_THRESHOLD":       "abc",
		"QUOTA_SOFT_DEPRIORITIZE_FACTOR":   "NaN",
		"QUOTA_CONSUMPTION_RETENTION_DAYS": "0",
		"QUOTA_SIGNAL_TTL":                 "30",
		"QUOTA_HOLD_TTL":                   "2h",
		"QUOTA_MAX_LAG":                    "-1s",
	}
	var list []string
	for name, value := range vars {
		list = append(list, name+"="+value)
	}
	for _, args := range [][]string{{"quotashare", "up"}, {"ingest"}, {"decider"}} {
		path := program(t, args[0])
		cmd := exec.CommandContext(deadline(t), path, args[1:]...)
		cmd.Env, cmd.Dir = environment(t, append(list, "QUOTA_STORE_NATS_URL=nats://127.0.0.1:1")), t.TempDir()
		said, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("%v ended with %v, want exit 2:\n%s", args, err, said)
		}
		for name, value := range vars {
			if !strings.Contains(string(said), fmt.Sprintf("%s (--%s) %q", name, strings.ToLower(strings.ReplaceAll(name[len("QUOTA_"):], "_", "-")), value)) {
				t.Errorf("%v does not say what is wrong with %s:\n%s", args, name, said)
			}
		}
	}
}

func TestBadSettingsAreRefusedAndNothingIsStored(t *testing.T) {
	o := newOperator(t)
	for _, c := range []struct{ body, words string }{
		{`{"saturationThreshold":"abc"}`, "saturationThreshold is not a number within 0 to 1"},
		{`{"saturationThreshold":"NaN"}`, "saturationThreshold is not a number within 0 to 1"},
		{`{"saturationThreshold":1.000001}`, "saturationThreshold is not a number within 0 to 1"},
		{`{"saturationThreshold":-0.000001}`, "saturationThreshold is not a number within 0 to 1"},
		{`{"saturationThreshold":0.5,"softDeprioritizeFactor":2}`, "softDeprioritizeFactor is not a number within 0 to 1"},
		{`{"consumptionRetentionDays":3651}`, "consumptionRetentionDays is not a whole number within 1 to 3650"},
		{`{"holdTtlMs":0}`, "holdTtlMs is not a whole number within 1 to"},
		{`{"maxLagMs":0.5}`, "maxLagMs is not a whole number within 1 to"},
		{`{"holdTTL":5}`, "holdTTL is unknown: use"},
	} {
		status, body := o.call("PUT", "/api/quota/settings", "application/json", c.body)
		a := parseAnswer(t, []byte(body))
		if status != 400 || a.Error == nil || !strings.Contains(a.Error.Message, c.words) {
			t.Errorf("%s: %d %s; want 400 and %q", c.body, status, body, c.words)
		}
	}
	o.mustCall("PUT", "/api/quota/settings", `{"saturationThreshold":1,"softDeprioritizeFactor":0}`) // the ends are in
	if got := o.at(0).LastSeq; got != 1 {
		t.Errorf("the log has %d events, want that of the right ones", got)
	}
}
