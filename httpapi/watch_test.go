package httpapi

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/questions"
	"github.com/quotashare/quotashare/quota"
)

// The transcripts show what those who watch see, by a clock that goes on only
// when everybody waits. Commands:
//
//	connect NAME [silent]      sends the request below it over a connection of
//	                           that name; silent does not read the answer
//	wait DURATION              lets time pass, and prints what each one got
//	read NAME                  a silent one begins to read
//	hang-up NAME
//	change seq=N …             a configuration event; its document is below
//	use pool=ID requests=N     makes the pool, or changes what was used of it
//	block seq=N key=ID …
//	engine lost | found | restarted | broken | mended | deaf | hears
//	engine at seq=N | log-at seq=N | rolled-back seq=N
//	logged                     since the last time
//	asked                      whose usage the engine was asked for, since the
//	                           last time
func TestWatchTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/watch", func(t *testing.T, file string) {
		synctest.Test(t, func(t *testing.T) {
			s := newScene()
			log := new(logged)
			h := open(t, s, Config{Log: slog.New(slog.NewTextHandler(log, nil))})
			defer func() {
				if d := h.close(); d > time.Second {
					t.Errorf("the server took %s to stop", d)
				}
			}()
			h.srv.api.feed.most = 3
			datadriven.RunTest(t, file, func(t *testing.T, cmd *datadriven.TestData) string {
				if cmd.Cmd == "logged" {
					return log.messages()
				}
				return h.play(t, s, cmd)
			})
			if text := log.messages(); text != "" {
				t.Errorf("logged: %s", text)
			}
		})
	})
}

var logMessage = regexp.MustCompile(`msg="([^"]*)"`)

// messages returns what was logged since the last time, without particulars.
func (l *logged) messages() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, line := range l.lines {
		fmt.Fprintln(&b, logMessage.FindStringSubmatch(line)[1])
	}
	l.lines = nil
	return b.String()
}

func (h *theatre) play(t *testing.T, s *scene, cmd *datadriven.TestData) string {
	first := ""
	if len(cmd.CmdArgs) > 0 {
		first = cmd.CmdArgs[0].Key
	}
	switch cmd.Cmd {
	case "connect":
		h.connect(first, cmd.Input, !cmd.HasArg("silent"))
		return h.after(0)
	case "wait":
		d, err := time.ParseDuration(first)
		if err != nil {
			t.Fatalf("%s: %v", cmd.Pos, err)
		}
		return h.after(d)
	case "read":
		h.client(first).begin()
		return h.after(0)
	case "hang-up":
		h.client(first).conn.Close()
		return h.after(0)
	default:
		return s.play(t, cmd, first)
	}
}

func (h *theatre) client(name string) *client {
	for _, c := range h.clients {
		if c.name == name {
			return c
		}
	}
	h.t.Fatalf("there is no client %q", name)
	return nil
}

// abridged is what of the documents of usage and state the transcripts leave out;
// they are tested where they are made.
var abridged = regexp.MustCompile(`"generatedAt".*("consumedTotal":\d+).*|"lagMs":0,"counts":{[^}]*}(})`)

// after lets time pass and returns what everyone got.
func (h *theatre) after(d time.Duration) string {
	time.Sleep(d)
	synctest.Wait()
	var b strings.Builder
	for _, c := range h.clients {
		for line := range strings.Lines(c.take()) {
			fmt.Fprintf(&b, "%s: %s", c.name, abridged.ReplaceAllString(line, "…$1$2"))
		}
	}
	return b.String()
}

func (s *scene) play(t *testing.T, cmd *datadriven.TestData, first string) string {
	text := func(name string) (v string) {
		cmd.MaybeScanArgs(t, name, &v)
		return v
	}
	var seq uint64
	cmd.MaybeScanArgs(t, "seq", &seq)
	switch cmd.Cmd {
	case "change":
		c := Change{
			Seq: seq, Time: 1_700_000_000_000, Kind: text("kind"), ID: text("id"), Do: text("do"),
			Actor: text("actor"), Reason: text("reason"), Subject: "quota.config." + text("kind") + text("stray"),
		}
		if cmd.Input != "" {
			c.Document = []byte(cmd.Input)
		}
		if r := text("rejected"); r != "" {
			c.Rejected = &events.Rejection{Reason: events.Reason(r), Message: "it is wrong"}
		}
		s.change(c)
	case "block":
		s.block(Block{
			Seq: seq, Time: 1_700_000_000_000, APIKeyID: text("key"), ConnectionID: text("connection"), PoolID: text("pool"),
			Model: text("model"), Reason: "fair-share", DecisionID: "d1", Count: 2, RetryAt: 1_700_000_001_000, WouldBlock: cmd.HasArg("would"),
			Binding: questions.Binding{Unit: quota.Tokens, Window: quota.Daily, Model: text("model")}, HasBinding: true,
		})
	case "use":
		var requests int64
		cmd.ScanArgs(t, "requests", &requests)
		s.use(text("pool"), requests)
	case "asked":
		return fmt.Sprint(s.tally())
	case "engine":
		s.become(t, first, seq)
	default:
		t.Fatalf("%s: unknown command %q", cmd.Pos, cmd.Cmd)
	}
	return ""
}

func (s *scene) become(t *testing.T, what string, seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &s.double.watchedDouble
	d.mu.Lock()
	defer d.mu.Unlock()
	switch what {
	case "lost", "found":
		s.lost = what == "lost"
	case "restarted":
		d.proc, d.rows = "p2", nil
	case "at": // the state; the log may have more
		d.folded = seq
	case "log-at":
		s.lastSeq = seq
	case "rolled-back":
		d.log, d.folded, s.lastSeq = nil, seq, seq
	case "deaf", "hears":
		s.deaf = what == "deaf"
	case "broken":
		s.panics = true
	case "mended":
		s.panics = false
	default:
		t.Fatalf("the engine cannot become %q", what)
	}
}
