//go:build mutants

package guarantee

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A mutant is the rule with one thing wrong: in this package, or the one that asks it. The
// test that is named must fail for it.
type mutant struct {
	name     string
	old, new string
	pkg      string // whose test
	test     string
}

const (
	here      = "."
	above     = ".."
	projector = "../../projector"

	plainly   = "TestTheFastFormIsThePlainOne"
	settled   = "TestWhatIsSettledIsJudgedSo"
	inTheFold = "TestThePromiseInTheFold"
	// The cases and states of questions under the rule.
	atBoundaries = "TestGivenPromises|TestA[Pbcn].*|TestAC.*|TestThe.*|TestDeletedKeysStay|TestAllOf.*|TestSoftAnd.*|TestReach"
)

// traps are what is easily got wrong in the rule.
var traps = []mutant{
	{"left of a bucket is not W − elapsed", "Left: width - 1 - elapsed", "Left: width - elapsed", above, "TestGivenPromises"},
	{"left of a cycle is not resetAt − now", "min(reset-now-1,", "min(reset-now,", above, "TestGivenPromises"},
	{"left of a cycle is W − 1 at most", "min(reset-now-1, l.window.Millis()-1)", "reset-now-1", above, "TestACycleLastsAWindowAtMost"},
	{"the latest reset counts", "reset = max(reset, end)", "reset = end", above, "TestTheLatestResetEndsTheCycle"},
	{"within needs no keep", "need = s.needWithin(k)", "need = s.needBeyond(k)", here, plainly},
	{"beyond needs keep", "keep := min(k.Share-k.Used, l)", "keep := max(0, l-k.Used)", here, "TestVectors"},
	{"c is not effective", "inBucket(&p.keys[from+j], bucket)", "p.keys[from+j].EffectiveAt(bucket, 0, 1)", above, "TestGivenPromises"},
	{"C is not effective", "inBucket(&f.totals[k], bucket)", "f.totals[k].EffectiveAt(bucket, elapsed, width)", above, "TestGivenPromises"},
	{"T of a bucket is not C", "\tif d.Cycle {\n\t\td.Total = d.Spent", "\tif true {\n\t\td.Total = d.Spent", above, "TestGivenPromises"},
	{"T of a cycle is C", "\tif d.Cycle {\n\t\td.Total = d.Spent", "\tif false {\n\t\td.Total = d.Spent", above, "TestAConnectionWithoutAReadingGivesItsBucket"},
	{"a part counts no longer than its reading", " && r.at(now).Until != 0\n", "\n", projector, inTheFold},
	{"nobody goes first in a cycle", "case !d.Cycle && quota.AddSat(total, v.Headroom)", "case quota.AddSat(total, v.Headroom)", here, plainly},
	{"those behind go first in a bucket", "case !d.Cycle && quota.AddSat(total, v.Headroom)", "case d.Cycle && quota.AddSat(total, v.Headroom)", here, "TestVectors"},
	{"H is no sum", "*group = max(*group, h)", "*group += h", here, "TestVectors"},
	{"H is two maxima", "Headroom: quota.AddSat(s.headroom[0], s.headroom[1])", "Headroom: max(s.headroom[0], s.headroom[1])", here, "TestVectors"},
	{"a hold begins nothing", "k.Begun = k.Used > 0\n\t\tk.Used = quota.AddSat(k.Used, f.peerHolds(i, j, now))", "k.Used = quota.AddSat(k.Used, f.peerHolds(i, j, now))\n\t\tk.Begun = k.Used > 0", above, "TestGivenPromises"},
	{"h is capped at the pace, whatever the reserve", "s.pace = newPart(d.Left, d.Window)", "s.pace = s.promise", here, "TestVectors"},
	{"E is capped at the promise", "s.extra = min(h, s.promise.of(k.Share)) - need", "s.extra = h - need", here, plainly},
	{"E is what the need does not cover", "s.extra = min(h, s.promise.of(k.Share)) - need", "s.extra = min(h, s.promise.of(k.Share))", here, "TestVectors"},
	{"the use of deleted keys stays in C", "\td.Keys = f.rows(i, now)\n", "\td.Keys, d.Spent = f.rows(i, now), 0\n\tfor _, k := range d.Keys {\n\t\td.Spent += k.Used\n\t}\n", above, "TestDeletedKeysStay"},
	{"the use of deleted keys stays in T", "Total: n.t()", "Total: n.c()", above, "TestDeletedKeysStay"},
	{"a gap is rounded down", "q, _ := bits.Div64(gap.hi, gap.lo, Gap*s.weight)", "q, rest := bits.Div64(gap.hi, gap.lo, Gap*s.weight)\n\t\tif rest > 0 {\n\t\t\tq++\n\t\t}", here, "TestVectors"},
	{"a gap is from before x", "product(uint64(s.own.Used), uint64(k.Weight))", "product(uint64(s.after), uint64(k.Weight))", here, "TestVectors"},
	{"a level is after x", "p := product(uint64(s.after), uint64(k.Weight))", "p := product(uint64(s.own.Used), uint64(k.Weight))", here, "TestVectors"},
	{"a sixteenth, not a fifteenth", "const Gap = 16", "const Gap = 15", here, "TestVectors"},
	{"a sixteenth, not a seventeenth", "const Gap = 16", "const Gap = 17", here, "TestVectors"},
	{"a promise is its share at most", "num: uint64(min(num, den))", "num: uint64(num)", here, "TestVectors"},
	{"nothing is asked for as 1", "min(max(a.Estimate, 1), d.Limit)", "min(a.Estimate, d.Limit)", here, plainly},
	{"more than all is asked for as all", "min(max(a.Estimate, 1), d.Limit)", "max(a.Estimate, 1)", here, plainly},
	{"a suspended key is kept nothing", "case j == s.a.Key || k.Suspended:", "case j == s.a.Key:", here, plainly},
	{"not even by those without an allocation", "if k.Suspended || k.Used >= k.Share {", "if k.Used >= k.Share {", here, plainly},
	{"a suspended key is suspended", "Suspended: pool.Pool.Allocations[j].Suspended", "Suspended: false", projector, inTheFold},
	{"soft and burst leave the whole promise", "case s.a.Gives && !s.within:", "case false:", here, plainly},
	{"soft and burst leave no headroom", "\tif !s.a.Gives {\n\t\ts.leave", "\tif true {\n\t\ts.leave", here, plainly},
	{"soft is not hard", "policy == plans.Soft || policy == plans.Burst", "policy == plans.Burst", above, "TestSoftAndBurstLeaveNoHeadroom"},
	{"burst is not hard", "policy == plans.Soft || policy == plans.Burst", "policy == plans.Soft", above, "TestSoftAndBurstLeaveNoHeadroom"},
	{"keys without an allocation leave the promises", "\t\ts.need += s.owed(&s.d.Keys[j])", "\t\ts.need += 0 * s.owed(&s.d.Keys[j])", here, plainly},
	{"holds count in c", "\t\tk.Used = quota.AddSat(k.Used, f.peerHolds(i, j, now))\n", "", above, "TestGivenPromises"},
	{"holds count in C", "Spent: n.heldTotal,", "", above, "TestGivenPromises"},
	{"holds end", "return p.falls.sum(i*p.n+j, now)", "return p.held[i*p.n+j]", above, "TestAPromiseAskedAgain"},
	{"what is kept rises with a period", "\t\tf.stretches = append(f.stretches, begin)\n\t\tif begin >= over {\n", "\t\tif begin >= over {\n\t\t\tf.stretches = append(f.stretches, begin)\n", above, "TestGivenPromises"},
	{"all lines allow at once", "\t\tif next == at {\n\t\t\treturn at, true", "\t\tif true {\n\t\t\treturn next, true", above, "TestAPromiseAskedAgain"},
	{"without a look at each, the promises are kept", "s.need = s.promise.of(others)", "s.need = 0", here, settled},
	{"without a look at each, the headroom is left", "s.headroom[0] = s.pace.of(others)", "s.headroom[0] = 0", here, settled},
	{"without a look at each, the asker's own share is no bound", "d.Limit - own.Share", "own.Share", here, settled},
}

