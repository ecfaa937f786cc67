package projector_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// guild is a pool of the rule guarantee in a fold, and beside it what the log said, so
// that what is used and promised can be counted anew, in the plainest way.
type guild struct {
	t        fataler
	s        *projector.State
	seq      uint64
	now      int64
	dims     []guildDim
	accounts []account
	members  []member
	reserve  int64
	open     []openHold
	requests int
	// clean: nothing came but what was let pass, and it used what it held at most.
	clean bool
}

type guildDim struct {
	unit   quota.Unit
	window quota.Window
	each   int64 // limit of each connection
}

// account is a connection, and what its provider says of percent.
type account struct {
	id    string
	reads bool
	used  int64 // in the open cycle
	said  int64 // the last reading
	until int64 // as long as that stands, 0 = nothing was said
	reset int64 // of the open cycle
	// timeless: it does not say when its cycle ends, so that what it says stands for 30 s
	// and the cycle is taken to end a window after it began.
	timeless bool
}

type member struct {
	id        string
	weight    int64
	policy    string
	suspended bool
}

type openHold struct {
	key, conn, request string
	amounts            quota.Amounts
	end                int64
}

func newGuild(t fataler) *guild {
	return &guild{t: t, s: projector.NewState(memstore.New()), now: start, reserve: 100, clean: true}
}

// drawGuild makes a pool of a few keys: of one dimension or two, of one connection or two,
// with and without readings, and weights of every kind.
func drawGuild(t *rapid.T) *guild {
	g := newGuild(t)
	g.reserve = rapid.SampledFrom([]int64{100, 100, 100, 50, 0, 200, 400}).Draw(t, "reserve")
	percent := guildDim{quota.Percent, quota.FiveHour, rapid.SampledFrom([]int64{100e6, 100e6, 80e6}).Draw(t, "percent")}
	tokens := guildDim{quota.Tokens, quota.Hourly, rapid.SampledFrom([]int64{100, 10_000, 50_000_000, 90_000_000}).Draw(t, "tokens")}
	g.dims = rapid.SampledFrom([][]guildDim{{percent}, {percent}, {percent, tokens}, {tokens}, {tokens, percent}}).Draw(t, "dimensions")
	for i := range rapid.IntRange(1, 2).Draw(t, "connections") {
		g.accounts = append(g.accounts, account{
			id: fmt.Sprint("c", i), reads: i == 0 || rapid.Bool().Draw(t, "reads"),
			timeless: rapid.IntRange(0, 3).Draw(t, "timeless") == 0,
			reset:    start + rapid.Int64Range(1_000, quota.FiveHour.Millis()).Draw(t, "reset"),
		})
	}
	kind := rapid.IntRange(0, 5).Draw(t, "weights")
	n := rapid.IntRange(1, 6).Draw(t, "keys")
	for i := range n {
		g.members = append(g.members, drawMember(t, fmt.Sprint("k", i), kind, int64(n)))
	}
	if rapid.IntRange(0, 2).Draw(t, "others") == 0 {
		g.members[n-1].id = quota.AllOthers
	}
	g.configure()
	for i := range g.accounts {
		if rapid.IntRange(0, 5).Draw(t, "silent") > 0 {
			g.read(&g.accounts[i])
		}
	}
	return g
}

func drawMember(t *rapid.T, id string, kind int, n int64) member {
	m := member{id: id, policy: rapid.SampledFrom([]string{"hard", "hard", "hard", "soft", "burst"}).Draw(t, "policy")}
	switch kind {
	case 0: // all 0
	case 1:
		m.weight = 100e6 / n
	case 2: // more than 100
		m.weight = rapid.Int64Range(0, 100e6).Draw(t, "weight")
	case 3: // less
		m.weight = rapid.Int64Range(0, 50e6).Draw(t, "weight") / n
	default:
		m.weight = rapid.Int64Range(0, 3).Draw(t, "quarters") * 25e6 / n
	}
	m.suspended = rapid.IntRange(0, 11).Draw(t, "suspended") == 0
	return m
}

