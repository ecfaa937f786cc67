package objects

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// damage changes a file of the directory.
func (b *bench) damage(seq uint64, change func([]byte) []byte) {
	b.t.Helper()
	b.must(os.WriteFile(filepath.Join(b.fromPath, snapdir.Name(seq)), change(b.file(seq)), 0o600))
}

// rename publishes what a name stands for with a change.
func (b *bench) rename(seq uint64, change func(*jetstream.ObjectInfo)) {
	b.t.Helper()
	m, err := b.stream().GetLastMsgForSubject(b.ctx(), subjectOf(seq))
	b.must(err)
	var info jetstream.ObjectInfo
	b.must(json.Unmarshal(m.Data, &info))
	change(&info)
	data, err := json.Marshal(info)
	b.must(err)
	_, err = b.js.Publish(b.ctx(), subjectOf(seq), data)
	b.must(err)
}

// dropPiece deletes the n-th piece of an object.
func (b *bench) dropPiece(seq uint64, n int) {
	b.t.Helper()
	m, err := b.stream().GetLastMsgForSubject(b.ctx(), subjectOf(seq))
	b.must(err)
	first := m.Sequence
	for first > 1 {
		before, err := b.stream().GetMsg(b.ctx(), first-1)
		if err != nil || !strings.HasPrefix(before.Subject, piecesOf(idOf(m))) {
			break
		}
		first--
	}
	b.must(b.stream().DeleteMsg(b.ctx(), first+uint64(n)))
}

const damagedSize = 3 * pieceSize

// unfit are objects of sequence 2 that have all their pieces and are of no use.
var unfit = map[string]func(*bench){
	"a flipped bit in the file": func(b *bench) {
		data := b.file(2)
		data[len(data)/2] ^= 4
		b.putByHand(headerOf(2), data)
	},
	"a truncated file": func(b *bench) { b.putByHand(headerOf(2), b.file(2)[:damagedSize/2]) },
	"an empty file":    func(b *bench) { b.putByHand(headerOf(2), nil) },
	"more than a file": func(b *bench) { b.putByHand(headerOf(2), append(b.file(2), 0)) },
	"another snapshot": func(b *bench) { b.putByHand(headerOf(2), b.file(1)) },
	"described as another": func(b *bench) {
		h := headerOf(2)
		h.Digest[5]++
		b.putByHand(h, b.file(2))
	},
	"a piece that was changed": func(b *bench) {
		b.putByHand(headerOf(2), b.file(2))
		b.rename(2, func(o *jetstream.ObjectInfo) { o.Digest = "SHA-256=" + strings.Repeat("A", 43) + "=" })
	},
	"longer than it says": func(b *bench) {
		b.putByHand(headerOf(2), b.file(2))
		b.rename(2, func(o *jetstream.ObjectInfo) { o.Size-- })
	},
	"shorter than it says": func(b *bench) {
		b.putByHand(headerOf(2), b.file(2))
		b.rename(2, func(o *jetstream.ObjectInfo) { o.Size++ })
	},
	"beyond any snapshot": func(b *bench) {
		b.putByHand(headerOf(2), b.file(2))
		b.rename(2, func(o *jetstream.ObjectInfo) { o.Size = 1 << 50 })
	},
}

// incomplete are names that stand for no object, so that no list shows them.
var incomplete = map[string]func(*bench){
	"the first piece lost": func(b *bench) { b.putByHand(headerOf(2), b.file(2)); b.dropPiece(2, 0) },
	"the last piece lost":  func(b *bench) { b.putByHand(headerOf(2), b.file(2)); b.dropPiece(2, 3) },
	"all pieces lost": func(b *bench) {
		b.putByHand(headerOf(2), b.file(2))
		b.rename(2, func(o *jetstream.ObjectInfo) {
			b.must(b.stream().Purge(b.ctx(), jetstream.WithPurgeSubject(piecesOf(o.NUID))))
		})
	},
	"a piece too many": func(b *bench) {
		b.putByHand(headerOf(2), b.file(2))
		b.rename(2, func(o *jetstream.ObjectInfo) {
			_, err := b.js.Publish(b.ctx(), piecesOf(o.NUID), []byte("x"))
			b.must(err)
		})
	},
	"a name that is no object's": func(b *bench) {
		_, err := b.js.Publish(b.ctx(), subjectOf(2), []byte("{"))
		b.must(err)
	},
	"nothing is said of it": func(b *bench) {
		b.putByHand(headerOf(2), b.file(2))
		b.rename(2, func(o *jetstream.ObjectInfo) { o.Metadata = nil })
	},
	"under a name of its own": func(b *bench) {
		b.putByHand(headerOf(2), b.file(2))
		b.rename(2, func(o *jetstream.ObjectInfo) { o.Metadata = described(headerOf(3)) })
	},
	"deleted by the library": func(b *bench) {
		b.putByHand(headerOf(2), b.file(2))
		b.must(b.objects().Delete(b.ctx(), snapdir.Name(2)))
	},
	"a subject that is a pattern": func(b *bench) {
		b.putByHand(headerOf(2), b.file(2))
		b.rename(2, func(o *jetstream.ObjectInfo) { o.NUID = "*" })
	},
}

