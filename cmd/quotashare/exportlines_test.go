package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/quota"
)

// logged is a message of the log whose time is of no event.
func logged(kind events.Kind, data []byte) *events.Message {
	return &events.Message{Subject: kind.Subject(""), Data: data, Seq: 7, Time: 1_790_000_000_000}
}

// TestAnEncodedEventIsExportedWhole: of msgpack, with its own time, every field.
func TestAnEncodedEventIsExportedWhole(t *testing.T) {
	e := events.Event{
		Kind: events.Adjustment, ID: "1", Time: 1_789_000_000_000, APIKeyID: "a", ConnectionID: "c", Provider: "p", Model: "m", RequestID: "r", Reason: "why",
		Given: 1<<quota.Tokens | 1<<quota.USD | 1<<quota.Requests,
	}
	e.Cost[quota.Tokens], e.Cost[quota.USD], e.Cost[quota.Requests] = -5, 7, -1
	var out bytes.Buffer
	x := newUsageLines(&out)
	for _, err := range []error{x.message(logged(e.Kind, events.AppendMsgpack(nil, &e))), x.flush()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	line, ok := bytes.CutPrefix(out.Bytes(), []byte(`{"type":"quota.adjustment","id":"1",`))
	got := events.Decode(logged(e.Kind, append([]byte(`{"id":"1",`), line...)), nil)
	if diff := cmp.Diff(e, got[0].Event); !ok || got[0].Err != nil || diff != "" {
		t.Errorf("%s\n%v\n(-want +got):\n%s", &out, got[0].Err, diff)
	}
}

// numbered is a message with an event of that id.
func numbered(id int) *events.Message {
	return logged(events.Consumption, fmt.Appendf(nil, `{"id":"%d","apiKeyId":"a","connectionId":"c"}`, id))
}

// TestOldIDsAreForgotten, so that the memory is bounded, but none that is half as far
// back as all that are remembered.
func TestOldIDsAreForgotten(t *testing.T) {
	const most = 100
	x := newUsageLines(io.Discard)
	x.most = most
	give := func(id int) {
		if err := x.message(numbered(id)); err != nil {
			t.Fatal(err)
		}
	}
	for id := range most + 1 {
		give(id)
	}
	give(0)
	give(most)
	if x.again != 2 || len(x.seen) != 1 {
		t.Fatalf("%d came again, %d are in the newer half", x.again, len(x.seen))
	}
	for id := range most {
		give(most + 1 + id)
	}
	give(0)
	if x.again != 2 || len(x.seen)+len(x.before) > 2*most {
		t.Errorf("%d came again, %d are remembered", x.again, len(x.seen)+len(x.before))
	}
}

// wholeLines fails on a part of a line.
type wholeLines struct {
	t      *testing.T
	writes int
}

func (w *wholeLines) Write(b []byte) (int, error) {
	if w.writes++; len(b) == 0 || b[0] != '{' || b[len(b)-1] != '\n' {
		w.t.Errorf("%d bytes are no whole lines", len(b))
	}
	return len(b), nil
}

// TestLinesAreWrittenWhole, and many at once: whoever ends us finds none cut.
func TestLinesAreWrittenWhole(t *testing.T) {
	w := &wholeLines{t: t}
	x := newUsageLines(w)
	for id := range 5000 {
		if err := x.message(numbered(id)); err != nil {
			t.Fatal(err)
		}
	}
	if w.writes < 2 || w.writes > 50 {
		t.Errorf("%d writes", w.writes)
	}
}

// interrupting is an output that interrupts who writes to it.
type interrupting struct {
	bytes.Buffer
	interrupt context.CancelFunc
}

func (w *interrupting) Write(b []byte) (int, error) {
	w.interrupt()
	return w.Buffer.Write(b)
}

// TestAnInterruptedExportHasWhatWasRead, and says that it is not all.
func TestAnInterruptedExportHasWhatWasRead(t *testing.T) {
	broker := brokertest.Start(t)
	_, js := broker.Log()
	pad := strings.Repeat("m", 200)
	for i := range 600 { // several gentle batches
		_, err := js.PublishAsync("quota.consumption", fmt.Appendf(nil, `{"id":"%d","apiKeyId":"a","connectionId":"c","model":%q}`, i, pad))
		if err != nil {
			t.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
	ctx, interrupt := context.WithCancel(t.Context())
	out := &interrupting{interrupt: interrupt}
	var said bytes.Buffer
	code := run(ctx, program.Process{
		Name: "quotashare", Stdout: out, Stderr: &said, Args: []string{"export", "--store-nats-url", broker.URL(), "--temp", t.TempDir()},
	})
	lines := strings.Count(out.String(), "\n")
	if code != program.Undone || said.String() != "quotashare: interrupted\n" || lines == 0 || lines == 600 || !strings.HasSuffix(out.String(), "}\n") {
		t.Errorf("exit %d, %d lines, %s", code, lines, &said)
	}
}

// TestAClosedPipeIsTold to who exports: only there it is known what it means.
func TestAClosedPipeIsTold(t *testing.T) {
	r, w, err := os.Pipe()
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	x := newUsageLines(w)
	if err := errors.Join(x.message(numbered(1)), x.flush()); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("it says %v", err)
	}
}
