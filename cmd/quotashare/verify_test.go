package main

import (
	"context"
	"os"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rogpeppe/go-internal/testscript"
)

// cmdStore brings a file into the broker under a subject, as anybody can who reaches
// it:
//
//	store SUBJECT FILE
func cmdStore(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	nc, err := nats.Connect("nats://" + ts.Getenv("QUOTA_NATS_ADDR"))
	ts.Check(err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	ts.Check(err)
	m := nats.NewMsg(args[0])
	m.Data = data
	_, err = js.PublishMsg(context.Background(), m)
	ts.Check(err)
}