// Each is a newest object that is of no use; an older one takes its place, and it is
// told of once if it was ever listed.
func TestDamagedObjects(t *testing.T) {
	url := brokertest.Start(t).URL()
	for name, hand := range unfit {
		t.Run(name, func(t *testing.T) { newBench(t, url).mustPassOver(hand, true) })
	}
	for name, hand := range incomplete {
		t.Run(name, func(t *testing.T) { newBench(t, url).mustPassOver(hand, false) })
	}
}

// mustPassOver has the newest object damaged by hand, whether or not it is listed.
func (b *bench) mustPassOver(hand func(*bench), listed bool) {
	b.t.Helper()
	b.put(1, damagedSize)
	b.save(2, damagedSize)
	hand(b)
	for range 2 {
		h, err := b.Newest(b.ctx(), b.into, anyOne)
		b.must(err)
		if h != headerOf(1) {
			b.t.Errorf("found %+v, want the older one", h)
		}
	}
	want := 0
	if listed {
		want = 1
	}
	if got := b.saidTimes(2); got != want {
		b.t.Errorf("said %d times, want %d: %s", got, want, b.said.String())
	}
	list, err := b.into.List()
	b.must(err)
	if !slices.Equal(list, []uint64{1}) {
		b.t.Errorf("the directory has %d", list)
	}
	if got := b.listed(); !listed && !slices.Equal(got, []uint64{1}) {
		b.t.Errorf("listed %d", got)
	}
	_, err = b.Fetch(b.ctx(), 2, b.into)
	if listed && !damaged(err) || !listed && !errors.Is(err, ErrNone) {
		b.t.Errorf("fetch: %v", err)
	}
	// It is in nobody's way: the same is stored again, or removed.
	if !listed {
		b.put(2, damagedSize)
		_, err := b.Fetch(b.ctx(), 2, b.into)
		b.must(err)
	}
	b.must(b.js.DeleteStream(b.ctx(), Stream))
}

// A small snapshot, cut at every byte and with a bit flipped in every byte: none is
// taken for a good one.
func TestEveryByteCounts(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	b.put(1, 10)
	b.save(2, 20)
	whole := b.file(2)
	for at := range whole {
		flipped := slices.Clone(whole)
		flipped[at] ^= 1 << (at % 8)
		for what, data := range map[string][]byte{"cut": whole[:at], "flipped": flipped} {
			b.putByHand(headerOf(2), data)
			if _, err := b.Fetch(b.ctx(), 2, b.into); !damaged(err) {
				t.Fatalf("%s at byte %d: %v", what, at, err)
			}
		}
	}
	b.putByHand(headerOf(2), whole)
	_, err := b.Fetch(b.ctx(), 2, b.into)
	b.must(err)
}

// With none left it says what was wrong with each.
func TestAllDamaged(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	b.save(1, 10)
	b.putByHand(headerOf(1), b.file(1)[:20])
	b.putByHand(headerOf(2), b.file(1))
	_, err := b.Newest(b.ctx(), b.into, anyOne)
	if !errors.Is(err, ErrNone) || !errors.Is(err, snapshots.ErrDamaged) {
		t.Fatalf("newest: %v", err)
	}
	for _, seq := range []uint64{1, 2} {
		if !strings.Contains(err.Error(), snapdir.Name(seq)) {
			t.Errorf("the error does not name %s: %v", snapdir.Name(seq), err)
		}
	}
}

// No more is read than an object says it has, and nothing of one that says it has
// more than any snapshot.
func TestNoMoreIsReadThanIsSaid(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	b.put(1, 3*pieceSize)
	for _, c := range []struct {
		size uint64
		said string
	}{{10, "longer than its 10 bytes"}, {maxBytes + 1, "more than a snapshot has"}} {
		b.rename(1, func(o *jetstream.ObjectInfo) { o.Size = c.size })
		if _, err := b.Fetch(b.ctx(), 1, b.into); !damaged(err) || !strings.Contains(err.Error(), c.said) {
			t.Errorf("size %d: %v, want %s", c.size, err, c.said)
		}
	}
}

// A directory that cannot be written to is not the object's fault: an older one
// would fare no better, and the caller is told.
func TestADirectoryThatTakesNothing(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	b.put(1, 10)
	b.put(2, 10)
	into := snapdir.New(snapdir.Options{Dir: filepath.Join(b.fromPath, snapdir.Name(1), "below-a-file")})
	if _, err := b.Newest(b.ctx(), into, anyOne); err == nil || errors.Is(err, ErrNone) || b.said.Len() != 0 {
		t.Errorf("newest: %v, and it said %s", err, b.said.String())
	}
}

// What is damaged in the directory is fetched again.
func TestADamagedFileIsReplaced(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	b.put(1, 1000)
	b.damage(1, func(data []byte) []byte { data[len(data)-1]++; return data })
	_, err := b.Newest(b.ctx(), b.from, anyOne)
	b.must(err)
	s, err := b.from.Newest(anyOne)
	b.must(err)
	b.must(s.Close())
}