// TestTraps: each is killed by the test that is named.
func TestTraps(t *testing.T) {
	files := append(sources(t, here), sources(t, above)...)
	for _, m := range traps {
		t.Run(m.name, func(t *testing.T) {
			var file, wrong string
			times := 0
			for _, name := range files {
				text := read(t, name)
				if n := strings.Count(text, m.old); n > 0 {
					file, wrong, times = name, strings.Replace(text, m.old, m.new, 1), times+n
				}
			}
			if times != 1 {
				t.Fatalf("%q is there %d times: say anew what is to be got wrong", m.old, times)
			}
			dies(t, file, wrong, m.pkg, m.test)
		})
	}
}

// sources are the files of a package, without its tests.
func sources(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
}

// same are comparisons that may as well be the other way at the boundary, and why.
var same = map[string]string{
	"k.Used >= k.Share":            "ℓ_j is share_j at most, so nothing is owed",
	"k.Used >= k.Share, again":     "ℓ_j is share_j at most, and keep_j is 0",
	"l <= k.Used":                  "nothing is needed either way",
	"l-k.Used >= keep":             "what is needed is keep either way",
	"rest > low":                   "the next correction takes this one back",
	"len(g.list)*few > len(keys)":  "both ways of looking are right",
	"g.used[i] >= level":           "who is at the level needs nothing, and who is just below it needs more than E would be",
	"more > extra":                 "of two keys that E comes from either may have it",
	"extra > 0":                    "0 is added",
	"cap(s) < n":                   "there is room either way",
	"h.all > 0":                    "each holds nothing",
	"f.held[i].all > 0":            "each holds nothing",
	"k.Used > 0":                   "nobody asks whether the asker has begun",
	"at < f.tails[i].begin, again": "a line that is in its tail is open there, or is met again",
	"start >= end":                 "the instant before start blocks already",
	"end > now":                    "a stretch that is over is passed over",
	"begin >= over":                "the tail begins a bucket later",
}

