package bench

import (
	"context"
	"slices"
	"time"
)

// slice is what one turn of one side gave.
type slice struct {
	value float64 // operations per second, or a latency: what the side measures
	cpu   float64 // microseconds of CPU per operation
}

// side is one of two that are measured by turns.
type side func(ctx context.Context) (slice, error)

// duel has the slices of both sides, pair by pair.
type duel struct{ ours, bare []slice }

// alternate runs both sides once unmeasured, and then in pairs by turns, every
// second pair the other way round.
func alternate(ctx context.Context, rounds int, ours, bare side) (duel, error) {
	var d duel
	for i := -1; i < rounds; i++ {
		var got [2]slice // ours, bare
		sides := [2]side{ours, bare}
		for turn := range sides {
			k := (turn + i&1) % 2
			s, err := sides[k](ctx)
			if err != nil {
				return d, err
			}
			got[k] = s
		}
		if i >= 0 {
			d.ours, d.bare = append(d.ours, got[0]), append(d.bare, got[1])
		}
	}
	return d, ctx.Err()
}

// row makes the figure: medians, and the median of the ratios, which is not the
// ratio of the medians.
func (d *duel) row(name, unit string) Row {
	ratios := make([]float64, len(d.ours))
	for i := range ratios {
		ratios[i] = d.ours[i].value / d.bare[i].value
	}
	value := func(s slice) float64 { return s.value }
	cpu := func(s slice) float64 { return s.cpu }
	return Row{
		Name: name, Unit: unit,
		Ours: median(each(d.ours, value)), Bare: median(each(d.bare, value)), Ratio: median(ratios),
		OursCPU: median(each(d.ours, cpu)), BareCPU: median(each(d.bare, cpu)),
	}
}

func each(list []slice, of func(slice) float64) []float64 {
	out := make([]float64, len(list))
	for i := range list {
		out[i] = of(list[i])
	}
	return out
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile returns the smallest value that at least the part q of all do not
// exceed, 0 of none. It sorts.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(q*float64(len(values))), len(values)-1)]
}

// meter measures the time and the CPU that operations take.
type meter struct {
	start time.Time
	cpu   time.Duration
}

func startMeter() meter { return meter{start: time.Now(), cpu: cpuTime()} }

// rate returns operations per second since the start.
func (m *meter) rate(operations int) slice {
	return slice{value: float64(operations) / time.Since(m.start).Seconds(), cpu: m.perOperation(operations)}
}

func (m *meter) perOperation(operations int) float64 {
	return (cpuTime() - m.cpu).Seconds() * 1e6 / float64(max(operations, 1))
}

func millis(d time.Duration) float64 { return d.Seconds() * 1e3 }
