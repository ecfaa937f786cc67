package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/internal/brokertest"
	thisversion "github.com/quotashare/quotashare/internal/program"
)

// setAside is what a decider logs that cannot use the state it finds.
const setAside = "setting the store aside"

// An engine of this version runs on what an older one left behind, and says what that
// said. With the same formats it goes on from the state; with others it makes the state
// anew from the log, once, by itself.
func TestThisVersionGoesOnFromWhatAReleaseLeft(t *testing.T) {
	everyRelease(t, func(t *testing.T, r *release) {
		data, _ := r.copied(t)
		p := up(t, data)
		r.mustStand(p)
		r.mustRead(p)
		if said := strings.Contains(p.stderr.String(), setAside); said != (r.Formats.Rules != formatsOfThis().Rules) {
			t.Errorf("set aside is %v:\n%s", said, p.stderr)
		}
		r.mustFindItsStreams(p)
		r.mustHaveItsSnapshots(p)

		operator{p}.consume(object{"id": "after the upgrade", "apiKeyId": "alice", "connectionId": "kimi-1", "cost": object{"tokens": 1}})
		after := p.at(r.Seq + 1)
		p.stop()
		again := up(t, data)
		if got := again.at(r.Seq + 1); got != after {
			t.Errorf("started again it is at %+v, before at %+v", got, after)
		}
		if strings.Contains(again.stderr.String(), setAside) {
			t.Errorf("the second start sets the state aside:\n%s", again.stderr)
		}
	})
}

// forgotten is how many rejected events of the log had a time to live of an hour: the
// broker deletes them, and who folds the log anew later does not see them.
const forgotten = 1

// mustStand compares the state with that of the version. Of other rules the digest is
// another one.
func (r *release) mustStand(p *process) {
	p.t.Helper()
	s := p.at(r.Seq)
	if r.Formats.Rules == formatsOfThis().Rules && s.Digest != r.Digest {
		p.t.Errorf("at %d the digest is %s, was %s\n%s", s.AppliedSeq, s.Digest, r.Digest, p.stderr)
	}
	if s.AppliedSeq != r.Seq || s.LastSeq != r.Seq || s.Counts != r.Counts {
		p.t.Errorf("it is at %+v, was at %d with %+v", s, r.Seq, r.Counts)
	}
}

// mustFindItsStreams fails when this version would have made a stream otherwise: nobody
// tells the operators of older ones to change theirs. The age limits were taken away so
// that the data lasts.
func (r *release) mustFindItsStreams(p *process) {
	p.t.Helper()
	for line := range strings.Lines(p.stderr.String()) {
		if strings.Contains(line, "a stream has other settings than ours") && !strings.Contains(line, `setting="max age" is=0s`) {
			p.t.Errorf("an upgrade has to change the stream: %s", line)
		}
	}
}

// mustHaveItsSnapshots looks for them; there may be one more, that was taken at the start
// because the last one is old.
func (r *release) mustHaveItsSnapshots(p *process) {
	p.t.Helper()
	list := p.mustCall("GET", "/api/quota/snapshots", "")
	for _, seq := range r.Snapshots {
		if !strings.Contains(list, fmt.Sprintf(`{"seq":%d,`, seq)) {
			p.t.Errorf("there is no snapshot %d: %s", seq, list)
		}
	}
}

// The log alone is enough, and makes the same state.
func TestALogOfAReleaseIsFoldedAgain(t *testing.T) {
	everyRelease(t, func(t *testing.T, r *release) {
		data, _ := r.copied(t)
		remove(t, data, "state", "snapshots", "retention.json", "nats/jetstream/$G/streams/OBJ_QUOTA_SNAPSHOTS", "nats/jetstream/$G/streams/KV_QUOTA_LEASES")
		p := up(t, data)
		if p.at(r.Seq).Counts.Rejected != r.Counts.Rejected {
			r.Counts.Rejected -= forgotten
		}
		r.mustStand(p)
		if strings.Contains(p.stderr.String(), "begins from a snapshot") {
			t.Errorf("there should have been none:\n%s", p.stderr)
		}
	})
}