// TestComparisons: each < and ≤ of the rule is right at the boundary.
func TestComparisons(t *testing.T) {
	for _, file := range sources(t, here) {
		compare(t, file, here, "TestTheFastFormIsThePlainOne|TestVectors|TestParts|TestAtItsShareNobodyIsOverIt|TestKept.*|TestMost.*|TestGroups.*")
	}
	for _, file := range []string{"../peers.go", "../periods.go"} {
		compare(t, file, above, atBoundaries)
	}
}

// compare turns each comparison of a file, one after another.
func compare(t *testing.T, file, pkg, test string) {
	text, fset, seen := read(t, file), token.NewFileSet(), map[string]bool{}
	tree, err := parser.ParseFile(fset, file, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		x, ok := n.(*ast.BinaryExpr)
		if !ok || turned[x.Op] == "" {
			return true
		}
		var said strings.Builder
		if err := printer.Fprint(&said, fset, x); err != nil {
			t.Fatal(err)
		}
		name := said.String()
		for seen[name] {
			name += ", again"
		}
		if seen[name] = true; same[name] != "" {
			return true
		}
		at := fset.Position(x.OpPos).Offset
		t.Run(file+": "+name, func(t *testing.T) {
			dies(t, file, text[:at]+turned[x.Op]+text[at+len(x.Op.String()):], pkg, test)
		})
		return true
	})
}

var turned = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// dies runs the test of the package with that text in the place of the file.
func dies(t *testing.T, name, text, pkg, test string) {
	t.Helper()
	dir := t.TempDir()
	file, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	wrong, overlay := filepath.Join(dir, "wrong.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: wrong}})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{wrong: text, overlay: string(list)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"test", "-count=1", "-failfast", "-timeout=60s", "-vet=off", "-overlay", overlay, "-run", "^(" + test + ")$", pkg}
	if pkg == projector {
		args = append(args, "-rapid.nofailfile", "-rapid.shrinktime=0s")
	}
	out, err := exec.Command("go", args...).CombinedOutput()
	switch {
	case err == nil:
		t.Errorf("it lives: %s", out)
	case !strings.Contains(string(out), "--- FAIL") && !strings.Contains(string(out), "panic:"):
		t.Errorf("it is not even run: %s", out)
	}
}
