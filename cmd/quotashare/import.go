package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/trace"
)

type importCmd struct {
	File       string `arg:"" help:"The file, or - for standard input. An event without an id gets one of file name, line number and content."`
	Trace      string `enum:"ndjson,azure" default:"ndjson" help:"What it is: ndjson, one event per line, or azure, a CSV trace of LLM inference."`
	Keys       int    `default:"1" help:"Of azure: how many keys the rows are dealt to, key-1, key-2, …. Rows of a file with a fourth column Key are of that key."`
	Connection string `help:"Of azure: the connection the rows used."`
	Rebase     string `enum:",now" default:"" placeholder:"now" help:"Shift all times so that the latest is now. Such a file counts again with every import."`
	server     `embed:"" group:"Configuration"`
}

func (c *importCmd) run(ctx context.Context, p program.Process) error {
	if err := c.check(); err != nil {
		return err
	}
	api, err := c.client()
	if err != nil {
		return err
	}
	src, size, err := c.open(ctx, p.Stdin)
	if err != nil {
		return err
	}
	defer src.Close()
	shift, err := c.shift(src, time.Now().UnixMilli())
	if err != nil {
		return err
	}
	before, err := api.counts(ctx, 0)
	if err != nil {
		return err
	}
	bar := newProgress(p.Stderr, size, program.Terminal(p.Stderr))
	u := &upload{api: api, errs: p.Stderr}
	err = u.all(ctx, c.rows(io.TeeReader(src, bar), shift), bar)
	bar.done()
	if err != nil {
		return c.brokeOff(err)
	}
	after, err := api.counts(ctx, u.lastSeq)
	if err != nil {
		return err
	}
	u.summary(p.Stdout, after.since(before))
	return u.complaint(c.Trace)
}

// brokeOff says how to go on after an import that ended early.
func (c *importCmd) brokeOff(err error) error {
	if c.Rebase != "" {
		return program.Hint(err, "a rebased file counts again with every import: to begin afresh is to count some rows twice")
	}
	return program.Hint(err, "import the file again: what is already there is not counted twice")
}

// check finds what kong cannot: flags that go together.
func (c *importCmd) check() error {
	switch azure := c.Trace == "azure"; {
	case azure && c.Connection == "":
		return errors.New("--connection is needed with --trace azure: the trace does not name one")
	case !azure && (c.Connection != "" || c.Keys != 1):
		return errors.New("--connection and --keys belong to --trace azure: events name their own")
	case c.Keys < 1:
		return errors.New("--keys is below 1")
	case c.Rebase != "" && c.File == "-":
		return errors.New("--rebase needs a file that can be read twice, not standard input")
	}
	return nil
}

func (c *importCmd) open(ctx context.Context, stdin io.Reader) (f io.ReadCloser, size int64, err error) {
	if c.File == "-" {
		return interruptible(ctx, stdin), 0, nil
	}
	file, err := os.Open(c.File)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	if info.IsDir() {
		return nil, 0, errors.Join(fmt.Errorf("%s is a directory: name a file", c.File), file.Close())
	}
	return file, info.Size(), nil
}

var errInterrupted = errors.New("interrupted before the end of standard input")

// interruptible reads from r until ctx ends. A read from a terminal or a pipe
// waits for the other side and knows no context, so it is left behind, for the
// end of the process.
func interruptible(ctx context.Context, r io.Reader) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		_, err := io.Copy(in, r)
		in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { in.CloseWithError(errInterrupted) })
	return out
}

// shift returns what brings the latest row to now, and rewinds the file.
func (c *importCmd) shift(src io.Reader, now int64) (int64, error) {
	file, ok := src.(io.Seeker)
	if c.Rebase == "" || !ok {
		return 0, nil
	}
	latest, err := trace.Latest(c.rows(src, 0))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.File, err)
	}
	if latest == 0 {
		return 0, nil // no row has a time: they all count as now
	}
	_, err = file.Seek(0, io.SeekStart)
	return now - latest, err
}

func (c *importCmd) rows(src io.Reader, shift int64) *trace.Reader {
	o := trace.Options{Name: c.name(), Shift: shift}
	if c.Trace == "azure" {
		return trace.NewAzure(src, o, trace.Deal{ConnectionID: c.Connection, Keys: c.Keys})
	}
	return trace.NewNDJSON(src, o)
}

func (c *importCmd) name() string {
	if c.File == "-" {
		return "stdin"
	}
	return c.File
}
