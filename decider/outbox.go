package decider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/projector"
)

// outbox brings rejections from the store to QUOTA_REJECTED.
type outbox struct {
	js    jetstream.JetStream
	store projector.Store
	log   *slog.Logger
	bell  chan struct{}
}

func newOutbox(js jetstream.JetStream, store projector.Store, log *slog.Logger) *outbox {
	return &outbox{js: js, store: store, log: log, bell: make(chan struct{}, 1)}
}

// wake says that there may be rejections; it does not block.
func (o *outbox) wake() {
	select {
	case o.bell <- struct{}{}:
	default:
	}
}

const (
	outboxBatch = 256
	outboxRetry = time.Second
)

// run delivers until the context ends. What the log does not take stays in
// the store and is tried again.
func (o *outbox) run(ctx context.Context) error {
	said := false
	for {
		select {
		case <-o.bell:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := o.deliver(ctx)
		switch {
		case err == nil:
			said = false
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, projector.ErrCorrupt):
			return err
		}
		if !said {
			o.log.Warn("rejected events wait in the store; trying again", "err", err)
			said = true
		}
		select {
		case <-time.After(outboxRetry):
			o.wake()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// deliver empties the store's rejections.
func (o *outbox) deliver(ctx context.Context) error {
	for {
		list, err := projector.Rejections(o.store, outboxBatch)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, r := range list {
			if err := o.publish(ctx, r); err != nil {
				return err
			}
		}
		if err := projector.ForgetRejections(o.store, list); err != nil {
			return err
		}
	}
}

// publish stores one rejection. The stream takes one message per subject and
// refuses a second: another decider, or this one before a crash, was there.
// After a log was rolled back the same place may have another event; then what
// is there is of a history that is no more, and makes way.
func (o *outbox) publish(ctx context.Context, r projector.Rejection) error {
	msg := nats.NewMsg(events.RejectedSubject(r.Seq, r.Index))
	msg.Data = r.Value
	_, err := o.js.PublishMsg(ctx, msg)
	if err == nil {
		return nil
	}
	if !alreadyThere(err) {
		return fmt.Errorf("stream %s: %w", events.RejectedStream, err)
	}
	stream, err := o.js.Stream(ctx, events.RejectedStream)
	if err != nil {
		return fmt.Errorf("stream %s: %w", events.RejectedStream, err)
	}
	there, err := stream.GetLastMsgForSubject(ctx, msg.Subject)
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return fmt.Errorf("stream %s: %w", events.RejectedStream, err)
	}
	if err == nil && bytes.Equal(there.Data, r.Value) {
		return nil
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(msg.Subject)); err != nil {
		return fmt.Errorf("stream %s: %w", events.RejectedStream, err)
	}
	if _, err := o.js.PublishMsg(ctx, msg); err != nil && !alreadyThere(err) {
		return fmt.Errorf("stream %s: %w", events.RejectedStream, err)
	}
	return nil
}

// storeFailed is the broker's code for a message that the stream does not
// take; its text says why.
const storeFailed = 10077

func alreadyThere(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == storeFailed && api.Description == "maximum messages per subject exceeded"
}
