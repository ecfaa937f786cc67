package fairshare

import (
	"strconv"

	"github.com/quotashare/quotashare/fairshare/guarantee"
	"github.com/quotashare/quotashare/quota"
)

// AppendMessage appends what the person behind the key is told about a blocked
// answer given at instant now. People see only this string, so it says who ran
// out of what, with the numbers, when to come back, and which decision to
// name when they ask. It appends nothing for an answer that allows.
func (f *Facts) AppendMessage(dst []byte, a *Answer, now int64, decisionID string) []byte {
	if a.Allowed() {
		return dst
	}
	dst = f.appendStart(dst, a)
	if a.Line >= 0 {
		f.judge(a.Connection, now)
		dst = f.appendNumbers(append(dst, ": "...), a)
	}
	if a.RetryMs >= 0 {
		dst = append(dst, "; try again at "...)
		dst = quota.AppendInstant(dst, now+a.RetryMs)
		dst = append(dst, ", in "...)
		dst = appendWait(dst, a.RetryMs)
	}
	dst = append(dst, " (decision "...)
	dst = append(dst, decisionID...)
	return append(dst, ')')
}

// appendStart appends the words that clients may recognise a block by.
func (f *Facts) appendStart(dst []byte, a *Answer) []byte {
	if a.Reason == Capacity && a.Scope == "" {
		return append(dst, "The quota engine has no room for another request in flight"...)
	}
	provider := f.q.Pool.Pool.Provider
	if a.Reason == Capacity {
		return f.appendPlaces(dst, a)
	}
	switch a.Reason {
	case ModelCap:
		dst = append(dst, "Model cap reached for your API key on "...)
		dst = append(dst, provider...)
		dst = append(dst, '/')
		return append(dst, f.q.Model...)
	case CapAbsolute:
		dst = append(dst, "Absolute quota cap reached for your API key on "...)
		return append(dst, provider...)
	case GlobalSaturated:
		dst = append(dst, "Provider "...)
		dst = append(dst, provider...)
		return append(dst, " quota window is saturated; no shared capacity available"...)
	}
	dst = append(dst, "Quota share limit reached for your API key on "...)
	dst = append(dst, provider...)
	if a.Reason == Suspended {
		dst = append(dst, ": the key is suspended in pool "...)
		dst = append(dst, f.q.Pool.Pool.Name...)
		dst = append(dst, " until its operator lifts that"...)
	}
	return dst
}

// appendPlaces appends that the connection has as many requests in flight as it may.
func (f *Facts) appendPlaces(dst []byte, a *Answer) []byte {
	c := &f.q.Pool.Pool.Connections[a.Connection]
	dst = append(append(dst, "Connection "...), c.ConnectionID...)
	dst = append(append(dst, " on "...), f.q.Pool.Pool.Provider...)
	dst = append(dst, " has no room for another request in flight: it takes "...)
	return append(strconv.AppendInt(dst, c.MaxConcurrent, 10), " at a time"...)
}

// appendNumbers appends "12.5 of 20 requests per 5h used by …", and how much of it
// is only held: who reads "used" looks for usage, and that part is none yet.
func (f *Facts) appendNumbers(dst []byte, a *Answer) []byte {
	l, n := &f.lines[a.Line], &f.numbers[a.Line]
	if a.Reason == GlobalSaturated && a.Scope != ScopePool {
		return f.appendReading(dst, a)
	}
	have, held, of, whose := n.c(), n.held, n.share, " used, your share"
	if n.guaranteed {
		have = n.promise.Used
	}
	switch a.Reason {
	case GlobalSaturated:
		have, held, of, whose = n.t(), n.heldTotal, n.limit, " used by all keys"
	case CapAbsolute, ModelCap:
		have, held, of, whose = n.againstC, n.heldCap, n.cap, " used, your cap"
	}
	outside := a.Reason == FairShare && !n.shared // only guarantee keeps something from those
	if outside {
		dst, held = l.appendName(append(dst, "it has no share of the "...)), 0
	} else {
		dst = append(have.Append(dst, l.unit), " of "...)
		dst = l.appendName(append(of.Append(dst, l.unit), ' '))
		dst = append(dst, whose...)
	}
	if held > 0 {
		dst = held.Append(append(dst, ", "...), l.unit)
		dst = append(dst, " of it held by requests in flight"...)
	}
	switch {
	case a.Reason != FairShare:
	case n.guaranteed:
		dst = n.appendKept(append(dst, ". "...), l.unit)
	default:
		dst = append(dst, "; the pool is in strict mode"...)
	}
	if n.estimate > 0 && (a.Reason == FairShare && n.guaranteed || have < of) {
		dst = append(dst, ", and this request needs "...)
		dst = n.estimate.Append(dst, l.unit)
	}
	return dst
}

// appendName appends "requests per 5 hours".
func (l *line) appendName(dst []byte) []byte {
	dst = append(append(dst, l.unit.String()...), " per "...)
	return append(dst, periods[l.window]...)
}

// appendKept appends for whom capacity is kept, and how much.
func (n *numbers) appendKept(dst []byte, u quota.Unit) []byte {
	words, kept := "Capacity is kept for keys that have used less: ", n.promise.Kept
	if n.promise.Outcome == guarantee.Yield {
		words, kept = "Keys that have used less go first: ", n.promise.Headroom
	}
	dst = kept.Append(append(dst, words...), u)
	return append(append(append(dst, ' '), u.String()...), " of the limit"...)
}

// appendReading appends what the provider says of a window that has no room.
func (f *Facts) appendReading(dst []byte, a *Answer) []byte {
	l, n := &f.lines[a.Line], &f.numbers[a.Line]
	dst = append(dst, "the provider reports "...)
	dst = n.used.Append(dst, quota.Percent)
	dst = append(append(dst, " percent of the "...), l.window.String()...)
	dst = append(dst, " window used"...)
	if a.Scope == ScopeModel {
		dst = append(append(dst, " for models such as "...), f.q.Model...)
	}
	return dst
}

// periods are the windows after "per".
var periods = [quota.NumWindows]string{
	quota.Hourly: "hour", quota.FiveHour: "5 hours", quota.Daily: "day", quota.Weekly: "week", quota.Monthly: "month",
}

// appendWait appends a wait in its two largest units that are not zero, for the
// eye; the instant beside it is the exact one.
func appendWait(dst []byte, ms int64) []byte {
	left := (ms + 999) / 1000
	parts := 0
	for _, u := range [...]struct {
		seconds int64
		name    string
	}{{86_400, "d"}, {3_600, "h"}, {60, "min"}, {1, "s"}} {
		n := left / u.seconds
		left %= u.seconds
		if n == 0 || parts == 2 {
			continue
		}
		if parts++; parts == 2 {
			dst = append(dst, ' ')
		}
		dst = strconv.AppendInt(dst, n, 10)
		dst = append(dst, ' ')
		dst = append(dst, u.name...)
	}
	if parts == 0 {
		dst = append(dst, "0 s"...)
	}
	return dst
}
