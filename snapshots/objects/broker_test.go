package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

func TestMain(m *testing.M) {
	if os.Getenv(childURL) != "" {
		workUntilKilled()
	}
	goleak.VerifyTestMain(m, brokertest.LostChannel)
}

// smallBroker is one that is allowed little.
func smallBroker(t *testing.T, store int64, payload int32) string {
	t.Helper()
	return brokertest.Foreign(t, &server.Options{JetStreamMaxStore: store, MaxPayload: payload})
}

// bench is what a test works with: a bucket, and two directories, one to store
// from and one to fetch into.
type bench struct {
	*Store
	t          *testing.T
	from, into *snapdir.Dir
	fromPath   string
	said       bytes.Buffer
}

func newBench(t *testing.T, url string) *bench {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b := &bench{t: t, fromPath: filepath.Join(t.TempDir(), "from")}
	b.from = snapdir.New(snapdir.Options{Dir: b.fromPath})
	b.into = snapdir.New(snapdir.Options{Dir: filepath.Join(t.TempDir(), "into")})
	b.Store, err = New(Options{Conn: conn, Log: slog.New(slog.NewTextHandler(&b.said, nil))})
	b.must(err)
	return b
}

func (b *bench) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	b.t.Cleanup(cancel)
	return ctx
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// save writes a snapshot of about so many bytes, which do not pack.
func (b *bench) save(seq uint64, size int) snapshots.Header {
	b.t.Helper()
	h := headerOf(seq)
	_, err := b.from.Save(h, func(add func(key, value []byte) error) error {
		random := rand.New(rand.NewPCG(seq, 1))
		for i := 0; size > 0; i++ {
			value := make([]byte, min(size, 1000))
			for j := range value {
				value[j] = byte(random.Uint32())
			}
			if err := add(fmt.Appendf(nil, "%08d", i), value); err != nil {
				return err
			}
			size -= len(value)
		}
		return nil
	})
	b.must(err)
	return h
}

func headerOf(seq uint64) snapshots.Header {
	h := snapshots.Header{Rules: 7, Seq: seq, Time: int64(seq) * 1000, LogTime: int64(seq)*1000 - 3}
	h.Hash[0], h.Digest[31] = byte(seq), byte(seq>>8)+1
	return h
}

// put stores what save wrote.
func (b *bench) put(seq uint64, size int) snapshots.Header {
	b.t.Helper()
	h := b.save(seq, size)
	o, err := b.Put(b.ctx(), b.from, seq)
	b.must(err)
	if o.Header != h {
		b.t.Errorf("stored as %+v, want %+v", o.Header, h)
	}
	return h
}

// file returns the bytes of a snapshot that save wrote.
func (b *bench) file(seq uint64) []byte {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.fromPath, snapdir.Name(seq)))
	b.must(err)
	return data
}

// listed returns the sequences of the list.
func (b *bench) listed() []uint64 {
	b.t.Helper()
	list, err := b.List(b.ctx())
	b.must(err)
	seqs := []uint64{}
	for _, o := range list {
		seqs = append(seqs, o.Header.Seq)
	}
	return seqs
}

// objects is the bucket as the library has it.
func (b *bench) objects() jetstream.ObjectStore {
	b.t.Helper()
	store, err := b.js.ObjectStore(b.ctx(), Bucket)
	b.must(err)
	return store
}

func (b *bench) stream() jetstream.Stream {
	b.t.Helper()
	stream, err := b.js.Stream(b.ctx(), Stream)
	b.must(err)
	return stream
}

// messages returns how many the bucket's stream has.
func (b *bench) messages() uint64 {
	b.t.Helper()
	info, err := b.stream().Info(b.ctx())
	b.must(err)
	return info.State.Msgs
}

// putByHand stores bytes as the object of a snapshot, as the library does it, so that
// everything about the object is right but what the file says.
func (b *bench) putByHand(h snapshots.Header, data []byte) {
	b.t.Helper()
	if _, err := b.js.ObjectStore(b.ctx(), Bucket); errors.Is(err, jetstream.ErrBucketNotFound) {
		_, err = b.open(b.ctx())
		b.must(err)
	}
	_, err := b.objects().Put(b.ctx(), jetstream.ObjectMeta{Name: snapdir.Name(h.Seq), Metadata: described(h)}, bytes.NewReader(data))
	b.must(err)
}

func anyOne(snapshots.Header) bool { return true }

// saidTimes counts the lines of the log about an object.
func (b *bench) saidTimes(seq uint64) int {
	return strings.Count(b.said.String(), "object="+snapdir.Name(seq))
}
