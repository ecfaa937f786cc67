package whatif

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

func read(t *testing.T, text string) (*Trial, string) {
	t.Helper()
	v, err := wire.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	made, faults := Read(v)
	if err := faults.Err(); err != nil {
		return made, err.Error()
	}
	return made, ""
}

func TestATrialIsRead(t *testing.T) {
	got, wrong := read(t, `{"pools":[{"id":"p","name":"P","provider":"kimi","connectionIds":["c"],"colour":"red"}],"withoutPools":["q"],
		"plans":[{"connectionId":"c","dimensions":[{"unit":"tokens","window":"5h","limit":3}]},{"connectionId":"d","dimensions":null,"dimension":[]}],
		"rules":[{"poolId":"r","rule":"guarantee","reserve":0},{"poolId":"s","reserve":400},{"poolId":"t","rule":"threshold"}],"settings":{"maxLagMs":1},"from":1700000000000,"to":{"seq":"12"}}`)
	if wrong != "" {
		t.Fatal(wrong)
	}
	if len(got.Pools) != 1 || got.Pools[0].ID != "p" || !cmp.Equal(got.Without, []string{"q"}) || len(got.Settings.Fields) != 1 {
		t.Errorf("%+v", got)
	}
	rules := []Rule{{PoolID: "r", Rule: plans.Guarantee, HasRule: true, HasReserve: true}, {PoolID: "s", Reserve: 400, HasReserve: true}, {PoolID: "t", HasRule: true}}
	if diff := cmp.Diff(rules, got.Rules); diff != "" {
		t.Errorf("rules (-) and as they are read (+)\n%s", diff)
	}
	if p := got.Plans; len(p) != 2 || p[0].Delete || p[0].Dimensions[0].Limit != 3000 || !p[1].Delete || p[1].ConnectionID != "d" {
		t.Errorf("plans %+v", got.Plans)
	}
	if got.From != (Place{Time: 1_700_000_000_000}) || got.To != (Place{Seq: 12}) || !(Place{}).IsZero() || got.To.IsZero() {
		t.Errorf("from %+v to %+v", got.From, got.To)
	}
	if len(got.Warnings) != 2 || got.Warnings[0].Field != "pools[0].colour" || got.Warnings[1].Field != "plans[1].dimension" {
		t.Errorf("warnings %v", got.Warnings)
	}
}