// configure publishes the plans and the pool.
func (g *guild) configure() {
	for i := range g.accounts {
		var dims []string
		for _, d := range g.dims {
			dims = append(dims, fmt.Sprintf(`{"unit":%q,"window":%q,"limit":%s}`, d.unit, d.window, quota.Amount(d.each).Format(d.unit)))
		}
		g.put("plan."+g.accounts[i].id, fmt.Sprintf(`{"connectionId":%q,"dimensions":[%s]}`, g.accounts[i].id, strings.Join(dims, ",")))
	}
	var ids, list []string
	for i := range g.accounts {
		ids = append(ids, fmt.Sprintf("%q", g.accounts[i].id))
	}
	for _, m := range g.members {
		list = append(list, fmt.Sprintf(`{"apiKeyId":%q,"weight":%d.%06d,"policy":%q,"suspended":%t}`, m.id, m.weight/1e6, m.weight%1e6, m.policy, m.suspended))
	}
	g.put("pool.p", fmt.Sprintf(`{"id":"p","name":"P","provider":"custom","rule":"guarantee","reserve":%d,"connectionIds":[%s],"allocations":[%s]}`,
		g.reserve, strings.Join(ids, ","), strings.Join(list, ",")))
}

func (g *guild) put(what, body string) {
	g.apply(events.Message{Subject: "quota.config." + what, Header: map[string][]string{"Quota-Config": {"put"}}, Data: []byte(body)})
}

func (g *guild) publish(list ...events.Event) {
	m := events.Message{Subject: "quota." + subjectOf[list[0].Kind], Data: events.AppendJSON(nil, &list[0])}
	if len(list) > 1 {
		m.Data = events.AppendArray(nil, 0, list)
	}
	g.apply(m)
}

func (g *guild) apply(m events.Message) {
	g.t.Helper()
	g.seq++
	m.Seq, m.Time = g.seq, g.now
	fold(g.t, g.s, []events.Message{m}, 1)
	if n := g.s.Counts().Rejected; n > 0 {
		g.t.Fatalf("%s is rejected: %s", m.Subject, m.Data)
	}
}

// read publishes what the provider says; its cycle may be another by now.
func (g *guild) read(a *account) {
	width := quota.FiveHour.Millis()
	if !a.reads || !slices.ContainsFunc(g.dims, func(d guildDim) bool { return d.unit == quota.Percent }) {
		return
	}
	if !a.timeless && g.now >= a.reset {
		a.reset += (1 + (g.now-a.reset)/width) * width
	}
	if a.timeless {
		g.readTimeless(a)
		return
	}
	a.said, a.until = a.used, a.reset
	g.publish(events.Event{Kind: events.Saturation, ConnectionID: a.id, Readings: []events.Reading{
		{Window: quota.FiveHour, UsedPercent: quota.Amount(a.used), ResetAt: a.reset},
	}})
}

// readTimeless says nothing of an end. When much is used, and it has said so, the provider
// begins anew: that is seen by how much less it says then.
func (g *guild) readTimeless(a *account) {
	if a.until == 0 || a.said > 90e6 {
		a.used, a.reset = 0, g.now+quota.FiveHour.Millis()
	}
	a.said, a.until = a.used, g.now+30_000
	g.publish(events.Event{Kind: events.Saturation, ConnectionID: a.id, Readings: []events.Reading{{Window: quota.FiveHour, UsedPercent: quota.Amount(a.used)}}})
}

// key is a key that asks by the allocation.
func (m *member) key() string {
	if m.id == quota.AllOthers {
		return "somebody"
	}
	return m.id
}

// memberOf is by which a key asks, -1 = it has none.
func (g *guild) memberOf(key string) int {
	others := -1
	for j, m := range g.members {
		switch m.id {
		case key:
			return j
		case quota.AllOthers:
			others = j
		}
	}
	return others
}

// standing is how one dimension stands, by the definitions.
type standing struct {
	limit, total, spent int64
	used, promise       []int64 // c_j and ℓ_j, by member
	cycle               bool
	period              [4]int64 // bucket, and until when each reading stands
	beyond              int64    // Σ of what is held above ℓ_j, and by keys without an allocation
}

