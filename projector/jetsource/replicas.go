package jetsource

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/projector"
)

// replicas is what is known of a log that has copies.
//
// Its consumer reads on any one of the servers that have a copy, and the broker chooses
// which. One that lags delivers what it has, and says that nothing is pending; one that
// is cut off from the others goes on to say so. So what a consumer says of the end of the
// log counts only as far as the leader says the same: at the begin, and again whenever
// nothing has come for a while. Only the leader is asked for single messages: the streams
// allow no direct get.
//
// A consumer with as many copies as the log would follow the leader no better, and cost a
// round of agreement for what it delivers.
type replicas struct {
	replicated bool
	goal       uint64    // the log's end at the connect; 0 = it was read
	end        uint64    // the log's end when the leader was asked last
	looked     time.Time // when that was
	shorter    time.Time // since when the log ends before what was folded; zero = it does not
}

const (
	// lookEvery is how often the leader is asked while nothing comes: twice within the
	// time after which a state says that it may be old (maxLag).
	lookEvery = 2 * time.Second
	// believedAfter is how long a cluster has to say that its log is shorter than what
	// was folded. A leader that was stopped and goes on does not know for some seconds
	// that there is another one; elections take 9 s at most.
	believedAfter = 15 * time.Second
)

var (
	// errLags says that it is read where the log's end is not yet.
	errLags = errors.New("the server that is read from lags behind the leader of the log")
	// errShort says that the leader has less than what was read elsewhere.
	errShort = errors.New("the leader of the log has less than was there")
)

// begin notes what the leader says at a connect. last is what was folded.
func (r *replicas) begin(info *jetstream.StreamInfo, last uint64) error {
	r.replicated = info.Cluster != nil && len(info.Cluster.Replicas) > 0
	r.end, r.looked = info.State.LastSeq, time.Now()
	r.goal = r.end
	if r.end >= last {
		r.shorter = time.Time{}
		return nil
	}
	if r.shorter.IsZero() {
		r.shorter = r.looked
	}
	if r.replicated && time.Since(r.shorter) < believedAfter {
		return fmt.Errorf("%w: it ends at %d, and was folded up to %d", errShort, r.end, last)
	}
	return fmt.Errorf("%w: it ends at %d and was folded up to %d", projector.ErrLogChanged, r.end, last)
}

// toCome is how many messages are still to come after the last one: what the consumer
// says of it, and one at least before what the leader had at the connect was read.
func (r *replicas) toCome(last, pending uint64) uint64 {
	if last >= r.goal {
		r.goal = 0
	}
	if r.replicated && r.goal > 0 {
		return max(pending, 1)
	}
	return pending
}

// look asks the leader, if it was not asked for a while, and is called when nothing came.
// It is an error if it does not answer, if what it had when it was asked before has not
// come since, or if it has less than what came.
func (r *replicas) look(ctx context.Context, stream jetstream.Stream, last uint64) error {
	if !r.replicated || time.Since(r.looked) < lookEvery {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	if r.end > last {
		m, err := stream.GetMsg(ctx, last+1, jetstream.WithGetMsgSubject(">"))
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			r.goal = 0 // the end was deleted
		case err != nil:
			return fmt.Errorf("the leader of the log: %w", err)
		case m.Sequence <= r.end:
			return fmt.Errorf("%w: message %d has not come", errLags, m.Sequence)
		}
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("the leader of the log: %w", err)
	}
	if info.State.LastSeq < last {
		return fmt.Errorf("%w: it ends at %d, and %d was read", errShort, info.State.LastSeq, last)
	}
	r.end, r.looked = info.State.LastSeq, time.Now()
	return nil
}
