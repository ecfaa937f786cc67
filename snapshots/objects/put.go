package objects

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"hash"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// pieceSize is what the library takes too. A broker that takes less at once is
// followed, with room for what it counts besides.
const pieceSize = 128 << 10

// Put stores a snapshot of a directory under its own name. One that is there to its
// last piece stays, one that lacks some is replaced. The file is checked while it is
// read, and gets its name in the bucket only if it was good.
//
// Of what it stores it does not say when: the broker knows, and List asks it.
func (s *Store) Put(ctx context.Context, from *snapdir.Dir, seq uint64) (Object, error) {
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	stream, err := s.open(ctx)
	if err != nil {
		return Object{}, err
	}
	all, err := s.entries(ctx)
	if err != nil {
		return Object{}, err
	}
	for _, e := range all {
		if e.Header.Seq == seq {
			return e.Object, nil
		}
	}
	up := &upload{ctx: ctx, s: s, id: rand.Text(), sum: sha256.New(), piece: make([]byte, 0, s.pieceSize())}
	o, err := up.store(from, seq)
	if err != nil {
		err = errors.Join(err, s.purge(context.WithoutCancel(ctx), stream, piecesOf(up.id)))
	}
	return o, wrap("store "+snapdir.Name(seq), err)
}

func (s *Store) pieceSize() int { return min(pieceSize, int(s.o.Conn.MaxPayload())/2) }

// purge removes what a subject has.
func (s *Store) purge(ctx context.Context, stream jetstream.Stream, subject string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
}

// upload is an object that is being stored.
type upload struct {
	ctx    context.Context // of this one call of Put
	s      *Store
	id     string
	sum    hash.Hash // of all bytes
	size   uint64
	pieces uint32
	piece  []byte // the one that is being filled
}

func (u *upload) store(from *snapdir.Dir, seq uint64) (Object, error) {
	h, _, err := from.Send(seq, u)
	if err == nil && len(u.piece) > 0 {
		err = u.flush()
	}
	if err != nil {
		return Object{}, err
	}
	return u.name(h)
}

// Write fills pieces and sends those that are full.
func (u *upload) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		n := copy(u.piece[len(u.piece):cap(u.piece)], p[done:])
		u.piece = u.piece[:len(u.piece)+n]
		done += n
		if len(u.piece) == cap(u.piece) {
			if err := u.flush(); err != nil {
				return done, err
			}
		}
	}
	return len(p), nil
}

// flush sends a piece and waits until the broker has it. One at a time: it is the
// same broker that takes the usage, and an upload is in no hurry.
func (u *upload) flush() error {
	u.s.o.Step("piece")
	if _, err := u.s.publish(u.ctx, &nats.Msg{Subject: piecesOf(u.id), Data: u.piece}); err != nil {
		return err
	}
	u.sum.Write(u.piece)
	u.size += uint64(len(u.piece))
	u.pieces++
	u.piece = u.piece[:0]
	return nil
}

// name makes an object of the pieces. The roll-up takes away what the name stood
// for before, in the same step.
func (u *upload) name(h snapshots.Header) (Object, error) {
	u.s.o.Step("name")
	data, err := json.Marshal(jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{
			Name: snapdir.Name(h.Seq), Metadata: described(h), Opts: &jetstream.ObjectMetaOptions{ChunkSize: uint32(cap(u.piece))},
		},
		Bucket: Bucket, NUID: u.id, Size: u.size, Chunks: u.pieces, Digest: jetstream.GetObjectDigestValue(u.sum),
	})
	if err != nil {
		return Object{}, err
	}
	ack, err := u.s.publish(u.ctx, &nats.Msg{
		Subject: subjectOf(h.Seq), Data: data, Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}},
	})
	if err != nil {
		return Object{}, err
	}
	return Object{Header: h, Size: u.size, Order: ack.Sequence}, nil
}

func (s *Store) publish(ctx context.Context, m *nats.Msg) (*jetstream.PubAck, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return s.js.PublishMsg(ctx, m, jetstream.WithExpectStream(Stream))
}