func remove(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// Each snapshot, on the disk or in the broker, is one to begin from, with a log that has
// only what came after it.
func TestASnapshotOfAReleaseIsABeginning(t *testing.T) {
	everyRelease(t, func(t *testing.T, r *release) {
		if r.Formats != formatsOfThis() {
			t.Logf("its snapshots are of %+v, and this version reads %+v", r.Formats, formatsOfThis())
			return
		}
		for i, seq := range r.Snapshots {
			data, _ := r.copied(t)
			remove(t, data, "state")
			for _, newer := range r.Snapshots[:i] {
				remove(t, data, fmt.Sprintf("snapshots/%020d.snapshot", newer))
			}
			r.mustBeginFrom(t, data, seq)
		}
		data, _ := r.copied(t)
		remove(t, data, "state", "snapshots")
		r.mustBeginFrom(t, data, r.Snapshots[len(r.Snapshots)-1])
	})
}

func (r *release) mustBeginFrom(t *testing.T, data string, seq uint64) {
	t.Helper()
	purge(t, data, seq)
	p := up(t, data)
	r.mustStand(p)
	p.mustSay(fmt.Sprintf("the state begins from a snapshot seq=%d ", seq))
	p.stop()
}

// purge deletes what is below a message.
func purge(t *testing.T, data string, seq uint64) {
	t.Helper()
	log := start(t, "ingest", "--data-dir", data, "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0")
	s, err := jetStream(t, brokertest.Connect(t, log.nats)).Stream(deadline(t), "QUOTA")
	if err == nil {
		err = s.Purge(deadline(t), jetstream.WithPurgeSequence(seq))
	}
	if err != nil {
		t.Fatal(err)
	}
	log.stop()
}

// Audits of a copy need no engine: the snapshots are those of the log, every decision is
// derived again, and explained as it was.
func TestAReleaseIsAuditedOffline(t *testing.T) {
	everyRelease(t, func(t *testing.T, r *release) {
		data, _ := r.copied(t)
		if r.Formats == formatsOfThis() {
			said := run(t, "quotashare", "replay", "--data-dir", data, "--json")
			if got := strings.Count(said, `"equal":true`); got != len(r.Snapshots) || strings.Contains(said, `"equal":false`) {
				t.Errorf("%d of %d snapshots are equal: %s", got, len(r.Snapshots), said)
			}
		}
		said := run(t, "quotashare", "verify", "--data-dir", data, "--json")
		for _, want := range []string{`"different":0`, `"missing":0`, fmt.Sprintf(`"rows":%d`, r.Decisions)} {
			if !strings.Contains(said, want) {
				t.Errorf("verify lacks %s: %s", want, said)
			}
		}
		var got any
		decodeExactly(t, run(t, "quotashare", "explain", r.Decision, "--data-dir", data, "--json"), &got)
		for _, what := range lacks("", r.Explained, got) {
			t.Errorf("explained%s", what)
		}
	})
}

// What an ingest kept while the log was away comes into it.
func TestASpoolOfAReleaseIsBrought(t *testing.T) {
	everyRelease(t, func(t *testing.T, r *release) {
		data, front := r.copied(t)
		p := up(t, data)
		ingest := startWith(t, []string{"QUOTA_STORE_DRIVER=nats", "QUOTA_STORE_NATS_URL=" + p.nats}, "ingest", "--data-dir", front, "--http-addr", "127.0.0.1:0")
		ingest.mustSay(fmt.Sprintf("the log has all that was kept for it events=%d ", r.Spooled))
		if strings.Contains(ingest.stderr.String(), "cannot be read") {
			t.Errorf("it takes what it finds for damaged:\n%s", ingest.stderr)
		}
		ingest.stop()
		s := p.at(r.Seq + 1)
		s = p.at(s.LastSeq)
		if got := s.Counts.Folded - r.Counts.Folded; got != uint64(r.Spooled) || s.Counts.Rejected != r.Counts.Rejected {
			t.Errorf("%d were spooled, and %d more are folded: %+v", r.Spooled, got, s.Counts)
		}
	})
}

func TestTokensOfAReleaseAreKnown(t *testing.T) {
	everyRelease(t, func(t *testing.T, r *release) {
		data, _ := r.copied(t)
		p := startWith(t, []string{"QUOTA_TOKENS_FILE=" + filepath.Join(data, "tokens.json")}, "quotashare", "up", "--data-dir", data, "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0")
		p.awaitReady()
		for token, want := range map[string]int{r.Dashboard: 200, r.Dashboard + "x": 401, "": 401} {
			if status, answer := callAs(t, token, p.http+"/api/quota/pools"); status != want {
				t.Errorf("token %q: %d %s", token, status, answer)
			}
		}
		if said := run(t, "quotashare", "keys", "list", "--data-dir", data); !strings.Contains(said, r.Key) || !strings.Contains(said, r.Gateway[:7]) {
			t.Errorf("the gateway's token is not in:\n%s", said)
		}
	})
}

// callAs asks with a token.
func callAs(t *testing.T, token, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(deadline(t), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	answer, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// The newest data is of this version, and of what it writes now.
func TestThereIsDataOfThisVersion(t *testing.T) {
	for _, r := range releasesThere(t) {
		if r.Version != thisversion.Version {
			continue
		}
		if r.Formats != formatsOfThis() {
			t.Errorf(`the data of %s has formats %+v, and this tree %+v.
An engine that is upgraded will make its state anew from the log, and use no snapshot from before. If that is meant:
  1. if %s was released, raise Version in internal/program/version.go;
  2. say so in CHANGELOG.md, "When you upgrade": how long a start takes then, and that a log that was purged must have all that weighs;
  3. make release-data, and commit what it makes. Leave what others have made.`, r.Version, r.Formats, formatsOfThis(), r.Version)
		}
		return
	}
	t.Errorf("%s has no data of version %s: make release-data, and commit what it makes", releases, thisversion.Version)
}
