package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/whatif"
	"github.com/quotashare/quotashare/wire"
)

// began is when the histories of these tests begin: where a bucket of every window
// does.
const began int64 = 20_000 * 86_400_000 / 2_592_000_000 * 2_592_000_000

// memory is a log without a broker.
type memory struct {
	list []events.Message
	rows []questions.Record
}

func (l *memory) Source(_ context.Context, after projector.Position) (projector.Source, func(), error) {
	return &memorySource{l.list[after.Seq:]}, func() {}, nil
}

func (l *memory) From(_ context.Context, seq uint64) (projector.Source, func(), error) {
	return &memorySource{l.list[seq-1:]}, func() {}, nil
}

func (l *memory) Bounds(context.Context) (first, last uint64, err error) {
	return 1, uint64(len(l.list)), nil
}

// Each gives the rows in no order of the log, as processes record them: but those of
// one instant in the order in which they were answered.
func (l *memory) Each(_ context.Context, fn func(*questions.Record) error) error {
	list := slices.Clone(l.rows)
	slices.SortStableFunc(list, func(a, b questions.Record) int { return cmp.Compare(b.Time, a.Time) })
	for i := range list {
		if err := fn(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

type memorySource struct{ left []events.Message }

func (s *memorySource) Next(context.Context) (projector.Messages, error) {
	n := min(len(s.left), 3)
	got := projector.Messages{List: append([]events.Message(nil), s.left[:n]...), Pending: uint64(len(s.left) - n)}
	s.left = s.left[n:]
	return got, nil
}

// add stores a message at so many ms after the beginning.
func (l *memory) add(ms int64, subject, body string) {
	m := events.Message{Subject: subject, Data: []byte(body), Seq: uint64(len(l.list) + 1), Time: began + ms}
	if strings.HasPrefix(subject, events.ConfigPrefix) {
		m.Header = map[string][]string{events.HeaderConfig: {events.ConfigPut}}
	}
	l.list = append(l.list, m)
}

func (l *memory) use(ms int64, key string, tokens int) {
	l.add(ms, "quota.consumption", fmt.Sprintf(`{"apiKeyId":%q,"connectionId":"c","cost":{"tokens":%d}}`, key, tokens))
}

func (l *memory) hold(ms int64, id, key string, tokens int) {
	l.add(ms, "quota.hold", fmt.Sprintf(
		`{"id":%q,"apiKeyId":%q,"requestId":"r-%s","connectionId":"c","estimate":{"tokens":%d,"requests":1},"leaseMs":300000,"decisionId":%q}`, id, key, id, tokens, id))
}

func (l *memory) settle(ms int64, id, key string, tokens int) {
	l.add(ms, "quota.consumption", fmt.Sprintf(`{"apiKeyId":%q,"connectionId":"c","requestId":"r-%s","cost":{"tokens":%d}}`, key, id, tokens))
}

// pool is one of the keys a and b with these weights.
func pool(a, b int) string {
	return fmt.Sprintf(`{"id":"p","name":"P","provider":"kimi","connections":[{"connectionId":"c"}],"allocations":[{"apiKeyId":"a","weight":%d},{"apiKeyId":"b","weight":%d}]}`, a, b)
}

// shared is a log that begins with a pool and its plan.
func shared(a, b int) *memory {
	l := &memory{}
	l.add(0, "quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"tokens","window":"hourly","limit":1000}]}`)
	l.add(0, "quota.config.pool.p", pool(a, b))
	return l
}

// trial reads what is tried.
func trial(t interface{ Fatal(...any) }, doc string) *whatif.Trial {
	v, err := wire.ParseJSON([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	made, faults := whatif.Read(v)
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	return made
}

// whatIfOf tries it on the log.
func whatIfOf(t interface {
	Fatal(...any)
	Helper()
}, l *memory, doc string,
) *whatif.Report {
	t.Helper()
	r, err := WhatIf(context.Background(), WhatIfOptions{Options: Options{Log: l, Store: inMemory}, Rows: l}, trial(t, doc))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// told tells a report in lines.
func told(r *whatif.Report) (text string) {
	for _, x := range r.Rows {
		text += x.APIKeyID
		for _, s := range x.Sides {
			text += fmt.Sprintf(" | %d allowed %d blocked %d deprioritized %d tokens", s.Allowed, s.Blocked, s.Deprioritized, s.Served[1]/1000)
		}
		text += fmt.Sprintf(" | +%d -%d\n", x.NewlyBlocked, x.NewlyAllowed)
	}
	for _, p := range r.Pools {
		text += fmt.Sprintf("%s %s/%s", p.PoolID, p.Unit, p.Window)
		for _, s := range p.Sides {
			text += fmt.Sprintf(" | %d of %d in %d, %d unused", s.Used/1000, s.Limit/1000, s.Buckets, s.Unused/1000)
		}
		text += "\n"
	}
	return text
}

func TestOtherWeightsBlockWhoIsAboveThem(t *testing.T) {
	l := shared(50, 50)
	for i := range int64(8) {
		l.use(1000+i*2000, "a", 60)
		l.use(2000+i*2000, "b", 50)
	}
	got := told(whatIfOf(t, l, `{"pools":[`+pool(70, 30)+`]}`))
	want := `a | 8 allowed 0 blocked 0 deprioritized 480 tokens | 8 allowed 0 blocked 0 deprioritized 480 tokens | +0 -0
b | 8 allowed 0 blocked 0 deprioritized 400 tokens | 7 allowed 1 blocked 0 deprioritized 350 tokens | +1 -0
p tokens/hourly | 880 of 1000 in 1, 120 unused | 830 of 1000 in 1, 170 unused
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// An adjustment is counted in the bucket that it stands in and in no other, and where
// nobody asked beside it, there was nothing to be had.
func TestAnAdjustmentIsOfOneBucket(t *testing.T) {
	l := shared(50, 50)
	adjust := func(ms int64, tokens int) {
		l.add(ms, "quota.adjustment", fmt.Sprintf(`{"apiKeyId":"a","connectionId":"c","reason":"x","cost":{"tokens":%d}}`, tokens))
	}
	l.use(1000, "a", 100)
	adjust(hour+1000, 300)
	l.use(hour+2000, "a", 10)
	adjust(2*hour+1000, 50)
	adjust(3*hour+1000, 7)
	l.use(4*hour+1000, "a", 5)
	adjust(5*hour+1000, 900)
	r := whatIfOf(t, l, `{"pools":[`+pool(50, 50)+`]}`)
	want := whatif.Capacity{Buckets: 3, Limit: 3_000_000, Used: 415_000, Unused: 900_000 + 690_000 + 995_000}
	for _, got := range r.Pools[0].Sides {
		if got != want {
			t.Errorf("capacity %+v, want %+v", got, want)
		}
	}
}

// TestADimensionThatWentIsNoRow: of the bucket that was open then there is no limit to hold
// its use to.
func TestADimensionThatWentIsNoRow(t *testing.T) {
	l := shared(50, 50)
	l.use(1, "a", 10)
	l.add(2, "quota.config.plan.c", `{"connectionId":"c","dimensions":[{"unit":"tokens","window":"daily","limit":1000}]}`)
	l.use(3, "a", 10)
	made := whatIfOf(t, l, `{"pools":[`+pool(60, 40)+`]}`)
	if len(made.Pools) != 1 || made.Pools[0].Window != quota.Daily || made.Pools[0].Sides[whatif.Before].Buckets != 1 {
		t.Errorf("capacities of %+v", made.Pools)
	}
}
