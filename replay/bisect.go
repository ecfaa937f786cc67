package replay

import (
	"context"
	"errors"
)

// bisect finds the first snapshot that is not what the log folds to, for a live digest
// that differs although the newest snapshot was believed: what is wrong may be older
// than that one, and in it.
//
// What is bad once stays bad until all that is wrong has left its windows, so it is
// halved. Each trial begins with the newest snapshot that was found good.
func (t *taker) bisect(ctx context.Context) error {
	low, high := -1, 0 // the last that is good, and the first that is not
	for high < len(t.headers) && t.headers[high].Seq <= t.made.Began {
		high++
	}
	for high-low > 1 {
		mid := int(uint(low+high) / 2)
		p, good, believed, err := t.try(ctx, low, mid)
		if err == nil && !good {
			high = mid
			err = t.blame(ctx, p, mid)
		} else if good {
			low = mid
			if believed {
				t.believed = t.headers[mid].Seq
			}
		}
		if p != nil {
			err = errors.Join(err, p.Close())
		}
		if err != nil {
			return err
		}
	}
	t.made.Diverged.From = 1
	if low >= 0 {
		t.made.Diverged.From = t.headers[low].Seq + 1
		t.made.Diverged.Believed = t.headers[low].Seq == t.believed
	}
	return nil
}

// blame notes that a snapshot is not what the player has, which folded the log.
func (t *taker) blame(ctx context.Context, p *Player, bad int) (err error) {
	d := &Divergence{To: t.headers[bad].Seq, Of: OfSnapshot}
	t.made.Diverged = d
	d.Parts, err = t.compare(ctx, p, d.To)
	return err
}

// try folds from one snapshot, or the first message, to another, and reports whether
// that is what the log folds to. Where messages are missing nothing can be said, and
// it is believed. The player is the caller's.
func (t *taker) try(ctx context.Context, low, mid int) (p *Player, good, believed bool, err error) {
	notAfter := uint64(0)
	if low >= 0 {
		notAfter = t.headers[low].Seq
	}
	if p, err = Open(ctx, t.o.Options, notAfter); err != nil {
		return nil, false, false, err
	}
	h := &t.headers[mid]
	before := messages(p)
	if err = p.To(ctx, h.Seq); err != nil {
		return p, false, false, err
	}
	t.made.Messages += messages(p) - before
	digest, err := p.Digest()
	if good = digest == h.Digest; err == nil && !good && p.Missing().Count > 0 {
		return p, true, true, nil
	}
	return p, good, false, err
}