func TestWhatIsWrongWithATrialIsNamed(t *testing.T) {
	pool := func(id, conn string) string {
		return `{"id":"` + id + `","name":"N","provider":"kimi","connectionIds":["` + conn + `"]}`
	}
	for text, want := range map[string]string{
		`[]`:              "is an array",
		`{}`:              "changes nothing",
		`{"settings":{}}`: "changes nothing",
		`{"pool":1}`:      "pool is unknown",
		`{"pools":[3]}`:   "pools[0] is a number",
		`{"pools":[` + pool("a", "c") + `,` + pool("a", "d") + `]}`:                                "pools[1].id is that of pools[0] too",
		`{"pools":[` + pool("a", "c") + `,` + pool("b", "c") + `]}`:                                "pools[1].connections[0].connectionId is c, which pools[0] has already",
		`{"pools":[` + pool("a", "c") + `],"withoutPools":["a"]}`:                                  "pools[0].id is in withoutPools too",
		`{"plans":[{"dimensions":[]}]}`:                                                            "plans[0].connectionId is missing",
		`{"plans":[{"connectionId":"c","dimension":[{"unit":"tokens","window":"5h","limit":3}]}]}`: "plans[0].dimensions is missing",
		`{"plans":[{"connectionId":"c","dimension":null}]}`:                                        "plans[0].dimensions is missing",
		`{"plans":[{"connectionId":"c"}]}`:                                                         "plans[0].dimensions is missing",
		`{"plans":[7]}`:                                                                            "plans[0] is a number",
		`{"plans":[{"connectionId":"c","dimensions":[{"unit":"x"}]}]}`:                             "plans[0].dimensions[0].unit is x",
		`{"plans":[{"connectionId":"c","dimensions":null},{"connectionId":"c","dimensions":[]}]}`:  "plans[1].connectionId is that of plans[0] too",
		`{"rules":[{"rule":"guarantee"}]}`:                                                         "rules[0].poolId is missing",
		`{"rules":[{"poolId":"p"}]}`:                                                               "rules[0].rule is missing, and reserve too: name one of them",
		`{"rules":[{"poolId":"p","rule":"fair"}]}`:                                                 "rules[0].rule is fair: use threshold or guarantee",
		`{"rules":[{"poolId":"p","reserve":401}]}`:                                                 "rules[0].reserve is not within 0 to 400",
		`{"rules":[{"poolId":"p","reserve":1,"mode":"off"}]}`:                                      "rules[0].mode is unknown",
		`{"rules":[{"poolId":"p","reserve":1},{"poolId":"p","reserve":2}]}`:                        "rules[1].poolId is that of rules[0] too",
		`{"rules":[{"poolId":"p","reserve":1}],"withoutPools":["p"]}`:                              "rules[0].poolId is in withoutPools too",
		`{"rules":[{"poolId":"a","reserve":1}],"pools":[` + pool("a", "c") + `]}`:                  "rules[0].poolId is in pools too",
		`{"settings":3}`:                          "settings is a number",
		`{"settings":{"maxLag":1}}`:               "settings.maxLag is unknown",
		`{"withoutPools":["p"],"from":{}}`:        "from.seq is missing",
		`{"withoutPools":["p"],"from":{"seq":0}}`: "from.seq is not within",
		// A time where a sequence stands, and the other way round.
		`{"withoutPools":["p"],"from":{"seq":100000000000}}`: "from.seq is not within 1 to 99999999999",
		`{"withoutPools":["p"],"from":99999999999}`:          "from is before 2000",
		`{"withoutPools":["p"],"to":{"sequence":1}}`:         "to.sequence is unknown",
		`{"withoutPools":["p"],"to":"yesterday"}`:            "to is not a time",
		`{"withoutPools":["p",""]}`:                          "withoutPools[1]",
	} {
		if _, got := read(t, text); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestSidesAddUp(t *testing.T) {
	var r Report
	for i := range 2 {
		row := Row{NewlyBlocked: 1, NewlyAllowed: 2}
		s := &row.Sides[i]
		s.Count(&Decision{Passes: true, Deprioritize: true}, 3)
		s.Count(&Decision{Passes: true}, 1)
		s.Count(&Decision{Block: true, Reason: "fair-share"}, 2)
		s.Count(&Decision{Block: true, Passes: true, Reason: "model-cap"}, 1)
		s.Serve(&quota.Amounts{quota.Tokens: 1 << 62})
		s.Serve(&quota.Amounts{quota.Tokens: 1 << 62})
		r.Rows = append(r.Rows, row)
	}
	one := Side{
		Allowed: 4, Blocked: 3, WouldBlock: 1, Deprioritized: 3, Served: quota.Amounts{quota.Tokens: 1<<63 - 1}, // it does not wrap
		Reasons: map[string]int64{"fair-share": 2, "model-cap": 1},
	}
	want := Row{Sides: [2]Side{one, one}, NewlyBlocked: 2, NewlyAllowed: 4}
	if diff := cmp.Diff(want, r.Total()); diff != "" {
		t.Error(diff)
	}
	if got := r.Units(); !cmp.Equal(got, []quota.Unit{quota.Tokens}) {
		t.Errorf("units %v", got)
	}
}

func TestWhatDiffers(t *testing.T) {
	allow, block, observed := &Decision{Passes: true}, &Decision{Block: true}, &Decision{Block: true, Passes: true}
	for _, c := range []struct {
		before, after *Decision
		want          [2]int64
	}{
		{allow, allow, [2]int64{0, 0}},
		{block, block, [2]int64{0, 0}},
		{observed, block, [2]int64{0, 0}},
		{allow, block, [2]int64{5, 0}},
		{allow, observed, [2]int64{5, 0}},
		{block, allow, [2]int64{0, 5}},
		{observed, allow, [2]int64{0, 5}},
	} {
		var r Row
		r.Differ(c.before, c.after, 5)
		if got := [2]int64{r.NewlyBlocked, r.NewlyAllowed}; got != c.want {
			t.Errorf("%+v then %+v: %v, want %v", c.before, c.after, got, c.want)
		}
	}
	for i, change := range []func(s *Side){
		func(s *Side) { s.Allowed++ }, func(s *Side) { s.Blocked++ }, func(s *Side) { s.WouldBlock++ }, func(s *Side) { s.Deprioritized++ },
		func(s *Side) { s.Served[0]++ }, func(s *Side) { s.Reasons = map[string]int64{"x": 1} },
	} {
		var r Row
		if r.Differs() {
			t.Fatal("nothing differs")
		}
		if change(&r.Sides[After]); !r.Differs() {
			t.Errorf("change %d is not seen", i)
		}
	}
}

func TestARuleIsPutOnAPool(t *testing.T) {
	was := plans.Pool{ID: "p", Rule: plans.Threshold, Reserve: 70}
	for _, c := range []struct {
		rule Rule
		want plans.Pool
	}{
		{Rule{Rule: plans.Guarantee, Reserve: 9}, was},
		{Rule{Rule: plans.Guarantee, HasRule: true, Reserve: 9}, plans.Pool{ID: "p", Rule: plans.Guarantee, Reserve: 70}},
		{Rule{HasReserve: true}, plans.Pool{ID: "p"}},
	} {
		if diff := cmp.Diff(&c.want, c.rule.On(&was)); diff != "" || was.Reserve != 70 || was.Rule != plans.Threshold {
			t.Errorf("%+v (-) and as it is (+)\n%s", c.rule, diff)
		}
	}
}

func TestWhoGetsMoreAndWhoLess(t *testing.T) {
	r := Report{}
	for key, served := range map[string][2]quota.Amount{"a": {5, 8}, "b": {5, 1}, "c": {0, 9}, "d": {4, 1}, "e": {7, 7}, "f": {0, 3}} {
		row := Row{APIKeyID: key}
		row.Sides[Before].Served[quota.Tokens], row.Sides[After].Served[quota.Tokens] = served[0], served[1]
		row.Sides[Before].Served[quota.Requests], row.Sides[After].Served[quota.Requests] = 1, 1
		r.Rows = append(r.Rows, row)
	}
	want := []Shift{{
		Unit: quota.Tokens, More: []Change{{"c", 0, 9}, {"a", 5, 8}, {"f", 0, 3}},
		Less: []Change{{"b", 5, 1}, {"d", 4, 1}},
	}}
	if diff := cmp.Diff(want, r.Shifts()); diff != "" {
		t.Errorf("shifts as they should be (-) and as they are (+)\n%s", diff)
	}
	if got := want[0].Less[0].By(); got != -4 {
		t.Errorf("b gets %d", got)
	}
}
