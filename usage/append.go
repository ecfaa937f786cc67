package usage

import (
	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Append appends the snapshot as a JSON object. What is unknown is null.
func (s *Snapshot) Append(dst []byte) []byte {
	w := writer{wire.NewWriter(dst, wire.JSON)}
	w.Object()
	w.text("poolId", s.PoolID)
	w.instant("generatedAt", s.GeneratedAt)
	w.Name("asOf")
	w.Object()
	w.Name("seq")
	w.Uint(s.AsOf.Seq)
	w.instant("time", s.AsOf.Time)
	w.int("lagMs", s.AsOf.LagMs, true)
	w.End()
	w.text("mode", s.Mode.String())
	w.bool("enforcing", s.Enforcing)
	w.Name("dimensions")
	w.Array()
	for i := range s.Dimensions {
		w.dimension(s, &s.Dimensions[i])
	}
	w.End()
	w.Name("signals")
	w.Array()
	for i := range s.Signals {
		w.signal(&s.Signals[i])
	}
	w.End()
	w.Name("connections")
	w.Array()
	for i := range s.Flights {
		w.flight(&s.Flights[i])
	}
	w.End()
	w.backlog(&s.Backlog)
	w.Name("keys")
	w.Array()
	for i := range s.Keys {
		w.key(&s.Keys[i])
	}
	w.End()
	w.int("unlistedKeys", int64(s.Unlisted), true)
	w.Name("burnRate")
	w.Object()
	w.rate("tokensPerSecond", s.TokensPerSecond, quota.Tokens)
	ms, known := s.exhaustion()
	w.int("timeToExhaustionMs", ms, known)
	w.End()
	w.End()
	return w.Bytes()
}

// exhaustion is that of the dimension that will be exhausted first.
func (s *Snapshot) exhaustion() (ms int64, known bool) {
	for i := range s.Dimensions {
		if b := &s.Dimensions[i].Burn; b.HasExhaustion && (!known || b.ExhaustionMs < ms) {
			ms, known = b.ExhaustionMs, true
		}
	}
	return ms, known
}

// writer names the fields of the documents of this package.
type writer struct{ wire.Writer }

func (w *writer) dimension(s *Snapshot, d *Dimension) {
	w.Object()
	w.text("unit", d.Unit.String())
	w.text("window", d.Window.String())
	w.amount("limit", d.Limit, d.Unit, d.Limit > 0)
	w.amount("consumedTotal", d.ConsumedTotal, d.Unit, true)
	w.amount("heldTotal", d.HeldTotal, d.Unit, true)
	used, known := d.UsedPercent()
	w.amount("usedPercent", used, quota.Percent, known)
	w.text("mode", d.Mode)
	at, known := d.StrictAt(s.Threshold)
	w.amount("strictAt", at, d.Unit, known && s.Rule == plans.Threshold)
	if d.HasPromise {
		w.amount("kept", d.Kept, d.Unit, true)
		w.instant("keptUntil", d.KeptUntil)
	}
	w.amount("unlisted", d.Unlisted, d.Unit, true)
	w.Name("perConnection")
	w.Array()
	for i := range d.Connections {
		w.connection(&d.Connections[i], d.Unit)
	}
	w.End()
	w.Name("perKey")
	w.Array()
	for i := range d.Uses {
		w.use(&s.Keys[i], &d.Uses[i], d.Unit)
	}
	w.End()
	w.Name("burnRate")
	w.Object()
	w.rate("perSecond", d.Burn.Rate, d.Unit)
	w.int("timeToExhaustionMs", d.Burn.ExhaustionMs, d.Burn.HasExhaustion)
	w.End()
	w.End()
}

func (w *writer) flight(f *Flight) {
	w.Object()
	w.text("connectionId", f.ConnectionID)
	w.int("inFlight", f.InFlight, true)
	w.int("maxConcurrent", f.MaxConcurrent, f.MaxConcurrent > 0)
	w.End()
}

func (w *writer) backlog(b *Backlog) {
	w.Name("backlog")
	w.Object()
	w.int("waiting", int64(b.Waiting), true)
	w.Name("keys")
	w.Array()
	for i := range b.Keys {
		k := &b.Keys[i]
		w.Object()
		w.text("apiKeyId", k.APIKeyID)
		w.int("waiting", int64(k.Waiting), true)
		w.instant("since", k.Since)
		w.End()
	}
	w.End()
	w.End()
}

// Append appends the signal as a JSON object, as a snapshot has it.
func (s *Signal) Append(dst []byte) []byte {
	w := writer{wire.NewWriter(dst, wire.JSON)}
	w.signal(s)
	return w.Bytes()
}

func (w *writer) connection(c *Connection, u quota.Unit) {
	w.Object()
	w.text("connectionId", c.ID)
	w.amount("limit", c.Limit, u, c.Limit > 0)
	w.amount("consumedTotal", c.ConsumedTotal, u, true)
	w.amount("providerUsed", c.ProviderUsed, quota.Percent, c.HasProvider)
	w.known("resetAt", c.ResetAt)
	w.known("observedAt", c.Observed)
	w.split(&c.Split)
	w.End()
}

func (w *writer) use(k *Key, n *Use, u quota.Unit) {
	w.Object()
	w.row(k)
	w.amount("consumed", n.Consumed, u, true)
	w.amount("held", n.Held, u, true)
	w.amount("fairShare", n.FairShare, u, n.HasFairShare)
	w.amount("deficit", n.Deficit, u, n.HasFairShare)
	w.bool("borrowing", n.Borrowing)
	w.amount("remaining", n.Remaining, u, n.HasRemaining)
	if n.HasPromise {
		w.amount("promised", n.Promised, u, true)
	}
	w.Name("burnRate")
	w.Object()
	w.rate("perSecond", n.Rate, u)
	w.End()
	w.End()
}

func (w *writer) key(k *Key) {
	w.Object()
	w.row(k)
	decision := "block"
	if k.Allow {
		decision = "allow"
	}
	w.text("decision", decision)
	w.text("reason", k.Reason)
	if k.Detail != "" {
		w.text("detail", k.Detail)
	}
	w.bool("deprioritize", k.Deprioritize)
	if k.WouldBlock {
		w.bool("wouldBlock", true)
	}
	w.known("retryAt", k.RetryAt)
	w.End()
}

// row names a key and its allocation.
func (w *writer) row(k *Key) {
	w.text("apiKeyId", k.ID)
	w.Name("allocation")
	if k.Allocation == "" {
		w.Null()
		return
	}
	w.String(k.Allocation)
}

func (w *writer) text(name, s string) {
	w.Name(name)
	w.String(s)
}

func (w *writer) bool(name string, b bool) {
	w.Name(name)
	w.Bool(b)
}

func (w *writer) instant(name string, ms int64) {
	w.Name(name)
	w.Instant(ms)
}

// known is instant, null when it is 0.
func (w *writer) known(name string, ms int64) {
	w.Name(name)
	if ms != 0 {
		w.Instant(ms)
		return
	}
	w.Null()
}

func (w *writer) int(name string, n int64, known bool) {
	w.Name(name)
	if known {
		w.Int(n)
		return
	}
	w.Null()
}

func (w *writer) amount(name string, a quota.Amount, u quota.Unit, known bool) {
	w.Name(name)
	if known {
		w.Amount(a, u)
		return
	}
	w.Null()
}

func (w *writer) rate(name string, r Rate, u quota.Unit) {
	w.Name(name)
	w.Fixed(int64(r), u.Digits()+rateDigits)
}
