package explanation

import (
	"strconv"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Append appends the explanation as a JSON object. What is unknown is null.
func (x *Explanation) Append(dst []byte) []byte {
	dst = questions.AppendQuestion(append(dst, `{"question":`...), &x.Question)
	dst = questions.AppendReply(append(dst, `,"reply":`...), wire.JSON, &x.Reply)
	if x.Recorded != nil {
		dst = x.Recorded.AppendJSON(append(dst, `,"recorded":`...))
		dst = texts(append(dst, `,"differs":`...), x.Differs)
		if x.Unproved {
			dst = append(dst, `,"unproved":true`...)
		}
	}
	dst = x.Rules.append(append(dst, `,"rules":`...))
	dst = list(append(dst, `,"signals":`...), len(x.Signals), func(dst []byte, i int) []byte { return x.Signals[i].Append(dst) })
	dst = x.Holds.append(append(dst, `,"holds":`...))
	dst = list(append(dst, `,"consumption":`...), len(x.Lines), func(dst []byte, i int) []byte { return x.Lines[i].append(dst) })
	dst = x.Replay.append(append(dst, `,"replay":`...))
	dst = texts(append(dst, `,"notes":`...), x.Notes)
	return append(dst, '}')
}

func (r *Rules) append(dst []byte) []byte {
	dst = append(dst, `{"pool":`...)
	if r.Pool != nil {
		dst = plans.AppendPoolView(dst, r.Pool, r.PoolStamp, r.Enforcing, r.Warnings)
	} else {
		dst = append(dst, "null"...)
	}
	dst = list(append(dst, `,"plans":`...), len(r.Plans), func(dst []byte, i int) []byte { return plans.AppendPlanView(dst, r.Plans[i]) })
	dst = plans.AppendSettingsView(append(dst, `,"settings":`...), &r.Settings, r.SetAt)
	return append(dst, '}')
}

func (h *Holds) append(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"open":`...), int64(h.Open), 10)
	dst = list(append(dst, `,"top":`...), len(h.Top), func(dst []byte, i int) []byte { return h.Top[i].append(dst) })
	return append(dst, '}')
}

func (h *Hold) append(dst []byte) []byte {
	dst = text(append(dst, '{'), "apiKeyId", h.APIKeyID)
	dst = text(append(dst, ','), "connectionId", h.ConnectionID)
	dst = optional(dst, "model", h.Model)
	dst = append(dst, `,"estimate":{`...)
	sep := ""
	for u, a := range h.Amounts {
		if unit := quota.Unit(u); a != 0 {
			dst = append(append(append(dst, sep...), '"'), unit.String()...)
			dst = a.Append(append(dst, `":`...), unit)
			sep = ","
		}
	}
	dst = append(dst, '}')
	return append(wire.AppendJSONInstant(append(dst, `,"endsAt":`...), h.End), '}')
}

func (l *Line) append(dst []byte) []byte {
	dst = text(append(dst, '{'), "unit", l.Unit.String())
	dst = text(append(dst, ','), "window", l.Window.String())
	dst = optional(dst, "model", l.Model)
	dst = wire.AppendJSONInstant(append(dst, `,"from":`...), l.From)
	if l.HasConsumed {
		dst = l.Consumed.Append(append(dst, `,"consumed":`...), l.Unit)
	} else {
		dst = append(dst, `,"consumed":null`...)
	}
	dst = l.Found.Append(append(dst, `,"found":`...), l.Unit)
	dst = strconv.AppendInt(append(dst, `,"events":`...), int64(l.Events), 10)
	dst = list(append(dst, `,"top":`...), len(l.Top), func(dst []byte, i int) []byte { return l.Top[i].append(dst, l.Unit) })
	dst = list(append(dst, `,"keys":`...), len(l.Keys), func(dst []byte, i int) []byte {
		dst = text(append(dst, '{'), "apiKeyId", l.Keys[i].APIKeyID)
		return append(l.Keys[i].Consumed.Append(append(dst, `,"consumed":`...), l.Unit), '}')
	})
	return append(dst, '}')
}

func (e *Event) append(dst []byte, u quota.Unit) []byte {
	dst = strconv.AppendUint(append(dst, `{"seq":`...), e.Seq, 10)
	dst = strconv.AppendInt(append(dst, `,"index":`...), int64(e.Index), 10)
	dst = optional(dst, "id", e.ID)
	if e.Adjustment {
		dst = append(dst, `,"type":"quota.adjustment"`...)
		dst = optional(dst, "reason", e.Reason)
	} else {
		dst = append(dst, `,"type":"quota.consumption"`...)
	}
	dst = wire.AppendJSONInstant(append(dst, `,"time":`...), e.Time)
	dst = text(append(dst, ','), "apiKeyId", e.APIKeyID)
	dst = text(append(dst, ','), "connectionId", e.ConnectionID)
	dst = optional(dst, "model", e.Model)
	dst = optional(dst, "requestId", e.RequestID)
	dst = e.Cost.Append(append(dst, `,"cost":`...), u)
	if e.HasSplit {
		dst = text(append(dst, `,"splitBy":{`...), "unit", e.SplitBy.String())
		dst = append(e.Split.Append(append(dst, `,"cost":`...), e.SplitBy), '}')
	}
	return append(e.Weight.Append(append(dst, `,"weight":`...), u), '}')
}

func (r *Replay) append(dst []byte) []byte {
	dst = append(dst, `{"snapshot":`...)
	if r.Snapshot != 0 {
		dst = strconv.AppendUint(dst, r.Snapshot, 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = strconv.AppendUint(append(dst, `,"seq":`...), r.Seq, 10)
	dst = strconv.AppendUint(append(dst, `,"missing":`...), r.Missing, 10)
	if r.Missing > 0 {
		dst = strconv.AppendUint(append(dst, `,"missingFrom":`...), r.MissingFrom, 10)
		dst = strconv.AppendUint(append(dst, `,"missingTo":`...), r.MissingTo, 10)
	}
	return append(dst, '}')
}

// list appends an array of n items.
func list(dst []byte, n int, item func(dst []byte, i int) []byte) []byte {
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item(dst, i)
	}
	return append(dst, ']')
}

func texts(dst []byte, all []string) []byte {
	return list(dst, len(all), func(dst []byte, i int) []byte { return wire.AppendJSONString(dst, all[i]) })
}

func text(dst []byte, name, s string) []byte {
	return wire.AppendJSONString(append(append(append(dst, '"'), name...), `":`...), s)
}

// optional appends a field that follows others, nothing when it is empty.
func optional(dst []byte, name, s string) []byte {
	if s == "" {
		return dst
	}
	return text(append(dst, ','), name, s)
}
