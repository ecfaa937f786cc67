package projector_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	view "github.com/quotashare/quotashare/usage"
)

// explained compares what answers explain of the provider's word with what the
// dimensions of the snapshot have, asked by pool and for each connection, in one
// array. A reading of some models changes nothing about who caused what.
func (l *usageLaw) explained() {
	qs := []questions.Question{{APIKeyID: "alice", Pool: l.p.Doc.ID, Explain: true}, {APIKeyID: "alice", Pool: l.p.Doc.ID}}
	for _, c := range l.p.Doc.Connections {
		q := questions.Question{APIKeyID: "alice", ConnectionID: c.ConnectionID, Explain: true}
		qs = append(qs, q)
		q.Model = "gpt-opus"
		qs = append(qs, q)
	}
	asked := make([]projector.Asked, len(qs))
	l.s.Gather(qs, l.clock, asked)
	for i := range qs {
		if !qs[i].Explain && l.p.Doc.Rule == plans.Guarantee {
			continue // what is kept nobody looked up
		}
		conn := asked[i].Facts.Decide(asked[i].Now).Connection
		for n, d := range asked[i].Facts.Explain(conn, asked[i].Now, nil) {
			want := said(&l.u.Dimensions[n].Connections[conn])
			got := view.Connection{ProviderUsed: d.ProviderUsed, HasProvider: d.HasProvider, ResetAt: d.ResetAt, Observed: d.ObservedAt}
			got.Split = view.Split{HasSplit: d.HasSplit, Attributed: d.Attributed, Unattributed: d.Unattributed}
			if !qs[i].Explain {
				want.Split = view.Split{}
			}
			if qs[i].Model != "" {
				want, got = view.Connection{Split: want.Split}, view.Connection{Split: got.Split}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				l.Fatalf("%s of %+v: -snapshot +explained\n%s", d.Window, qs[i], diff)
			}
		}
	}
}

// said is what the provider says of a connection.
func said(c *view.Connection) view.Connection {
	return view.Connection{ProviderUsed: c.ProviderUsed, HasProvider: c.HasProvider, ResetAt: c.ResetAt, Observed: c.Observed, Split: c.Split}
}

// crowd has that many keys use the connection alike, and 7 points caused.
func (s *scene) crowd(connectionID string, keys int) {
	s.Helper()
	s.says(connectionID, "5h", 0)
	for from := 0; from < keys; from += 1000 {
		var list []string
		for key := from; key < min(keys, from+1000); key++ {
			list = append(list, fmt.Sprintf(`{"apiKeyId":"k%d","connectionId":%q,"cost":{"tokens":5}}`, key, connectionID))
		}
		s.publish("quota.consumption", "["+strings.Join(list, ",")+"]")
	}
	s.says(connectionID, "5h", 7)
}

// Keys are gone along until there were too many in one call, each meter once
// whatever number of dimensions and questions it is shown in; all keys of another
// meter are then one. Asked by pool, all its connections are gone along, and not
// to be explained, none.
func TestExplainGoesAlongSoManyKeys(t *testing.T) {
	const all = 1 << 14
	s := newScene(t)
	s.publish("quota.config.plan.c1", `{"connectionId":"c1","dimensions":[{"unit":"percent","window":"5h","limit":100},{"unit":"tokens","window":"5h","limit":null}]}`)
	s.pool(`"c1","c2","c3"`, `,"allocations":[]`)
	s.crowd("c1", all-384)
	s.crowd("c2", 384)
	s.crowd("c3", 3)
	asked := make([]projector.Asked, 4)
	ask := map[string]questions.Question{
		"p": {Pool: "p", Explain: true}, "c1": {ConnectionID: "c1", Explain: true},
		"c2": {ConnectionID: "c2", Explain: true}, "c3": {ConnectionID: "c3", Explain: true}, "quick": {ConnectionID: "c3"},
	}
	check := func(about, want string) {
		t.Helper()
		var qs []questions.Question
		for _, name := range strings.Fields(about) {
			q := ask[name]
			q.APIKeyID = "a"
			qs = append(qs, q)
		}
		s.Gather(qs, s.now, asked)
		got := ""
		for i := range qs {
			conn := asked[i].Facts.Decide(s.now).Connection
			for _, d := range asked[i].Facts.Explain(conn, s.now, nil) {
				got += " " + d.Attributed.Format(quota.Percent) + "+" + d.Unattributed.Format(quota.Percent)
			}
		}
		if got != " "+want {
			t.Errorf("%s:\n got%s\nwant %s", about, got, want)
		}
	}
	const c1, c2 = "6.992+0.008 6.992+0.008 ", "6.999936+0.000064 6.999936+0.000064 "
	check("c3", "6.999999+0.000001 6.999999+0.000001")
	check("c1 c1 c2 c3", c1+c1+c2+"7+0 7+0")
	check("c3 c2 c1", "6.999999+0.000001 6.999999+0.000001 "+c2+"7+0 7+0")
	check("p c3", c1+"7+0 7+0")
	check("quick c1 c2", "0+0 0+0 "+c1+strings.TrimSpace(c2))
	s.use("k0", "c3", `"tokens":2`)
	check("c3", "6.999998+0.000002 6.999998+0.000002")
}
