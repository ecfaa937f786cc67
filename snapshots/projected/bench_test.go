package projected_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/pebblestore"
	"github.com/quotashare/quotashare/snapshots/projected"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// BenchmarkMillionPairs is a state of a million pairs of connection and key, from
// events with and without ids: how large its snapshot is, how long it takes, and how
// long a program takes that begins from it. Ids are remembered for seven days, each in
// 32 bytes that nothing packs, so with ids the events decide the size.
func BenchmarkMillionPairs(b *testing.B) {
	b.Run("ids", func(b *testing.B) { benchPairs(b, true) })
	b.Run("no ids", func(b *testing.B) { benchPairs(b, false) })
}

const (
	benchConnections = 1000
	benchKeys        = 1000
)

func benchPairs(b *testing.B, ids bool) {
	store := openDisk(b, b.TempDir())
	defer closed(b, store)
	fillPairs(b, store, ids)
	sets := 0
	must(b, store.Scan([]byte("c"), []byte("d"), func(_, _ []byte) error { sets++; return nil }))
	dir := snapdir.New(snapdir.Options{Dir: filepath.Join(b.TempDir(), "snapshots")})
	var took, restored, loaded, checked time.Duration
	var size int64
	for b.Loop() {
		began := time.Now()
		_, sum, err := projected.Save(b.Context(), dir, store)
		must(b, err)
		took += time.Since(began)
		size = sum.Bytes

		began = time.Now()
		s, err := dir.Newest(projected.Fits)
		must(b, err)
		again := openDisk(b, b.TempDir())
		must(b, projected.Restore(b.Context(), again, s))
		restored += time.Since(began)
		began = time.Now()
		state, err := projector.Load(again)
		must(b, err)
		loaded += time.Since(began)
		began = time.Now()
		_, err = state.Digest()
		must(b, err)
		checked += time.Since(began)
		must(b, s.Close())
		closed(b, again)
	}
	b.ReportMetric(float64(size)/float64(sets), "B/set")
	b.ReportMetric(float64(sets), "sets")
	for name, d := range map[string]time.Duration{"save": took, "restore": restored, "load": loaded, "digest": checked} {
		b.ReportMetric(d.Seconds()/float64(b.N), "s/"+name)
	}
}

func openDisk(b *testing.B, dir string) *pebblestore.Store {
	b.Helper()
	s, err := pebblestore.Open(pebblestore.Options{Dir: filepath.Join(dir, "state")})
	must(b, err)
	return s
}

func closed(b *testing.B, s *pebblestore.Store) {
	b.Helper()
	must(b, s.Close())
}

// fillPairs folds one event for each pair, of all three units that cost has.
func fillPairs(b *testing.B, store projector.Store, ids bool) {
	b.Helper()
	s := projector.NewState(store)
	rng := rand.New(rand.NewPCG(1, 2))
	var r projector.Run
	for c := range benchConnections {
		var body strings.Builder
		for k := range benchKeys {
			id := ""
			if ids {
				id = fmt.Sprintf(`"id":"event-%d-%d",`, c, k)
			}
			fmt.Fprintf(&body, `,{%s"apiKeyId":"key-%d","connectionId":"connection-%d","cost":{"tokens":%d,"usd":"0.%06d","requests":1}}`, id, k, c, rng.IntN(1_000_000), rng.IntN(1_000_000))
		}
		r.Reset()
		r.Add(events.Message{Subject: "quota.consumption", Seq: uint64(c + 1), Time: start + int64(c)*500, Data: []byte("[" + body.String()[1:] + "]")})
		must(b, s.Apply(&r))
		batch := store.NewBatch()
		must(b, s.Cut(batch))
		must(b, store.Commit(batch))
		s.Committed()
	}
}
