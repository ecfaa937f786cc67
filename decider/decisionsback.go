package decider

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Bounds of reading backwards.
const (
	firstStretch  = 16       // sequences
	mostMessages  = 1024     // of a stretch
	mostBytes     = 16 << 20 // of a stretch, about
	mostStretches = 40       // of one reading
	// stretchWithin is how long the broker has for a stretch: it sends what it has at
	// once, unless it is busy.
	stretchWithin = 10 * time.Second
	// clocksApart is by how much the time of a row and that of its message may
	// differ, beside the time for which it is tried to store it, where only a
	// stretch of time is read. Rows of clocks that are further off are not found
	// by time.
	clocksApart = 5 * time.Minute
)

// backwards reads the messages of a stream from high down to low. The broker
// reads forwards alone, so it is asked for stretches of sequences, which grow as
// long as little is found in them. A consumer for each stretch is what every
// broker has: direct reads of many messages need a setting that streams made by
// an earlier version lack, and may come from a replica that lags.
type backwards struct {
	stream    jetstream.Stream
	filter    string
	low, high uint64 // what is left: none when high is lower
	width     uint64 // of the next stretch
	most      int    // messages of it
	stretches int
}

// between sets low and high to what may have rows of that time, 0 = any.
func (b *backwards) between(ctx context.Context, from, to int64) error {
	b.width, b.most = firstStretch, mostMessages
	state := b.stream.CachedInfo().State
	b.low, b.high = max(state.FirstSeq, 1), state.LastSeq
	if from != 0 {
		seq, err := b.since(ctx, time.UnixMilli(from).Add(-clocksApart))
		if err != nil {
			return err
		}
		b.low = max(b.low, seq)
	}
	if to != 0 {
		seq, err := b.since(ctx, time.UnixMilli(to).Add(clocksApart+giveUpAfter))
		if err != nil {
			return err
		}
		b.high = min(b.high, seq-1)
	}
	return nil
}

// since returns the first sequence that is not before that time.
func (b *backwards) since(ctx context.Context, t time.Time) (uint64, error) {
	c, err := b.consumer(ctx, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &t})
	if err != nil {
		return 0, err
	}
	return c.CachedInfo().Delivered.Stream + 1, b.stream.DeleteConsumer(ctx, c.CachedInfo().Name)
}

func (b *backwards) consumer(ctx context.Context, c jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	c.AckPolicy, c.MemoryStorage, c.Replicas = jetstream.AckNonePolicy, true, 1
	c.InactiveThreshold = time.Minute // should it not be deleted
	c.FilterSubject = b.filter
	return b.stream.CreateConsumer(ctx, c)
}

// more reports whether there is more, and work left to do for it.
func (b *backwards) more() bool { return b.high >= b.low && b.stretches < mostStretches }

// next returns the messages of the next stretch, the newest first. There may be
// none, although there are more.
func (b *backwards) next(ctx context.Context) ([]jetstream.Msg, error) {
	b.stretches++
	from := b.low
	if b.high-b.low >= b.width {
		from = b.high - b.width + 1
	}
	list, whole, err := b.read(ctx, from)
	if err != nil {
		return nil, err
	}
	if !whole {
		b.width = max(firstStretch, b.width/16)
		return nil, nil
	}
	b.high = from - 1
	b.grow(list)
	slices.Reverse(list)
	return list, nil
}

// grow chooses the next stretch: four times as many messages as in this one,
// within bounds.
func (b *backwards) grow(list []jetstream.Msg) {
	if len(list) == 0 {
		b.width = min(b.width*16, 1<<40)
		return
	}
	bytes := 0
	for _, m := range list {
		bytes += len(m.Data())
	}
	b.most = min(mostMessages, max(firstStretch, mostBytes/(bytes/len(list)+1)))
	wanted := min(4*len(list), b.most)
	b.width = max(firstStretch, b.width*uint64(wanted)/uint64(len(list)))
}

// errBrokeOff is a stretch of which the broker sent less than it has.
var errBrokeOff = errors.New("the broker stopped in the middle of what it was asked for")

// read returns the messages from that sequence to high, unless there are more
// than are to be read at once: then they are not whole.
func (b *backwards) read(ctx context.Context, from uint64) (list []jetstream.Msg, whole bool, err error) {
	c, err := b.consumer(ctx, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from})
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, b.stream.DeleteConsumer(ctx, c.CachedInfo().Name)) }()
	// The client takes silence for the end, so what came is counted. All that is asked
	// for is there, so nobody waits for what is yet to come.
	left := int(min(c.CachedInfo().NumPending, uint64(b.most+1)))
	if left == 0 {
		return nil, true, nil
	}
	within, cancel := context.WithTimeout(ctx, stretchWithin)
	defer cancel()
	fetched, err := c.Fetch(left, jetstream.FetchContext(within))
	if err != nil {
		return nil, false, err
	}
	for m := range fetched.Messages() {
		at, err := m.Metadata()
		if err != nil {
			return nil, false, err
		}
		if at.Sequence.Stream <= b.high {
			list = append(list, m)
		}
		left--
	}
	if left > 0 && fetched.Error() == nil {
		return nil, false, errBrokeOff
	}
	return list, len(list) <= b.most, fetched.Error()
}
