package configfile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/wire"
)

// TestFiles reads the files in testdata and shows what is understood, or every
// fault.
func TestFiles(t *testing.T) {
	datadriven.Walk(t, "testdata/files", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			text, err := understand(d.Cmd, unescape(d.Input))
			if err != nil {
				return err.Error() + "\n"
			}
			return text
		})
	})
}

// unescape lets a transcript hold a tab, which editors would lose.
func unescape(s string) string { return strings.ReplaceAll(s, "→", "\t") }

func understand(section, input string) (string, error) {
	f, err := configfile.Read([]byte(input))
	if err != nil {
		return "", err
	}
	var out strings.Builder
	switch section {
	case configfile.Pools:
		pools, err := f.Pools()
		for _, p := range pools {
			fmt.Fprintf(&out, "%s\n", plans.AppendPoolJSON(nil, p.Pool))
		}
		return out.String(), err
	case configfile.Plans:
		all, err := f.Plans()
		for _, p := range all {
			fmt.Fprintf(&out, "%s\n", plans.AppendPlanJSON(nil, p.ConnectionID, p.Dimensions))
		}
		return out.String(), err
	}
	now := plans.DefaultSettings()
	now[plans.MaxLagMs] = plans.SettingValue{N: 7, Origin: plans.Stored}
	now[plans.SignalTTLMs] = plans.SettingValue{N: 8, Origin: plans.Stored}
	now[plans.DecisionSampleRate] = plans.SettingValue{N: 9, Origin: plans.Environment, From: "e"}
	next, err := f.Settings(now, section == "pruned")
	return fmt.Sprintf("%s\nbeside settings: %s\n", plans.AppendSettingsJSON(nil, &next), strings.Join(f.Others(configfile.Settings), ", ")), err
}

// Of what is nested as deep as may be, one level more is too deep.
func TestDepth(t *testing.T) {
	deep := strings.Repeat("- ", wire.MaxDepth-1) + "x"
	if _, err := configfile.Read([]byte(deep)); err != nil {
		t.Error(err)
	}
	if _, err := configfile.Read([]byte("- " + deep)); !errors.Is(err, wire.ErrDepth) {
		t.Errorf("too deep is %v", err)
	}
}

// YAML knows line ends that no editor writes. A star behind one is not found by
// its place, and must not pass as if it had had quotes.
func TestStarBehindAnotherLineEnd(t *testing.T) {
	for _, text := range []string{"pools: []\rplans: *", "pools: []\u0085plans: *", "pools: []\u2028plans: *"} {
		f, err := configfile.Read([]byte(text))
		if err == nil {
			_, err = f.Plans()
		}
		if err == nil || strings.Contains(err.Error(), "not a list") {
			t.Errorf("%q is %v", text, err)
		}
	}
}

// TestDiffs compares two documents, which a line of --- parts.
func TestDiffs(t *testing.T) {
	datadriven.Walk(t, "testdata/diffs", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			before, after, _ := strings.Cut(d.Input, "---\n")
			lines := configfile.Diff(document(t, d.Cmd, before), document(t, d.Cmd, after))
			if len(lines) == 0 {
				return "nothing\n"
			}
			return strings.Join(lines, "\n") + "\n"
		})
	})
}

// document is the canonical document of the one pool or plan in the text, and
// nothing of none.
func document(t *testing.T, kind, text string) wire.Value {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return wire.Value{}
	}
	f, err := configfile.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if kind == "plan" {
		all, err := f.Plans()
		if err != nil {
			t.Fatal(err)
		}
		doc, err := configfile.PlanDocument(all[0].ConnectionID, all[0].Dimensions)
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	pools, err := f.Pools()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := configfile.PoolDocument(pools[0].Pool)
	if err != nil {
		t.Fatal(err)
	}
	if kind == "short" {
		return configfile.Short(doc)
	}
	return doc
}
