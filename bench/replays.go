package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/projector/pebblestore"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/livelog"
)

// replays measures how fast a log is folded for an audit, which has a reader and a
// store of its own and no bound on how late it commits.
func replays(ctx context.Context, r *runner) (rows []Row, err error) {
	sized := *r
	sized.events = r.replayed
	l, err := sized.openReading(ctx, logShape{perMessage: 1, ids: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	all, err := turns(ctx, r.foldRounds, l.player(pebblestore.Temporary(filepath.Join(r.dir, "replay"), r.log)), l.player(inMemory), l.consume)
	if err != nil {
		return nil, err
	}
	for i, where := range []string{"a temporary store on disk", "memory"} {
		d := duel{ours: all[i], bare: all[len(all)-1]}
		row := d.row(fmt.Sprintf("replay in %s, %s", where, l.shape), "events/s")
		rows = append(rows, row.judged(ratioAtLeast(0.7)))
	}
	return rows, nil
}

func inMemory() (projector.Store, error) { return memstore.New(), nil }

// player folds the whole log with a player.
func (l *reading) player(store func() (projector.Store, error)) side {
	return func(ctx context.Context) (s slice, err error) {
		log, err := livelog.NATSLog(livelog.NATSOptions{Conn: l.served, PurgeAge: time.Hour, Log: l.r.log})
		if err != nil {
			return s, err
		}
		m := startMeter()
		p, err := replay.Open(ctx, replay.Options{Log: log, Store: store}, 0)
		if err != nil {
			return s, err
		}
		err = p.To(ctx, l.last)
		s = m.rate(l.events)
		if err == nil {
			err = l.check(p.State().Counts())
		}
		return s, errors.Join(err, p.Close())
	}
}
