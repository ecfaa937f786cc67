package bench

import (
	"context"
	"slices"
	"time"
)

// slice is what one turn of one side gave.
type slice struct {
	value    float64 // operations per second
	cpu      float64 // microseconds of CPU per operation
	p50, p99 float64 // milliseconds that one takes; 0 = not timed
}

// timed returns the slice with the quantiles of these milliseconds.
func (s slice) timed(took []float64) slice {
	s.p50, s.p99 = quantile(took, 0.5), quantile(took, 0.99)
	return s
}

// side is one of two that are measured by turns.
type side func(ctx context.Context) (slice, error)

// duel has the slices of both sides, pair by pair.
type duel struct{ ours, bare []slice }

// alternate runs both sides by turns.
func alternate(ctx context.Context, rounds int, ours, bare side) (duel, error) {
	all, err := turns(ctx, rounds, ours, bare)
	return duel{ours: all[0], bare: all[1]}, err
}

// turns runs each side once unmeasured, and then all by turns, every second round
// the other way round. It returns the slices of each.
func turns(ctx context.Context, rounds int, sides ...side) ([][]slice, error) {
	all := make([][]slice, len(sides))
	for i := -1; i < rounds; i++ {
		for turn := range sides {
			k := turn
			if i&1 == 1 {
				k = len(sides) - 1 - turn
			}
			s, err := sides[k](ctx)
			if err != nil {
				return all, err
			}
			if i >= 0 {
				all[k] = append(all[k], s)
			}
		}
	}
	return all, ctx.Err()
}

// row makes the figure of the operations, and their CPU.
func (d *duel) row(name, unit string) Row {
	row := d.of(name, unit, func(s slice) float64 { return s.value })
	cpu := func(s slice) float64 { return s.cpu }
	row.OursCPU, row.BareCPU = median(each(d.ours, cpu)), median(each(d.bare, cpu))
	return row
}

// p50 and p99 make the figures of the time that one takes.
func (d *duel) p50(name string) Row {
	return d.of(name+", p50", "ms", func(s slice) float64 { return s.p50 })
}

func (d *duel) p99(name string) Row {
	return d.of(name+", p99", "ms", func(s slice) float64 { return s.p99 })
}

// of makes a figure: medians, and the median of the ratios, which is not the ratio
// of the medians.
func (d *duel) of(name, unit string, value func(slice) float64) Row {
	ours, bare := each(d.ours, value), each(d.bare, value)
	ratios := make([]float64, len(ours))
	for i := range ratios {
		ratios[i] = ours[i] / bare[i]
	}
	return Row{Name: name, Unit: unit, Ours: median(ours), Bare: median(bare), Ratio: median(ratios)}
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
