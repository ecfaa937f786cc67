package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/internal/brokertest"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// These make this test binary a process that works on a bucket until it kills itself
// before its n-th step.
const (
	childURL  = "QUOTASHARE_TEST_BROKER"
	childDir  = "QUOTASHARE_TEST_DIR"
	childWork = "QUOTASHARE_TEST_WORK"
	childStep = "QUOTASHARE_TEST_STEP"
)

func workUntilKilled() {
	if err := work(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func work() error {
	left, err := strconv.Atoi(os.Getenv(childStep))
	if err != nil {
		return err
	}
	conn, err := nats.Connect(os.Getenv(childURL))
	if err != nil {
		return err
	}
	s, err := New(Options{Conn: conn, Step: func(string) {
		if left--; left < 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}})
	if err != nil {
		return err
	}
	switch ctx := context.Background(); os.Getenv(childWork) {
	case "put":
		_, err = s.Put(ctx, snapdir.New(snapdir.Options{Dir: os.Getenv(childDir)}), 2)
	case "remove":
		err = s.Remove(ctx, 1)
	case "sweep":
		s.abandoned = 0
		err = s.Sweep(ctx)
	}
	return err
}

// child runs a process until its n-th step, and reports whether it was killed there
// or came to its end.
func (b *bench) child(work, url string, step int) (killed bool) {
	b.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childURL+"="+url, childDir+"="+b.fromPath, childWork+"="+work, childStep+"="+strconv.Itoa(step))
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		b.t.Fatalf("%s to step %d: %v\n%s", work, step, err, out)
	}
	return false
}

// A process is killed before every step of storing, removing and sweeping. Whatever
// it left, what is listed is whole, the same can be done again, and after a sweep the
// bucket has nothing but what is listed.
func TestKilledAtEveryStep(t *testing.T) {
	const size = 3*pieceSize + 100
	for _, work := range []string{"put", "remove", "sweep"} {
		t.Run(work, func(t *testing.T) {
			steps := 0
			for killed := true; killed; steps++ {
				url := brokertest.Start(t).URL()
				b := newBench(t, url)
				b.save(2, size)
				if work != "put" || steps > 0 { // storing makes the bucket too
					b.put(1, size)
				}
				if work == "sweep" {
					_, err := b.js.Publish(b.ctx(), piecesOf("nobodys"), []byte("x"))
					b.must(err)
					b.putByHand(headerOf(2), b.file(2))
					b.dropPiece(2, 1)
				}
				killed = b.child(work, url, steps)
				b.afterKill(t, work)
			}
			if want := map[string]int{"put": 6, "remove": 3, "sweep": 4}[work]; steps < want {
				t.Errorf("%d steps, want %d at least", steps, want)
			}
		})
	}
}

// afterKill checks the bucket and brings the work to its end.
func (b *bench) afterKill(t *testing.T, work string) {
	t.Helper()
	for _, seq := range b.listed() {
		_, err := b.Fetch(b.ctx(), seq, b.into)
		b.must(err)
	}
	want := []uint64{}
	switch work {
	case "put":
		_, err := b.Put(b.ctx(), b.from, 2)
		b.must(err)
		want = []uint64{2}
		if b.saved(1) {
			want = []uint64{2, 1}
		}
	case "remove":
		b.must(b.Remove(b.ctx(), 1))
	case "sweep":
		want = []uint64{1}
	}
	b.abandoned = 0
	b.must(b.Sweep(b.ctx()))
	if got := b.listed(); !slices.Equal(got, want) {
		t.Errorf("listed %d, want %d", got, want)
	}
	if got, want := b.messages(), uint64(len(want)*5); got != want {
		t.Errorf("%d messages are left, want %d: four pieces and a name each", got, want)
	}
}

func (b *bench) saved(seq uint64) bool {
	_, err := os.Stat(filepath.Join(b.fromPath, snapdir.Name(seq)))
	return err == nil
}

// What looks abandoned may be an upload under way, until it is old; and what others
// keep in the bucket is theirs.
func TestSweepLeavesWhatIsYoungOrForeign(t *testing.T) {
	b := newBench(t, brokertest.Start(t).URL())
	b.put(1, 2*pieceSize)
	_, err := b.js.Publish(b.ctx(), piecesOf("underway"), []byte("x"))
	b.must(err)
	b.putByHand(headerOf(2), b.file(1))
	b.dropPiece(2, 0)
	before := b.messages()
	b.must(b.Sweep(b.ctx()))
	if got := b.messages(); got != before {
		t.Errorf("%d messages are left of %d that are young", got, before)
	}
	theirs := bytes.Repeat([]byte("theirs"), 100_000)
	_, err = b.objects().Put(b.ctx(), jetstream.ObjectMeta{Name: "notes.txt"}, bytes.NewReader(theirs))
	b.must(err)
	b.abandoned = 0
	b.must(b.Sweep(b.ctx()))
	got, err := b.objects().GetBytes(b.ctx(), "notes.txt")
	b.must(err)
	if !bytes.Equal(got, theirs) {
		t.Error("what others keep was changed")
	}
	if got := b.listed(); !slices.Equal(got, []uint64{1}) {
		t.Errorf("listed %d", got)
	}
}
