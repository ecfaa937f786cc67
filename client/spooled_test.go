package client

import (
	"errors"
	"fmt"
	"testing"

	"github.com/quotashare/quotashare/ingest/spool"
)

// ids are the events that the log has, in its order.
func (b *broker) ids(t *testing.T) (list []string) {
	t.Helper()
	for _, body := range messages(t, b.log(b.Connect())) {
		for _, x := range decodeAll(body) {
			list = append(list, x.ID)
		}
	}
	return list
}

// onDisk waits until that many were kept.
func onDisk(t *testing.T, c *Client, n uint64) {
	t.Helper()
	must(t, c.Flush(within(t)))
	if s := c.Stats(); s.Spooled != n || s.Waiting != 0 || s.Published != s.Stored+s.Spooled+s.TooLarge {
		t.Errorf("%d are to be on disk: %+v", n, s)
	}
}

// What the log does not take is on disk, outlives its program, and comes into the log
// before what is published after it.
func TestEventsOutliveTheirProgram(t *testing.T) {
	b := startBroker(t)
	b.log(b.Connect())
	dir := t.TempDir()
	spooling := func(o *Options) { o.SpoolDir = dir }
	c, said := b.client(spooling)
	must(t, c.Publish(used("0")))
	onDisk(t, c, 0)
	b.Stop()
	awaitLoss(t, b, c.Connected)
	for i := range 5 {
		must(t, c.Publish(used(fmt.Sprint(1+i))))
	}
	onDisk(t, c, 5)
	said.await(t, "events are kept on disk")
	must(t, c.Close(within(t))) // nothing is lost

	c, _ = b.client(spooling) // and nobody there yet
	if s := c.Stats(); s.OnDisk != 5 || s.OnDiskBytes == 0 {
		t.Errorf("before the log is back: %+v", s)
	}
	must(t, c.Publish(used("6")))
	onDisk(t, c, 1)
	b.Start()
	for ctx := within(t); c.Stats().OnDisk > 0 && ctx.Err() == nil; {
	}
	must(t, c.Publish(used("7")))
	onDisk(t, c, 1)
	if s := c.Stats(); s.Drained != 6 || s.Stored != 1 || s.Refused != 0 {
		t.Errorf("after: %+v", s)
	}
	got := b.ids(t)
	if len(got) != 8 {
		t.Fatalf("the log has %q", got)
	}
	for i, id := range got {
		if id != fmt.Sprint(i) {
			t.Errorf("the log has %q, want their order", got)
		}
	}
}

// A message that the log has, and whose acknowledgement is lost, is kept and sent again
// under its own name: the log has it once.
func TestALostAcknowledgementIsNoSecondEvent(t *testing.T) {
	b := startBroker(t)
	nc := b.Connect()
	b.log(nc)
	o, err := Options{Conn: nc}.prepare()
	must(t, err)
	way, err := newOverNATS(&o)
	must(t, err)
	g := &gated{transport: way, messages: make(chan message), verdicts: make(chan verdict)}
	d, err := openDisk(t.TempDir(), g, o.Logger)
	must(t, err)
	c := begin(o, g, d)
	t.Cleanup(func() { must(t, c.Close(within(t))) })
	must(t, c.Publish(used("once")))
	first := g.next(t, verdict{store: true, err: errors.New("no answer")})
	second := g.next(t, pass)
	if first.id != second.id {
		t.Errorf("it is called %s and then %s", first.id, second.id)
	}
	for ctx := within(t); c.Stats().Drained == 0 && ctx.Err() == nil; {
	}
	if got := b.ids(t); len(got) != 1 {
		t.Errorf("the log has %q", got)
	}
}

// What the log takes in no message is the caller's, and not kept.
func TestTooLargeIsNotKept(t *testing.T) {
	b := startBroker(t)
	nc := b.Connect()
	b.log(nc)
	o, err := Options{Conn: nc}.prepare()
	must(t, err)
	way, err := newOverNATS(&o)
	must(t, err)
	g := &gated{transport: way, messages: make(chan message), verdicts: make(chan verdict)}
	d, err := openDisk(t.TempDir(), g, o.Logger)
	must(t, err)
	c := begin(o, g, d)
	t.Cleanup(func() { must(t, c.Close(within(t))) })
	must(t, c.Publish(used("large")))
	g.next(t, verdict{err: errTooLarge})
	onDisk(t, c, 0)
	if s := c.Stats(); s.TooLarge != 1 || s.OnDisk != 0 {
		t.Errorf("%+v", s)
	}
}

func TestADirectoryIsOfOneClient(t *testing.T) {
	b := startBroker(t)
	dir := t.TempDir()
	b.client(func(o *Options) { o.SpoolDir = dir })
	if c, err := New(Options{URL: b.URL(), SpoolDir: dir}); !errors.Is(err, spool.ErrInUse) {
		t.Errorf("a second client: %v, %v", c, err)
	}
}