// owed is (ℓ_j − c_j)⁺.
func (x *standing) owed(j int) int64 { return max(0, x.promise[j]-x.used[j]) }

// excess is what is used and promised above the limit.
func (x *standing) excess() int64 {
	sum := x.spent - x.limit
	for j := range x.used {
		sum += x.owed(j)
	}
	return sum
}

func (g *guild) stand(now int64) (list []standing) {
	for i := range g.dims {
		list = append(list, g.standIn(&g.dims[i], now))
	}
	return list
}

func (g *guild) standIn(d *guildDim, now int64) (x standing) {
	width := d.window.Millis()
	bucket, elapsed := windows.Bucket(now, width)
	x.limit, x.used, x.period[0] = d.each*int64(len(g.accounts)), make([]int64, len(g.members)), bucket
	left := width - 1 - elapsed
	for i := range g.accounts {
		if a := &g.accounts[i]; d.unit == quota.Percent && now < a.until {
			if x.period[i+1] = a.until; !x.cycle {
				left = 0
			}
			x.cycle, left = true, max(left, min(a.reset-now-1, width-1))
		}
	}
	for i := range g.accounts {
		g.standOn(d, &x, &g.accounts[i], x.period[i+1] > 0, now)
	}
	held := make([]int64, len(g.members))
	for _, h := range g.open {
		if amount := min(int64(h.amounts[d.unit]), x.limit); now < h.end {
			x.spent, x.total = x.spent+amount, x.total+amount
			if j := g.memberOf(h.key); j >= 0 {
				x.used[j], held[j] = x.used[j]+amount, held[j]+amount
			} else {
				x.beyond += amount
			}
		}
	}
	if x.cycle {
		x.total = x.spent
	}
	g.promises(&x, width, left)
	for j := range held {
		x.beyond += max(0, held[j]-x.promise[j])
	}
	return x
}

// standOn adds what was used on one connection.
func (g *guild) standOn(d *guildDim, x *standing, a *account, reading bool, now int64) {
	width := d.window.Millis()
	bucket, _ := windows.Bucket(now, width)
	curr := func(key string) int64 { return int64(g.s.Counter(a.id, key, "", d.unit, d.window).Rotate(bucket).Curr) }
	all, rest := curr(""), curr("")
	var listed []string
	for j, m := range g.members {
		switch part, _ := g.s.Part(a.id, m.id, d.window, now); {
		case m.id == quota.AllOthers:
		case reading && now < a.reset:
			x.used[j] += int64(part)
		default:
			x.used[j] += curr(m.id)
		}
		if m.id != quota.AllOthers {
			listed = append(listed, m.id)
			rest -= curr(m.id)
		}
	}
	if reading {
		all = a.said
	}
	if reading && now < a.reset {
		rest = int64(g.s.PartOfOthers(a.id, listed, d.window))
	}
	if j := g.memberOf(quota.AllOthers); j >= 0 {
		x.used[j] += rest
	}
	x.spent += all
	x.total += int64(g.s.Counter(a.id, "", "", d.unit, d.window).Effective(now, width))
}

// promises works out every ℓ_j.
func (g *guild) promises(x *standing, width, left int64) {
	weights := make([]quota.Ratio, len(g.members))
	for j, m := range g.members {
		weights[j] = quota.Ratio(m.weight)
	}
	x.promise = make([]int64, len(g.members))
	for j, share := range plans.Shares(quota.Amount(x.limit), weights) {
		if !g.members[j].suspended {
			x.promise[j] = min(int64(share), int64(share)*g.reserve*left/(100*width))
		}
	}
}

// question is one of a key, on a connection.
func (g *guild) question(key string, conn int, estimate quota.Amounts) questions.Question {
	return questions.Question{APIKeyID: key, ConnectionID: g.accounts[conn].id, Estimate: estimate}
}

// answer asks the view.
func (g *guild) answer(qs []questions.Question, at int64) []projector.Asked {
	asked := make([]projector.Asked, len(qs))
	g.s.Gather(qs, at, asked)
	return asked
}
