package sim

import (
	"cmp"
	"slices"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/quota"
)

// call is one request of a client, as its gateway sees it.
type call struct {
	w *world
	reserve
	spent  quota.Amounts // of the estimate, by partial consumptions
	rounds int           // questions asked
	script func(answer)  // takes the next answer in place of chance, nil = none
}

// arrive lets clients come, alone or many at once, and more later.
func (w *world) arrive() {
	if w.closing {
		return
	}
	n := int64(1)
	if w.dice.chance(25) {
		n = w.dice.between(2, 25)
	}
	like := w.call()
	for range n {
		c := *like
		c.request = w.names.request(w.dice, c.key)
		w.after(w.dice.between(0, 3), c.ask)
		if w.dice.chance(30) {
			like = w.call()
		}
	}
	w.daemon(w.pause(), w.arrive)
}

// pause is how long nobody comes, in ms: mostly seconds, now and then so long
// that windows end.
func (w *world) pause() int64 {
	if w.exact {
		return w.dice.between(0, 20_000)
	}
	if w.paced {
		return w.dice.between(0, 60_000)
	}
	switch w.dice.kind(550, 250, 150, 30, 1) {
	case 0:
		return w.dice.between(0, 3_000)
	case 1:
		return w.dice.between(0, 40_000)
	case 2:
		return w.dice.between(0, 900_000)
	case 3:
		return w.dice.between(0, 10_000_000)
	}
	return w.dice.between(0, 9*86_400_000)
}

// call draws a client without a name for its request.
func (w *world) call() *call {
	d := w.dice
	c := &call{w: w}
	c.key, c.connection, c.model = pick(d, w.names.keys), pick(d, w.names.connections), pick(d, w.names.models)
	if d.chance(80) { // the others are used by few
		c.key, c.connection = pick(d, w.names.keys[:3]), pick(d, w.names.connections[:2])
	}
	if w.paced && d.chance(60) { // one floods, and each hour another one
		c.key = w.names.keys[(w.now/3_600_000)%3]
	}
	c.closed = d.chance(30)
	if w.exact {
		c.connection, c.closed = pick(d, w.check.model.Pools["p"].Connections).ConnectionID, true
	}
	c.estimate, c.given = w.estimate()
	c.lease = w.lease()
	return c
}

// estimate draws what a client thinks it needs: nothing said, nothing at all, a
// little, or more than there is.
func (w *world) estimate() (a quota.Amounts, bits uint8) {
	d := w.dice
	if w.paced && d.chance(90) { // about as much as others ask for
		a[quota.Tokens], a[quota.Percent] = tokens(d.between(1, 300)), points(d.between(0, 30))/10
		return a, given(quota.Tokens, quota.Percent)
	}
	if d.chance(50) {
		bits |= given(quota.Requests)
		a[quota.Requests] = requests(pick(d, []int64{0, 1, 1, 1, 2, 3}))
	}
	if d.chance(70) {
		bits |= given(quota.Tokens)
		a[quota.Tokens] = tokens(pick(d, []int64{0, d.between(1, 300), d.between(1, 300), d.between(100, 6_000)}))
		if d.chance(15) && !w.exact {
			a[quota.Tokens] = tokens(d.between(20_000, 1_000_000))
		}
	}
	if d.chance(20) {
		bits |= given(quota.USD)
		a[quota.USD] = dollars(d.between(0, 3)) + quota.Amount(d.between(0, 999_999_999))
	}
	return a, bits
}

func (w *world) lease() int64 {
	if w.exact {
		return 3_600_000
	}
	switch w.dice.kind(10, 40, 40, 10) {
	case 0:
		return w.dice.between(1, 50)
	case 1:
		return w.dice.between(1_000, 60_000)
	case 2:
		return 300_000
	}
	return 3_600_000
}

