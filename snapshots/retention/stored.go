package retention

// Stored returns the places of the snapshots in the broker that are to go; list has them in
// the order in which they were stored, the latest first. Those stored last stay, and of
// those before them what stays on a disk: the oldest of each stretch, back to the first
// that is older than a purge. So who has those of the broker alone can begin before what
// the log has forgotten.
//
// What was stored before another and is not of an earlier message, or is of a later log
// time, is of a log that was replaced, or of a clock that was wrong, and goes: it would hold
// back the purge for as long as it takes to become old.
func Stored(s Settings, list []Snapshot) (gone []int) {
	newest := max(s.Newest, 1)
	if len(list) <= newest {
		return nil
	}
	low := list[0]
	for _, n := range list[:newest] {
		low = lower(low, n)
	}
	cutoff := list[0].LogTime - s.Purge
	stays := -1 // the last one that does so far
	for i := newest; i < len(list); i++ {
		n := list[i]
		switch {
		case n.Seq >= low.Seq || n.LogTime > low.LogTime || stays >= 0 && low.LogTime <= cutoff:
			gone = append(gone, i)
			continue
		case stays >= 0 && stretch(list[stays], &s) == stretch(n, &s):
			gone = append(gone, stays)
		}
		stays, low = i, lower(low, n)
	}
	return gone
}

func lower(a, b Snapshot) Snapshot {
	return Snapshot{Seq: min(a.Seq, b.Seq), LogTime: min(a.LogTime, b.LogTime)}
}
