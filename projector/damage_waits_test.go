package projector_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
)

// TestTimesThatNoFoldWrites: a wait or a hold that would be over when it is loaded, or
// lasts longer than an event can say, is refused; the last instant on either side is not.
func TestTimesThatNoFoldWrites(t *testing.T) {
	for _, c := range []struct {
		name                     string
		arrived, deadline, lease int64
		ok                       bool
	}{
		{"as short as can be", start, start + 1, 1, true},
		{"as long as can be", start, start + events.MaxWaitMs, events.MaxLeaseMs, true},
		{"nearly over", start + 1 - events.MaxWaitMs, start + 1, 1, true},
		{"came later", start + 1, start + 2, 1, false},
		{"over", start - 1, start, 1, false},
		{"too long", start, start + events.MaxWaitMs + 1, 1, false},
		{"too long ago", start - events.MaxWaitMs, start + 1, 1, false},
		{"longer than a number can say", math.MinInt64, start + 1, 1, false},
		{"of no lease", start, start + 1, 0, false},
		{"of less", start, start + 1, -1, false},
		{"of too long a lease", start, start + 1, events.MaxLeaseMs + 1, false},
	} {
		value := []byte{1, 'p', 1, 2, 0, 2, 0, 0, 0} // pool, number, key, no model, amounts
		value = appendInts(value, c.arrived, c.deadline, c.lease)
		value = append(value, make([]byte, 17)...)
		loads(t, "a wait "+c.name, c.ok, "W0123456789abcdef", value, "Rp", lane(0, 1, 1))
	}
	for _, c := range []struct {
		name       string
		end, lease int64
		ok         bool
	}{
		{"as short as can be", start + 1, 1, true},
		{"as long as can be", start + events.MaxLeaseMs, events.MaxLeaseMs, true},
		{"over", start, 1, false},
		{"long over", math.MinInt64, events.MaxLeaseMs, false},
		{"for longer than its lease", start + 2, 1, false},
		{"of too long a lease", start + 1, events.MaxLeaseMs + 1, false},
	} {
		value := []byte{1, 1, 0, 2, 0, 0, 0} // key, connection, no model, amounts
		value = append(appendInts(value, c.end, c.lease), make([]byte, 16)...)
		loads(t, "a hold "+c.name, c.ok, "H0123456789abcdef", value)
	}
}

func appendInts(dst []byte, list ...int64) []byte {
	for _, n := range list {
		dst = binary.AppendVarint(dst, n)
	}
	return dst
}

// loads puts records into a store, each after its key, and reports whether it is right
// that they can be loaded.
func loads(t *testing.T, what string, want bool, records ...any) {
	t.Helper()
	store := smallStore(t)
	b := store.NewBatch()
	for ; len(records) > 0; records = records[2:] {
		must(t, b.Set([]byte(records[0].(string)), records[1].([]byte)))
	}
	must(t, store.Commit(b))
	_, err := projector.Load(store)
	if (err == nil) != want || err != nil && !errors.Is(err, projector.ErrCorrupt) {
		t.Errorf("%s: %v", what, err)
	}
}

// TestWhoWaitsKeepsNoMessage: of a message that is long nothing is kept but what the
// request says.
func TestWhoWaitsKeepsNoMessage(t *testing.T) {
	const many, long = 24, 1 << 20
	s := newScene(t)
	s.narrow()
	s.taken("c")
	before := heap()
	filler := strings.Repeat(" ", long)
	for i := range many {
		s.publish("quota.hold", fmt.Sprintf(`{"id":"w%d","apiKeyId":"a","requestId":"w%[1]d","pool":"p","model":"gpt","leaseMs":60000,"maxWaitMs":60000,"estimate":{"tokens":1},"decisionId":"w%[1]d"%[2]s}`, i, filler))
	}
	if n := len(s.Waiting()); n != many {
		t.Fatalf("%d wait", n)
	}
	if kept := heap() - before; kept > many*long/4 {
		t.Errorf("%d bytes are kept of %d", kept, many*long)
	}
	runtime.KeepAlive(s)
}

// heap is how much is in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
