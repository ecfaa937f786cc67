package usage

import (
	"strconv"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Query asks for the history of a pool. A field that is 0 or "" is absent.
type Query struct {
	PoolID string
	From   int64 // epoch ms
	To     int64 // epoch ms, exclusive
	StepMs int64 // length of a row
	// Key asks for one key alone: its id, or quota.AllOthers for all that have
	// no allocation of their own.
	Key string
}

const (
	maxRows     = 2000
	chosenRows  = 360 // at most, when the step is ours to choose
	defaultSpan = 24 * 60 * MinuteMs
)

// steps are the lengths that are chosen from.
var steps = [...]int64{MinuteMs, 5 * MinuteMs, 15 * MinuteMs, 60 * MinuteMs, 6 * 60 * MinuteMs, 24 * 60 * MinuteMs}

// Normalize fills in what is absent and widens From and To to whole steps, which
// are counted from 1970 so that a chart asked for a minute later has the same
// rows. now is epoch ms. An error is a wire.Faults and names the field; then the
// query is not usable.
func (q *Query) Normalize(now int64) error {
	if q.To == 0 {
		q.To = now
	}
	if q.From == 0 {
		q.From = q.To - defaultSpan
	}
	var faults wire.Faults
	if q.From >= q.To {
		faults.Add("from", "is not before to: ask for a time that ends after it begins")
	}
	if q.StepMs < 0 || q.StepMs%MinuteMs != 0 {
		faults.Add("step", "is "+strconv.FormatInt(q.StepMs, 10)+": use whole minutes in milliseconds, such as 60000")
	}
	if len(faults) > 0 {
		return faults
	}
	if q.StepMs == 0 {
		q.chooseStep()
	}
	// The end of a step in the year 10000 has no form. Asked like this instead of
	// by ceilTo, no step is so long that the sum passes int64.
	if last := floorTo(quota.MaxInstant, q.StepMs); q.To > last {
		faults.Add("to", "is after "+quota.FormatInstant(last)+", where the last step ends: use an earlier time or a smaller step")
		return faults
	}
	if n := q.rows(); n > maxRows {
		faults.Add("step", "gives "+strconv.FormatInt(n, 10)+" rows, more than "+strconv.Itoa(maxRows)+": use a larger step or a shorter time")
		return faults
	}
	q.From, q.To = floorTo(q.From, q.StepMs), ceilTo(q.To, q.StepMs)
	return nil
}

// chooseStep takes the smallest step that gives few enough rows, else the
// largest there is.
func (q *Query) chooseStep() {
	for _, q.StepMs = range steps {
		if q.rows() <= chosenRows {
			return
		}
	}
}

// rows is how many steps the time touches.
func (q *Query) rows() int64 {
	return (ceilTo(q.To, q.StepMs) - floorTo(q.From, q.StepMs)) / q.StepMs
}

func floorTo(t, step int64) int64 { return t - t%step }

func ceilTo(t, step int64) int64 { return floorTo(t+step-1, step) }

// History is what a pool used by time.
type History struct {
	PoolID   string
	From, To int64 // epoch ms, of whole steps
	StepMs   int64
	Rows     []Row // one for every step, empty ones too
}

// Row is what was used in one step.
type Row struct {
	Time     int64 // its first instant, epoch ms
	Total    quota.Amounts
	Adjusted quota.Amounts // by corrections, signed; not in the others
	PerKey   []KeyAmounts  // keys with an allocation of their own that used something, in pool order
	Unlisted quota.Amounts // keys without one
}

// KeyAmounts is what one key used.
type KeyAmounts struct {
	APIKeyID string
	Amounts  quota.Amounts
}

// NewHistory returns the history with all its rows, empty, that a normalized
// query asks for.
func NewHistory(q *Query) *History {
	h := &History{PoolID: q.PoolID, From: q.From, To: q.To, StepMs: q.StepMs, Rows: make([]Row, q.rows())}
	for i := range h.Rows {
		h.Rows[i].Time = h.From + int64(i)*h.StepMs
	}
	return h
}

// Row returns the row that the instant lies in, nil when it lies in none.
func (h *History) Row(t int64) *Row {
	if t < h.From || t >= h.To {
		return nil
	}
	return &h.Rows[(t-h.From)/h.StepMs]
}

// Append appends the history as a JSON object.
func (h *History) Append(dst []byte) []byte {
	w := writer{wire.NewWriter(dst, wire.JSON)}
	w.Object()
	w.text("poolId", h.PoolID)
	w.instant("from", h.From)
	w.instant("to", h.To)
	w.int("stepMs", h.StepMs, true)
	w.Name("rows")
	w.Array()
	for i := range h.Rows {
		w.historyRow(&h.Rows[i])
	}
	w.End()
	w.End()
	return w.Bytes()
}

func (w *writer) historyRow(r *Row) {
	w.Object()
	w.instant("time", r.Time)
	w.amounts("total", r.Total)
	if r.Adjusted != (quota.Amounts{}) {
		w.adjusted(r.Adjusted)
	}
	w.Name("perKey")
	w.Array()
	for i := range r.PerKey {
		w.Object()
		w.text("apiKeyId", r.PerKey[i].APIKeyID)
		w.units(r.PerKey[i].Amounts)
		w.End()
	}
	w.End()
	w.amounts("unlisted", r.Unlisted)
	w.End()
}

func (w *writer) amounts(name string, a quota.Amounts) {
	w.Name(name)
	w.Object()
	w.units(a)
	w.End()
}

func (w *writer) units(a quota.Amounts) {
	for u := range quota.Unit(quota.NumUnits) {
		w.amount(u.String(), a[u], u, true)
	}
}

// adjusted writes the units that were corrected: most never are.
func (w *writer) adjusted(a quota.Amounts) {
	w.Name("adjusted")
	w.Object()
	for u := range quota.Unit(quota.NumUnits) {
		if a[u] != 0 {
			w.amount(u.String(), a[u], u, true)
		}
	}
	w.End()
}
