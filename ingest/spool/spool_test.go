package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/ingest/groups"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// errTooLarge is a refusal for good.
var errTooLarge = errors.New("too large")

// fake is a log that is there or away.
type fake struct {
	mu      sync.Mutex
	away    bool
	list    []groups.Message // that it has
	tried   int
	refuses func(*groups.Message) bool
	changed chan struct{} // rung when it has got a message
}

func newFake() *fake { return &fake{changed: make(chan struct{}, 1)} }

func (f *fake) Publish(_ context.Context, m *groups.Message) (groups.Receipt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tried++
	switch {
	case f.away:
		return groups.Receipt{}, fmt.Errorf("%w: no route", ErrAway)
	case f.refuses != nil && f.refuses(m):
		return groups.Receipt{}, errTooLarge
	}
	kept := *m
	kept.Data = bytes.Clone(m.Data)
	f.list = append(f.list, kept)
	ring(f.changed)
	return groups.Receipt{Seq: uint64(len(f.list))}, nil
}

func (f *fake) set(away bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away = away
}

// has returns the data of the messages that it has.
func (f *fake) has() (list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.list {
		list = append(list, string(m.Data))
	}
	return list
}

// stage is a spool with its log.
type stage struct {
	*Spool
	t   *testing.T
	o   Options
	log *fake
	out *logged
}

// logged is what was logged.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

var theTime = time.UnixMilli(1_790_000_000_000)

func newStage(t *testing.T, o Options) *stage {
	t.Helper()
	s := &stage{t: t, log: newFake(), out: &logged{}}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.Log, o.Now = s.log, func() time.Time { return theTime }
	o.Logger = slog.New(slog.NewTextHandler(s.out, nil))
	s.o = o
	s.open()
	return s
}

func (s *stage) open() {
	s.t.Helper()
	var err error
	if s.Spool, err = Open(s.o); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = s.Close() }) // a test may have closed it
}

