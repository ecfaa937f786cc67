package natsusers_test

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/ingest/natsusers"
)

// TestAReaderIsTrustedWithCounts: whoever reads can have a message stored once more, and
// nothing in the copy tells it from one that a gateway published. When this fails, a broker
// came that forbids or marks it, and what is said of viewers is to be said anew.
func TestAReaderIsTrustedWithCounts(t *testing.T) {
	dir, file := configure(t, natsusers.Want{})
	url := serve(t, "", file)
	log := makeStreams(t, as(t, url, dir, "ingest"))
	_, err := log.PublishMsg(within(t), &nats.Msg{Subject: "quota.consumption", Header: nats.Header{"Of": {"mine"}}, Data: []byte("{}")})
	must(t, err)
	nc := as(t, url, dir, "viewer")
	js, err := jetstream.New(nc)
	must(t, err)
	c, err := js.CreateConsumer(within(t), "QUOTA", jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
	must(t, err)
	must(t, nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.QUOTA."+c.CachedInfo().Name, "quota.consumption", []byte(`{"batch":1,"no_wait":true}`)))
	s, err := js.Stream(within(t), "QUOTA")
	must(t, err)
	for last := uint64(1); last < 2; {
		info, err := s.Info(within(t))
		must(t, err)
		last = info.State.LastSeq
	}
	again, err := s.GetMsg(within(t), 2)
	must(t, err)
	if again.Subject != "quota.consumption" || len(again.Header) != 1 || again.Header.Get("Of") != "mine" {
		t.Errorf("the copy is %s with %v", again.Subject, again.Header)
	}
}

// TestWhoMakesStreamsIsTrustedWithConfiguration: a stream that is brought up to date may
// get any settings, among them one that stores what is published as something else.
func TestWhoMakesStreamsIsTrustedWithConfiguration(t *testing.T) {
	dir, file := configure(t, natsusers.Want{})
	js := makeStreams(t, as(t, serve(t, "", file), dir, "ingest"))
	s, err := js.Stream(within(t), "QUOTA")
	must(t, err)
	c := s.CachedInfo().Config
	c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: "quota.consumption", Destination: "quota.config.pool.evil"}
	_, err = js.UpdateStream(within(t), c)
	must(t, err)
	ack, err := js.Publish(within(t), "quota.consumption", []byte("{}"))
	must(t, err)
	admin, err := jetstream.New(as(t, serverURL(js), dir, "admin"))
	must(t, err)
	log, err := admin.Stream(within(t), "QUOTA")
	must(t, err)
	if got, err := log.GetMsg(within(t), ack.Sequence); err != nil || got.Subject != "quota.config.pool.evil" {
		t.Errorf("stored as %v, %v", got, err)
	}
}

func serverURL(js jetstream.JetStream) string { return js.Conn().ConnectedUrl() }