// ask asks some decider, and waits for its answer as long as it likes.
func (c *call) ask() {
	w := c.w
	c.rounds++
	d := w.someDecider(c.rounds > 1)
	heard := false
	end := func(a answer) {
		if !heard {
			heard = true
			c.hear(a)
		}
	}
	w.say("%q asks %s for %q on %q: %v for %d ms", c.key, d.name, c.request, c.connection, c.estimate, c.lease)
	r, life := c.reserve, d.life
	w.after(w.dice.between(0, 3), func() {
		if d.life == life && d.state != nil {
			d.ask(r, func(a answer) { w.after(w.dice.between(0, 3), func() { end(a) }) })
		}
	})
	w.after(w.dice.between(200, 4_000), func() { end(answer{silent: true}) })
}

// someDecider is one of a queue group. One that is down may be asked: the group
// does not know at once. Who asks again often gets the one that is furthest behind,
// on whose view least is as it is by now.
func (w *world) someDecider(again bool) *decider {
	if again && w.dice.chance(60) {
		return slices.MinFunc(w.deciders, func(a, b *decider) int { return cmp.Compare(a.at(), b.at()) })
	}
	return pick(w.dice, w.deciders)
}

func (c *call) hear(a answer) {
	c.w.say("%q hears of %q: %+v", c.key, c.request, a)
	switch {
	case c.script != nil:
		c.script(a)
	case c.w.exact:
		c.hearExact(a)
	case a.silent:
		c.goOn(25, 35, 5, 0, 25, 10)
	case !a.allowed:
		c.blocked(a)
	case a.degraded:
		c.goOn(50, 20, 5, 10, 5, 10)
	default:
		c.goOn(35, 22, 13, 10, 10, 10)
	}
}

// blocked goes away, or comes again at the instant it was told or too early.
func (c *call) blocked(a answer) {
	if c.rounds > 3 || c.w.closing {
		return
	}
	switch c.w.dice.kind(40, 30, 20, 10) {
	case 1:
		if a.retryMs >= 0 && a.retryMs < 7_200_000 {
			c.w.after(a.retryMs, c.ask)
		}
	case 2:
		c.w.after(c.w.dice.between(0, 60_000), c.ask)
	case 3: // it was not waited for
		c.settle()
	}
}

// goOn lives one of the lives of a request, in proportion to the weights: it is
// done and settled; it asks again; it streams; it is given up; it is done by half
// and asks again; or nobody hears of it any more.
func (c *call) goOn(settle, again, stream, release, move, forget int) {
	w := c.w
	switch w.dice.kind(settle, again, stream, release, move, forget) {
	case 0:
		w.after(c.life(), c.settle)
	case 1:
		c.again()
	case 2:
		c.stream(int(w.dice.between(1, 5)))
	case 3:
		w.after(c.life(), c.release)
	case 4:
		c.connection = pick(w.dice, w.names.connections)
		c.estimate, c.given = w.estimate()
		c.again()
	default:
		w.report.count(Forgotten)
		c.forgotten()
	}
}

// forgotten is over for its gateway; the key that lost its answer may release it
// when it is long gone.
func (c *call) forgotten() {
	if c.w.dice.chance(30) {
		c.w.after(c.lease+c.w.dice.between(0, 60_000), c.release)
	}
}

// life is how long a request runs: seconds, or longer than its lease.
func (c *call) life() int64 {
	if c.w.exact || c.w.dice.chance(75) {
		return c.w.dice.between(0, 60_000)
	}
	return c.w.dice.between(0, 2*c.lease)
}

// again asks under the same name: to hold on longer, or for more or less.
func (c *call) again() {
	if c.rounds > 4 || c.w.closing {
		c.settle()
		return
	}
	wait := c.life() / 4
	if c.w.dice.chance(50) { // before the lease ends, as who wants to go on
		wait = c.lease * c.w.dice.between(10, 99) / 100
	}
	if c.w.dice.chance(40) {
		c.estimate, c.given = c.w.estimate()
		c.lease = c.w.lease()
	}
	if c.w.dice.chance(20) { // it grew, and has room when others are gone
		c.given |= given(quota.Requests)
		c.estimate[quota.Requests] += requests(c.w.dice.between(1, 20))
	}
	c.w.after(wait, c.ask)
}