// again opens the directory anew, as after the end of the process.
func (s *stage) again() {
	s.t.Helper()
	s.must(s.Close())
	s.open()
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func event(id string) string {
	return `{"id":"` + id + `","time":"2026-09-21T14:00:00.000Z","apiKeyId":"k","connectionId":"c"}`
}

func (s *stage) publish(subject string, ids ...string) (groups.Receipt, error) {
	var list []string
	for _, id := range ids {
		if subject == "quota.release" {
			list = append(list, `{"id":"`+id+`","apiKeyId":"k","requestId":"r"}`)
			continue
		}
		list = append(list, event(id))
	}
	return s.Publish(s.t.Context(), groups.NewMessage(subject, []byte("["+strings.Join(list, ",")+"]"), len(ids)))
}

// keep publishes while the log is away.
func (s *stage) keep(ids ...string) {
	s.t.Helper()
	r, err := s.publish("quota.consumption", ids...)
	s.must(err)
	if !r.Spooled || r.Seq != 0 {
		s.t.Fatalf("kept: %+v", r)
	}
}

// bringAll brings what is kept into the log, which is there.
func (s *stage) bringAll() {
	s.t.Helper()
	s.log.set(false)
	s.must(s.drain(s.t.Context()))
	if st := s.Stats(); st.Messages != 0 || st.Events != 0 || st.Bytes != 0 || st.OldestMs != 0 {
		s.t.Errorf("left: %+v", st)
	}
}

// ids returns the ids of the events that the log has, in its order.
func (s *stage) ids() (ids []string) {
	for _, data := range s.log.has() {
		for _, part := range strings.Split(data, `"id":"`)[1:] {
			id, _, _ := strings.Cut(part, `"`)
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *stage) expect(ids ...string) {
	s.t.Helper()
	if diff := cmp.Diff(ids, s.ids()); diff != "" {
		s.t.Errorf("the log (-want +got):\n%s", diff)
	}
}

func (s *stage) files() (names []string) {
	entries, err := os.ReadDir(s.o.Dir)
	s.must(err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestALogThatIsThereGetsAll(t *testing.T) {
	s := newStage(t, Options{})
	r, err := s.publish("quota.consumption", "a")
	if err != nil || r.Spooled || r.Seq != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	s.expect("a")
	if names := s.files(); len(names) > 0 {
		t.Errorf("files: %q", names)
	}
}

// While anything is kept nothing passes it, or usage and readings would change places.
func TestWhatIsKeptGoesFirst(t *testing.T) {
	s := newStage(t, Options{})
	s.log.set(true)
	s.keep("a", "b")
	s.log.set(false)
	s.keep("c")
	if tried := s.log.tried; tried != 1 {
		t.Errorf("the log was tried %d times", tried)
	}
	if st := s.Stats(); st.Messages != 2 || st.Events != 3 || st.Bytes == 0 || st.OldestMs != theTime.UnixMilli() {
		t.Errorf("%+v", st)
	}
	s.bringAll()
	s.expect("a", "b", "c")
	if st := s.Stats(); st.Drained != 3 {
		t.Errorf("%+v", st)
	}
	if r, err := s.publish("quota.consumption", "d"); err != nil || r.Spooled {
		t.Errorf("%+v, %v", r, err)
	}
	s.expect("a", "b", "c", "d")
}

// Neighbours to one subject share a message; another subject ends it.
func TestWhatIsBroughtIsBroughtTogether(t *testing.T) {
	s := newStage(t, Options{})
	s.log.set(true)
	for _, id := range []string{"a", "b"} {
		s.keep(id)
	}
	_, err := s.publish("quota.release", "c")
	s.must(err)
	s.keep("d")
	s.bringAll()
	want := []string{"[" + event("a") + "," + event("b") + "]", `[{"id":"c","apiKeyId":"k","requestId":"r"}]`, "[" + event("d") + "]"}
	if diff := cmp.Diff(want, s.log.has()); diff != "" {
		t.Error(diff)
	}
}

// What is kept is there after the process has ended, and is brought by Run.
func TestKeptOverARestart(t *testing.T) {
	s := newStage(t, Options{})
	s.log.set(true)
	s.keep("a")
	s.again()
	s.keep("b")
	s.again()
	s.log.set(false)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	<-s.log.changed
	stop()
	s.must(<-done)
	s.expect("a", "b")
	if !strings.Contains(s.out.String(), "events wait for the log from before") {
		t.Errorf("it says:\n%s", s.out)
	}
}

// Run waits for the log, and for what comes.
func TestRunInsists(t *testing.T) {
	s := newStage(t, Options{})
	s.log.set(true)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	s.keep("a")
	s.log.set(false)
	<-s.log.changed
	s.log.set(true)
	for s.Stats().Messages > 0 {
		runtime.Gosched()
	}
	s.keep("b")
	s.log.set(false)
	<-s.log.changed
	stop()
	s.must(<-done)
	s.expect("a", "b")
}

// An event that says no time gets that of its coming; what says one keeps it, and the
// message its id.
func TestTimesAreThoseOfTheComing(t *testing.T) {
	s := newStage(t, Options{})
	s.log.set(true)
	timed := groups.NewMessage("quota.consumption", []byte("["+event("a")+"]"), 1)
	untimed := groups.NewMessage("quota.saturation", []byte(`[{"id":"b","connectionId":"c","readings":[{"window":"5h","usedPercent":1}]}]`), 1)
	for _, m := range []*groups.Message{timed, untimed} {
		if _, err := s.Publish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	s.bringAll()
	if s.log.list[0].ID != timed.ID || string(s.log.list[0].Data) != string(timed.Data) {
		t.Errorf("%s became %s", timed.Data, s.log.list[0].Data)
	}
	if want := `"time":"` + theTime.UTC().Format("2006-01-02T15:04:05.000Z") + `"`; !strings.Contains(string(s.log.list[1].Data), want) || s.log.list[1].ID == untimed.ID {
		t.Errorf("%s became %s", untimed.Data, s.log.list[1].Data)
	}
}

// What the log refuses for good is told to the caller, and not kept.
func TestARefusalIsTheCallers(t *testing.T) {
	s := newStage(t, Options{})
	s.log.refuses = func(*groups.Message) bool { return true }
	if _, err := s.publish("quota.consumption", "a"); !errors.Is(err, errTooLarge) {
		t.Errorf("%v", err)
	}
	if st := s.Stats(); st.Messages != 0 {
		t.Errorf("%+v", st)
	}
}

// What was answered for and is refused later is put aside, alone, and said.
func TestARefusalOfWhatWasKept(t *testing.T) {
	s := newStage(t, Options{})
	s.log.set(true)
	for _, id := range []string{"a", "bad", "c"} {
		s.keep(id)
	}
	s.log.refuses = func(m *groups.Message) bool { return bytes.Contains(m.Data, []byte("bad")) }
	s.bringAll()
	s.expect("a", "c")
	if st := s.Stats(); st.Refused != 1 || st.Drained != 2 {
		t.Errorf("%+v", st)
	}
	data, err := os.ReadFile(filepath.Join(s.o.Dir, refused))
	if err != nil || !bytes.Contains(data, []byte(event("bad"))) {
		t.Errorf("put aside: %q, %v", data, err)
	}
	if !strings.Contains(s.out.String(), "refuses events") {
		t.Errorf("it says:\n%s", s.out)
	}
}

func TestTheSpoolIsBounded(t *testing.T) {
	s := newStage(t, Options{Most: 400})
	s.log.set(true)
	s.keep("a")
	s.keep("b")
	if _, err := s.publish("quota.consumption", "c"); !errors.Is(err, ErrFull) {
		t.Errorf("a third: %v", err)
	}
	s.bringAll()
	s.expect("a", "b")
	s.log.set(true)
	s.keep("d") // there is room again
}

// Segments go when they were brought, and new ones have later names, whatever is
// forgotten of the past.
func TestSegments(t *testing.T) {
	s := newStage(t, Options{Segment: 1})
	s.log.set(true)
	for _, id := range []string{"a", "b", "c"} {
		s.keep(id)
	}
	want := []string{"0000000000000001.spool", "0000000000000002.spool", "0000000000000003.spool", "drained"}
	if diff := cmp.Diff(want, s.files()); diff != "" {
		t.Error(diff)
	}
	s.bringAll()
	if diff := cmp.Diff([]string{"drained"}, s.files()); diff != "" {
		t.Error(diff)
	}
	s.again()
	s.log.set(true)
	s.keep("d")
	if diff := cmp.Diff([]string{"0000000000000004.spool", "drained"}, s.files()); diff != "" {
		t.Error(diff)
	}
	s.again()
	s.bringAll()
	s.expect("a", "b", "c", "d")
}

// Without the file that says how far it was brought, or with one that says nothing, all
// that is there is brought again.
func TestTheCursor(t *testing.T) {
	for _, damage := range []func(path string) error{
		os.Remove,
		func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
	} {
		s := newStage(t, Options{})
		s.log.set(true)
		for i := range eachCursor + 1 {
			subject := []string{"quota.consumption", "quota.adjustment"}[i%2] // one message each
			_, err := s.publish(subject, fmt.Sprint(i))
			s.must(err)
		}
		s.log.set(false)
		ctx, stop := context.WithCancel(t.Context())
		s.log.refuses = func(m *groups.Message) bool { // the last one is never brought
			if len(s.log.list) == eachCursor {
				stop()
			}
			return false
		}
		s.must(s.drain(ctx))
		s.again()
		if left := s.Stats().Messages; left != 1 && left != 0 {
			t.Errorf("%d are left", left)
		}
		s.must(damage(filepath.Join(s.o.Dir, drained)))
		s.again()
		if left := s.Stats().Messages; left != eachCursor+1 {
			t.Errorf("%d are left", left)
		}
	}
}
