package ingest

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// serveUntilKilled is the other process of TestAcknowledgedMessagesSurviveAKill.
func serveUntilKilled(dir string) {
	s, err := Start(Options{Dir: dir, Addr: "127.0.0.1:-1", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println(s.ClientURL())
	select {}
}

// startChild runs a server in another process and returns where it listens.
func startChild(t *testing.T, dir string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the server said nothing")
	}
	return cmd, lines.Text()
}

// A killed process closes nothing and gives back nothing: neither what was
// acknowledged nor the directory may be lost.
func TestAcknowledgedMessagesSurviveAKill(t *testing.T) {
	dir := t.TempDir()
	const perRun = 50
	for run := range 3 {
		cmd, url := startChild(t, dir)
		js, done := connect(t, url)
		ensure(t, js)
		var last *jetstream.PubAck
		for range perRun {
			ack, err := js.Publish(deadline(t), "quota.consumption.gw", []byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			last = ack
		}
		if want := uint64(perRun * (run + 1)); last.Sequence != want {
			t.Errorf("run %d ends at sequence %d, want %d", run, last.Sequence, want)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // "signal: killed" is what we asked for
		done()
	}
}