// stream reports what it used n times, then the rest.
func (c *call) stream(n int) {
	w := c.w
	if n == 0 {
		c.settle()
		return
	}
	w.after(min(c.life(), c.lease*9/10), func() {
		cost := c.part()
		for u := range cost {
			c.spent[u] += cost[u]
		}
		c.consume(events.Event{Partial: true, Cost: cost, Given: given(quota.Tokens)}, nil)
		c.stream(n - 1)
	})
}

// part is a piece of what is left of the tokens; a bad estimate has more.
func (c *call) part() (cost quota.Amounts) {
	most := tokens(500)
	if c.w.exact {
		most = c.estimate[quota.Tokens] - c.spent[quota.Tokens]
	}
	cost[quota.Tokens] = quota.Amount(c.w.dice.between(0, int64(most)))
	return cost
}

// settle reports what was used: as much as was estimated, less or more.
func (c *call) settle() {
	d := c.w.dice
	e := events.Event{Cost: c.estimate, Given: given(quota.Requests, quota.Tokens)}
	switch d.kind(50, 20, 20, 10) {
	case 1:
		e.Cost[quota.Tokens] = quota.Amount(d.between(0, int64(e.Cost[quota.Tokens])))
	case 2:
		e.Cost[quota.Tokens] = tokens(d.between(0, 3_000))
	case 3:
		e.Cost, e.Given = quota.Amounts{}, 0
	}
	if e.Given != 0 && c.given&given(quota.Requests) == 0 {
		e.Cost[quota.Requests], e.Given = 0, given(quota.Tokens)
	}
	if d.chance(20) {
		e.Cost[quota.USD], e.Given = c.estimate[quota.USD], e.Given|given(quota.USD)
	} else {
		e.Cost[quota.USD] = 0
	}
	if e.Given&given(quota.Requests) == 0 {
		e.Cost[quota.Requests] = 0
	}
	if e.Given != 0 && d.chance(70) {
		e.Given |= given(quota.Percent)
	} else {
		e.Cost[quota.Percent] = 0
	}
	c.consume(e, nil)
	if d.chance(4) { // counted twice, by two that do not know of each other
		c.consume(e, nil)
	}
	if d.chance(6) { // a part that came late, from one that calls it the whole
		c.w.after(d.between(0, 3_600_000), func() { c.consume(e, nil) })
	}
	if d.chance(12) && !c.w.closing { // a client that does not know it is done
		c.w.after(d.between(0, 120*60_000), c.ask)
	}
}

// consume publishes a consumption of the call, with the habits that gateways have.
// then, which may be nil, is called when it is stored or given up.
func (c *call) consume(e events.Event, then func(stored bool)) {
	w := c.w
	e.Kind, e.APIKeyID, e.ConnectionID, e.Model, e.RequestID = events.Consumption, c.key, c.connection, c.model, c.request
	e.ID = w.names.id("e")
	if !w.exact {
		c.habits(&e)
	}
	w.publish(w.draft(e), 20, then)
}

func (c *call) habits(e *events.Event) {
	d := c.w.dice
	if d.chance(8) {
		e.ConnectionID = pick(d, c.w.names.connections)
	}
	if d.chance(5) {
		e.RequestID = ""
	}
	if d.chance(5) {
		e.ID = ""
	}
	if d.chance(40) {
		e.Time = c.w.now + pick(d, []int64{0, -d.between(0, 5_000), d.between(0, 90_000), 200_000, -d.between(0, 9_000_000)})
	}
	if d.chance(5) {
		e.Model = pick(d, c.w.names.models)
	}
}

func (c *call) release() {
	e := events.Event{Kind: events.Release, APIKeyID: c.key, RequestID: c.request}
	if c.w.dice.chance(50) {
		e.ID = c.w.names.id("r")
	}
	c.w.publish(c.w.draft(e), 5, nil)
}
