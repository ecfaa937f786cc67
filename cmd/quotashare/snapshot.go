package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/quotashare/quotashare/internal/program"
)

type snapshotCmd struct {
	List   bool `help:"List those that the engine has, and take none."`
	JSON   bool `name:"json" help:"Print the answer as it came."`
	server `embed:"" group:"Configuration"`
}

// snapshot is one as the engine shows it.
type snapshot struct {
	Seq, Rules, Bytes        uint64
	LogTime, Digest, Problem string
}

func (s *snapshotCmd) run(ctx context.Context, p program.Process) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	method, say := "POST", saySnapshot
	if s.List {
		method, say = "GET", saySnapshots
	}
	answer, err := c.do(ctx, method, "/api/quota/snapshots", "", nil)
	if err != nil {
		return err
	}
	if s.JSON {
		return show(p.Stdout, answer)
	}
	return say(p.Stdout, answer)
}

func saySnapshot(w io.Writer, answer []byte) error {
	var doc struct{ Snapshot snapshot }
	if err := readFields(answer, &doc); err != nil {
		return err
	}
	s := &doc.Snapshot
	_, err := fmt.Fprintf(w, "took snapshot %d: %d bytes, log time %s, digest %s\n", s.Seq, s.Bytes, s.LogTime, s.Digest)
	return err
}

// saySnapshots shows of each what its header says, and why it is of no use if so.
func saySnapshots(w io.Writer, answer []byte) error {
	var doc struct{ Snapshots []snapshot }
	if err := readFields(answer, &doc); err != nil {
		return err
	}
	rows := [][]string{{"SEQ", "LOG TIME", "BYTES", "DIGEST", "PROBLEM"}}
	for _, s := range doc.Snapshots {
		rows = append(rows, []string{
			strconv.FormatUint(s.Seq, 10), orDash(s.LogTime), strconv.FormatUint(s.Bytes, 10), orDash(s.Digest[:min(len(s.Digest), 12)]),
			named(s.Problem),
		})
	}
	return table(w, rows...)
}
