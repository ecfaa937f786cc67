package configfile_test

import (
	"testing"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/wire"
)

// No file panics, and what is understood is written so that it is understood in
// the same way.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		exported, "", "---\n", "--- !!map\n...\n", "a: &a [*a]", "? [a]\n: b", "\ufeff[]", `{"pools":[]}`, "pools: !!seq", "- *x", "!!int a", "- !!float 1_0",
		"plans: [{connectionId: c, dimensions: [{unit: usd, window: 5h, limit: 1e-9}]}]", "settings: {maxLagMs: ~}", "\xff\xfea\x00", "%YAML 1.1\n---\na: yes",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := configfile.Read(data)
		if err != nil {
			return
		}
		_, _ = file.Plans()
		_, _ = file.Settings(plans.DefaultSettings(), true)
		pools, err := file.Pools()
		if err != nil {
			return
		}
		list := wire.Value{Kind: wire.Array}
		for _, p := range pools {
			doc, err := configfile.PoolDocument(p.Pool)
			if err != nil {
				t.Fatal(err)
			}
			list.Items = append(list.Items, configfile.Short(doc))
		}
		text, err := configfile.Encode(configfile.Pools, list, false)
		if err != nil {
			t.Fatal(err)
		}
		again, err := configfile.Read(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		same, err := again.Pools()
		if err != nil || len(same) != len(pools) {
			t.Fatalf("%v\n%s", err, text)
		}
		for i := range pools {
			if a, b := plans.AppendPoolJSON(nil, pools[i].Pool), plans.AppendPoolJSON(nil, same[i].Pool); string(a) != string(b) {
				t.Fatalf("%s\nbecame\n%s", a, b)
			}
		}
	})
}
