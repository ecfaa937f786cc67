package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

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
	js, end := brokerOf(ts)
	defer end()
	m := nats.NewMsg(args[0])
	m.Data = data
	_, err = js.PublishMsg(context.Background(), m)
	ts.Check(err)
}

// brokerOf reaches the broker of the engine.
func brokerOf(ts *testscript.TestScript) (js jetstream.JetStream, end func()) {
	nc, err := nats.Connect("nats://" + ts.Getenv("QUOTA_NATS_ADDR"))
	ts.Check(err)
	js, err = jetstream.New(nc)
	ts.Check(err)
	return js, nc.Close
}

// cmdForget drops all that a stream has, as its limits do in time, or some messages of
// it, as a purge of what is old does:
//
//	forget STREAM [SEQ...]
func cmdForget(ts *testscript.TestScript, _ bool, args []string) {
	js, end := brokerOf(ts)
	defer end()
	s, err := js.Stream(context.Background(), args[0])
	ts.Check(err)
	if len(args) == 1 {
		ts.Check(s.Purge(context.Background()))
	}
	for _, arg := range args[1:] {
		seq, err := strconv.ParseUint(arg, 10, 64)
		ts.Check(err)
		ts.Check(s.DeleteMsg(context.Background(), seq))
	}
}

// cmdSpoil flips a bit near the end of each snapshot of a directory:
//
//	spoil DIR
func cmdSpoil(ts *testscript.TestScript, _ bool, args []string) {
	files, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*"))
	ts.Check(err)
	spoilt := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		ts.Check(err)
		if len(data) > 200 {
			data[len(data)-20] ^= 4
			spoilt++
		}
		ts.Check(os.WriteFile(name, data, 0o600))
	}
	if spoilt == 0 {
		ts.Fatalf("spoil: there is no snapshot in %s", args[0])
	}
}
