package questions

import (
	"math"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// maxListed bounds the lists of a reply that is read.
const maxListed = 100_000

// ParseReplies reads an answer, for those who ask: the replies of an array, or
// the one reply. An error in the place of a reply is its Err. What does not
// parse, or is no reply, is an error of package wire.
func ParseReplies(data []byte, enc wire.Encoding) ([]Reply, error) {
	v, err := wire.Parse(enc, data)
	if err != nil {
		return nil, err
	}
	items := []wire.Value{v}
	if v.Kind == wire.Array {
		items = v.Items
	}
	replies := make([]Reply, len(items))
	var faults wire.Faults
	for i := range items {
		if in, ok := wire.Read(items[i], "", &faults); ok {
			replies[i].read(in)
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return replies, nil
}

func (r *Reply) read(in wire.Reader) {
	if e, ok := in.Object("error"); ok {
		r.Err = &Error{Code: anyText(e, "code"), Message: anyText(e, "message")}
		return
	}
	r.DecisionID = anyText(in, "decisionId")
	r.Allow, _ = wire.Enum(in, "decision", parseDecision, "allow or block")
	in.Need("decision")
	r.Reason = anyText(in, "reason")
	r.Deprioritize, _ = in.Flag("deprioritize")
	r.ScoreFactor, _ = in.Ratio("scoreFactor", 0, quota.RatioOne)
	status, _ := in.Int("httpStatus", 100, 599)
	r.HTTPStatus = int(status)
	r.Message = anyText(in, "message")
	r.RetryAfterMs, _ = in.Int("retryAfterMs", 0, quota.MaxInstant)
	r.RetryAt = in.Instant("retryAt")
	if b, ok := in.Object("binding"); ok {
		r.HasBinding = true
		r.Binding = Binding{Unit: unit(b), Window: window(b), Model: anyText(b, "model")}
	}
	r.Scope = anyText(in, "scope")
	r.Alternatives = texts(in, "alternatives")
	r.WouldBlock, _ = in.Flag("wouldBlock")
	r.RequestID = anyText(in, "requestId")
	if a, ok := in.Object("asOf"); ok {
		seq, _ := a.Int("seq", 0, MaxSeq)
		lag, _ := a.Int("lagMs", 0, quota.MaxInstant)
		r.AsOf = AsOf{Seq: uint64(seq), Time: a.Instant("time"), LagMs: lag}
	}
	r.Degraded = texts(in, "degraded")
	r.Detail = anyText(in, "detail")
	r.ConnectionID = anyText(in, "connectionId")
	chosen, _ := in.Objects("candidates", maxListed)
	for _, c := range chosen {
		r.Candidates = append(r.Candidates, readRouteCandidate(c))
	}
	r.HasTraffic = r.Traffic.read(in)
	list, shown := in.Objects("dimensions", maxListed)
	r.Explained = shown
	for _, d := range list {
		r.Dimensions = append(r.Dimensions, readDimension(d))
	}
}

func readDimension(in wire.Reader) Dimension {
	d := Dimension{Unit: unit(in), Window: window(in), Mode: anyText(in, "mode")}
	d.Limit, _ = in.Amount("limit", d.Unit)
	d.Consumed, _ = in.Amount("consumed", d.Unit)
	d.Held, _ = in.Amount("held", d.Unit)
	d.FairShare, d.HasFairShare = in.Amount("fairShare", d.Unit)
	d.Remaining, d.HasRemaining = in.Amount("remaining", d.Unit)
	d.ConsumedTotal, _ = in.Amount("consumedTotal", d.Unit)
	d.HeldTotal, _ = in.Amount("heldTotal", d.Unit)
	d.Borrowing, _ = in.Flag("borrowing")
	d.Deficit, _ = in.Amount("deficit", d.Unit)
	d.ProviderUsed, d.HasProvider = in.Amount("providerUsed", quota.Percent)
	d.ResetAt = in.Instant("resetAt")
	d.ObservedAt = in.Instant("observedAt")
	d.Attributed, d.HasSplit = in.Amount("attributed", quota.Percent)
	d.Unattributed, _ = in.Amount("unattributed", quota.Percent)
	d.Promised, d.HasPromise = in.Amount("promised", d.Unit)
	d.Kept, _ = in.Amount("kept", d.Unit)
	d.Headroom, _ = in.Amount("headroom", d.Unit)
	list, _ := in.Objects("keptFor", maxListed)
	for _, o := range list {
		k := Kept{APIKeyID: anyText(o, "apiKeyId")}
		k.Amount, _ = o.Amount("amount", d.Unit)
		d.KeptFor = append(d.KeptFor, k)
	}
	return d
}

func parseDecision(word string) (allow, ok bool) {
	return word == "allow", word == "allow" || word == "block"
}

func unit(in wire.Reader) quota.Unit {
	in.Need("unit")
	u, _ := wire.Enum(in, "unit", quota.ParseUnit, quota.UnitNames)
	return u
}

func window(in wire.Reader) quota.Window {
	in.Need("window")
	w, _ := wire.Enum(in, "window", quota.ParseReadingWindow, quota.WindowNames)
	return w
}

func anyText(in wire.Reader, name string) string { return in.Text(name, math.MaxInt) }

func texts(in wire.Reader, name string) (list []string) {
	items, _ := in.Array(name, maxListed)
	for _, item := range items {
		list = append(list, item.Text)
	}
	return list
}
