package questions

import (
	"strconv"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// appendJSON writes what appendMsgpack writes, with the marks and names of JSON
// fused into constants: that is three times as fast as wire.Writer, and this is
// the most frequent message of all. A test holds the two together.
func appendJSON(dst []byte, r *Reply) []byte {
	dst = jsonVerdict(dst, r)
	if r.Message != "" {
		dst = jsonString(dst, `,"message":`, r.Message)
	}
	if r.RetryAt != 0 {
		dst = jsonInt(dst, `,"retryAfterMs":`, r.RetryAfterMs)
		dst = jsonInstant(dst, `,"retryAt":"`, r.RetryAt)
	}
	if r.HasBinding {
		dst = jsonBinding(dst, &r.Binding)
	}
	if r.Scope != "" {
		dst = jsonString(dst, `,"scope":`, r.Scope)
	}
	dst = jsonStrings(dst, `,"alternatives":[`, r.Alternatives)
	if r.WouldBlock {
		dst = append(dst, `,"wouldBlock":true`...)
	}
	if r.RequestID != "" {
		dst = jsonString(dst, `,"requestId":`, r.RequestID)
	}
	dst = append(dst, `,"asOf":{"seq":`...)
	dst = strconv.AppendUint(dst, r.AsOf.Seq, 10)
	dst = jsonInstant(dst, `,"time":"`, r.AsOf.Time)
	dst = jsonInt(dst, `,"lagMs":`, r.AsOf.LagMs)
	dst = append(dst, '}')
	dst = jsonStrings(dst, `,"degraded":[`, r.Degraded)
	if r.Detail != "" {
		dst = jsonString(dst, `,"detail":`, r.Detail)
	}
	dst = jsonRoute(dst, r)
	if r.HasTraffic {
		dst = jsonTraffic(dst, &r.Traffic)
	}
	if r.showsDimensions() {
		dst = jsonDimensions(dst, r.Dimensions)
	}
	return append(dst, '}')
}

// jsonVerdict begins the object with what is always there.
func jsonVerdict(dst []byte, r *Reply) []byte {
	dst = jsonString(dst, `{"decisionId":`, r.DecisionID)
	if r.Allow {
		dst = append(dst, `,"decision":"allow","reason":`...)
	} else {
		dst = append(dst, `,"decision":"block","reason":`...)
	}
	dst = wire.AppendJSONString(dst, r.Reason)
	dst = jsonBool(dst, `,"deprioritize":`, r.Deprioritize)
	dst = append(dst, `,"scoreFactor":`...)
	dst = r.ScoreFactor.Append(dst)
	return jsonInt(dst, `,"httpStatus":`, int64(r.HTTPStatus))
}

func jsonBinding(dst []byte, b *Binding) []byte {
	dst = jsonString(dst, `,"binding":{"unit":`, b.Unit.String())
	dst = jsonString(dst, `,"window":`, b.Window.String())
	if b.Model != "" {
		dst = jsonString(dst, `,"model":`, b.Model)
	}
	return append(dst, '}')
}

func jsonDimensions(dst []byte, list []Dimension) []byte {
	dst = append(dst, `,"dimensions":[`...)
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonDimension(dst, &list[i])
	}
	return append(dst, ']')
}

func jsonDimension(dst []byte, d *Dimension) []byte {
	dst = jsonString(dst, `{"unit":`, d.Unit.String())
	dst = jsonString(dst, `,"window":`, d.Window.String())
	dst = jsonAmount(dst, `,"limit":`, d.Limit, d.Unit, d.Limit != 0)
	dst = jsonAmount(dst, `,"consumed":`, d.Consumed, d.Unit, true)
	dst = jsonAmount(dst, `,"held":`, d.Held, d.Unit, true)
	dst = jsonAmount(dst, `,"fairShare":`, d.FairShare, d.Unit, d.HasFairShare)
	dst = jsonAmount(dst, `,"remaining":`, d.Remaining, d.Unit, d.HasRemaining)
	dst = jsonAmount(dst, `,"consumedTotal":`, d.ConsumedTotal, d.Unit, true)
	dst = jsonAmount(dst, `,"heldTotal":`, d.HeldTotal, d.Unit, true)
	dst = jsonString(dst, `,"mode":`, d.Mode)
	dst = jsonBool(dst, `,"borrowing":`, d.Borrowing)
	dst = jsonAmount(dst, `,"deficit":`, d.Deficit, d.Unit, d.HasFairShare)
	dst = jsonAmount(dst, `,"providerUsed":`, d.ProviderUsed, quota.Percent, d.HasProvider)
	if d.ResetAt != 0 {
		dst = jsonInstant(dst, `,"resetAt":"`, d.ResetAt)
	}
	if d.ObservedAt != 0 {
		dst = jsonInstant(dst, `,"observedAt":"`, d.ObservedAt)
	}
	if d.HasSplit {
		dst = jsonAmount(dst, `,"attributed":`, d.Attributed, quota.Percent, true)
		dst = jsonAmount(dst, `,"unattributed":`, d.Unattributed, quota.Percent, true)
	}
	return append(jsonPromise(dst, d), '}')
}

// jsonPromise appends what the rule guarantee says.
func jsonPromise(dst []byte, d *Dimension) []byte {
	if !d.HasPromise {
		return dst
	}
	dst = jsonAmount(dst, `,"promised":`, d.Promised, d.Unit, true)
	dst = jsonAmount(dst, `,"kept":`, d.Kept, d.Unit, true)
	dst = jsonAmount(dst, `,"headroom":`, d.Headroom, d.Unit, true)
	if len(d.KeptFor) == 0 {
		return dst
	}
	dst = append(dst, `,"keptFor":[`...)
	for i, k := range d.KeptFor {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonString(dst, `{"apiKeyId":`, k.APIKeyID)
		dst = append(jsonAmount(dst, `,"amount":`, k.Amount, d.Unit, true), '}')
	}
	return append(dst, ']')
}

func jsonString(dst []byte, name, s string) []byte {
	return wire.AppendJSONString(append(dst, name...), s)
}

func jsonInt(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(dst, name...), n, 10)
}

func jsonBool(dst []byte, name string, b bool) []byte {
	return strconv.AppendBool(append(dst, name...), b)
}

// jsonInstant takes the opening quote with the name.
func jsonInstant(dst []byte, name string, ms int64) []byte {
	return append(appendInstant(append(dst, name...), ms), '"')
}

func jsonAmount(dst []byte, name string, a quota.Amount, u quota.Unit, known bool) []byte {
	dst = append(dst, name...)
	if !known {
		return append(dst, "null"...)
	}
	return a.Append(dst, u)
}

// jsonStrings takes the opening bracket with the name, and writes nothing for an
// empty list.
func jsonStrings(dst []byte, name string, list []string) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(dst, name...)
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendJSONString(dst, s)
	}
	return append(dst, ']')
}
