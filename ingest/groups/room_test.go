package groups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// narrow is a log that takes so many bytes, and never what a message with "bad" holds.
type narrow struct {
	most  int
	taken []string
	tried int
}

var errBad = errors.New("bad")

func (n *narrow) Publish(_ context.Context, m *Message) (Receipt, error) {
	n.tried++
	switch {
	case len(m.Data) > n.most:
		return Receipt{}, fmt.Errorf("%w: at most %d", ErrTooLarge, n.most)
	case strings.Contains(string(m.Data), "bad"):
		return Receipt{}, errBad
	}
	n.taken = append(n.taken, string(m.Data))
	return Receipt{Seq: uint64(len(n.taken))}, nil
}

func waitingParts(arrays ...string) (list []*part) {
	for _, a := range arrays {
		list = append(list, &part{data: []byte(a), events: strings.Count(a, ",") + 1, done: make(chan struct{})})
	}
	return list
}

// TestMessagesAreNoLargerThanTheLogTakes: to the byte, and what the log says now counts.
func TestMessagesAreNoLargerThanTheLogTakes(t *testing.T) {
	room := 10
	g := New(Options{Log: newGated(), Room: func() int { return room }})
	l := &lane{subject: "s", parts: waitingParts(`[111]`, `[222]`, `[333]`, `[444]`, `[555]`)}
	var sizes []int
	for _, room = range []int{10, 9, 9, 1} {
		sizes = append(sizes, len(g.take(l)))
	}
	if diff := cmp.Diff([]int{2, 1, 1, 1}, sizes); diff != "" {
		t.Error(diff)
	}
}

// TestALogThatTakesLessThanItSaid, as after a reconnect to another broker: what is too
// large goes in parts, in its order, and no caller is told of another one's fault.
func TestALogThatTakesLessThanItSaid(t *testing.T) {
	log := &narrow{most: 12}
	g := New(Options{Log: log})
	parts := waitingParts(`[1,2]`, `[3,4]`, `["too large alone"]`, `[5]`, `[10,11,12,13]`, `[20,"bad",21,22]`, `[6]`)
	g.write("s", parts)
	want := []string{`[1,2]`, `[3,4]`, `[5]`, `[10,11]`, `[12,13]`, `[6]`}
	if got := strings.Join(log.taken, ""); strings.ReplaceAll(got, "][", ",") != strings.ReplaceAll(strings.Join(want, ""), "][", ",") {
		t.Errorf("the log has %s", got)
	}
	for i, p := range parts {
		<-p.done
		var fault error
		switch i {
		case 2:
			fault = ErrTooLarge
		case 5:
			fault = errBad
		}
		if !errors.Is(p.err, fault) || (fault == nil) != (p.receipt.Seq > 0) {
			t.Errorf("%s: %+v, %v", p.data, p.receipt, p.err)
		}
	}
	if last := parts[4].receipt.Seq; last == 0 || log.taken[last-1] != `[12,13]` {
		t.Errorf("of a part in pieces the last is at %d of %q", last, log.taken)
	}
}

// TestAFaultThatIsNoSizeIsNotCutUp: to try every half would be in vain.
func TestAFaultThatIsNoSizeIsNotCutUp(t *testing.T) {
	log := &narrow{most: 1000}
	New(Options{Log: log}).write("s", waitingParts(`["bad",1]`, `[2]`))
	if log.tried != 1 {
		t.Errorf("tried %d times", log.tried)
	}
}

// TestHalves.
func TestHalves(t *testing.T) {
	for data, want := range map[string][]string{
		`[1,2,{"a":[1,"],["]}]`: {`[1]`, `[2,{"a":[1,"],["]}]`},
		` [ 1.50 , "é" ] `:      {`[1.50]`, `["é"]`},
		`[1]`:                   nil,
		`[]`:                    nil,
		`{"a":1}`:               nil,
		`[1,`:                   nil,
	} {
		var got []string
		for _, m := range NewMessage("s", []byte(data), 3).Halves() {
			got = append(got, string(m.Data))
			if m.Subject != "s" || m.ID != NewMessage("s", m.Data, 1).ID || m.Events < 1 {
				t.Errorf("%s: %+v", data, m)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s is cut into %q", data, got)
		}
	}
}
