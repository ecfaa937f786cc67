package fairshare

import (
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/windows"
)

// ConnectionUse is what one connection of the pool has of a dimension.
type ConnectionUse struct {
	Limit        quota.Amount // what it gives to the pool's limit, 0 = unknown
	Consumed     quota.Amount // over all keys, in a percent dimension as the provider says
	ProviderUsed quota.Amount // unit percent, of the reading without a scope
	HasProvider  bool
	ResetAt      int64 // of that reading, epoch ms; 0 = unknown
	Observed     int64 // of that reading, epoch ms; 0 = there is none
}

// Connections appends what each connection, in pool order, has at instant now of
// the i-th dimension that Explain shows. Their sums are its Limit and
// ConsumedTotal.
func (f *Facts) Connections(i int, now int64, dst []ConnectionUse) []ConnectionUse {
	l := &f.lines[i] // dimensions come first
	bucket, elapsed := windows.Bucket(now, l.window.Millis())
	for conn := range f.conns {
		total, level := f.total(l, i*f.conns+conn, bucket, elapsed, now)
		use := ConnectionUse{Limit: l.perConns[conn], Consumed: total}
		if level.Until != 0 {
			use.ProviderUsed, use.HasProvider = level.Used, true
			use.ResetAt, use.Observed = level.ResetAt, level.Observed
		}
		dst = append(dst, use)
	}
	return dst
}
