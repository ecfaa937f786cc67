package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/replay/starts"
	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/objects"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// damage flips a bit of a snapshot's file; at is from its end when it is negative.
func (r *rig) damage(dir string, seq uint64, at int) {
	r.t.Helper()
	path := filepath.Join(dir, snapdir.Name(seq))
	data, err := os.ReadFile(path)
	r.must(err)
	if at < 0 {
		at += len(data)
	}
	data[at] ^= 4
	r.must(os.WriteFile(path, data, 0o600))
}

// results are the points with whose digests they were held to, and how.
func results(d *Digests) (list []string) {
	for i := range d.Points {
		p := &d.Points[i]
		how := "equal"
		switch {
		case p.Damage != nil && p.Differs():
			how = "damaged, and differs"
		case p.Damage != nil && errors.Is(p.Damage, snapshots.ErrDamaged):
			how = "damaged"
		case p.Damage != nil:
			how = p.Damage.Error()
		case p.Unknown():
			how = "unknown"
		case p.Differs():
			how = "differs"
		}
		list = append(list, fmt.Sprint(p.Seq, " ", p.Of, " ", how))
	}
	return list
}

// TestADamagedSnapshotIsNoEqualOne, wherever the damage is: its header, which has the
// digest, may be whole.
func TestADamagedSnapshotIsNoEqualOne(t *testing.T) {
	r := newRig(t)
	list := r.everything()
	path := t.TempDir()
	dir := snapdir.New(snapdir.Options{Dir: path})
	for _, at := range []int{5, 10, 20, 30, 35} {
		r.snapshot(dir, list[:at])
	}
	r.damage(path, 5, 1)    // how it begins
	r.damage(path, 10, 30)  // the header
	r.damage(path, 20, 200) // the records
	r.damage(path, 30, -1)  // the end
	r.must(os.WriteFile(filepath.Join(path, snapdir.Name(1_000)), nil, 0o600))
	live := &LiveDigest{Seq: uint64(len(list)), Digest: r.digest(list)}
	d := r.digests(DigestOptions{Options: Options{Start: starts.Local{Dir: dir}}, Live: live})
	want := fmt.Sprintf("[5 snapshot damaged 10 snapshot damaged 20 snapshot damaged 30 snapshot damaged 35 snapshot equal %d live equal]", live.Seq)
	if got := fmt.Sprint(results(d)); got != want || d.Damaged() != 4 || d.Diverged != nil || len(d.Unread) != 1 || d.Unread[0].Seq != 1000 || d.Beyond != 0 {
		t.Errorf("%s, want %s\n%+v", got, want, d)
	}
	// It proves nothing of where both were the same, and nothing goes on from it.
	live.Digest[3]++
	r.damage(path, 35, -1)
	d = r.digests(DigestOptions{Options: Options{Start: starts.Local{Dir: dir}}, Live: live})
	if x := d.Diverged; x == nil || x.From != 1 || x.Of != OfLive {
		t.Errorf("%+v", x)
	}
}

// TestADamagedSnapshotDoesNotTakeOver where the log lacks messages.
func TestADamagedSnapshotDoesNotTakeOver(t *testing.T) {
	r := newRig(t)
	list := r.everything()
	path := t.TempDir()
	dir := snapdir.New(snapdir.Options{Dir: path})
	for _, at := range []int{10, 20} {
		r.snapshot(dir, list[:at])
	}
	r.damage(path, 10, 200)
	s, err := r.js.Stream(t.Context(), "QUOTA")
	r.must(err)
	r.must(s.DeleteMsg(t.Context(), 4))
	d := r.digests(DigestOptions{Options: Options{Start: starts.Local{Dir: dir}}, At: []uint64{25}})
	if got := fmt.Sprint(results(d)); got != "[10 snapshot damaged 20 snapshot unknown 25  equal]" || d.Began != 20 || d.Unread != nil {
		t.Errorf("%s, began at %d, unread %v", got, d.Began, d.Unread)
	}
}

// TestADamagedObjectIsNoEqualOne: those of the broker are looked at too.
func TestADamagedObjectIsNoEqualOne(t *testing.T) {
	r := newRig(t)
	list := r.everything()
	dir := snapdir.New(snapdir.Options{Dir: t.TempDir()})
	broker, err := objects.New(objects.Options{Conn: r.js.Conn()})
	r.must(err)
	for _, at := range []int{10, 20} {
		r.snapshot(dir, list[:at])
		_, err := broker.Put(r.within(), dir, uint64(at))
		r.must(err)
	}
	take := func() *Digests {
		into := snapdir.New(snapdir.Options{Dir: filepath.Join(t.TempDir(), "fetched")})
		return r.digests(DigestOptions{Options: Options{Start: starts.Shared{Broker: broker, Into: into}}, At: []uint64{1}})
	}
	if got := fmt.Sprint(results(take())); got != "[1  equal 10 snapshot equal 20 snapshot equal]" {
		t.Errorf("as stored: %s", got)
	}
	s, err := r.js.Stream(r.within(), objects.Stream)
	r.must(err)
	info, err := s.Info(r.within(), jetstream.WithSubjectFilter("$O."+objects.Bucket+".M.>"))
	r.must(err)
	for subject := range info.State.Subjects {
		m, err := s.GetLastMsgForSubject(r.within(), subject)
		r.must(err)
		var o jetstream.ObjectInfo
		r.must(json.Unmarshal(m.Data, &o))
		if o.Name != snapdir.Name(10) {
			continue
		}
		o.Size--
		data, err := json.Marshal(o)
		r.must(err)
		_, err = r.js.Publish(r.within(), subject, data)
		r.must(err)
	}
	if d := take(); fmt.Sprint(results(d)) != "[1  equal 10 snapshot damaged 20 snapshot equal]" {
		t.Errorf("%s", results(d))
	}
}

// TestNoPointIsThereTwice: one that nobody's digest is held to says nothing beside one
// of the same message.
func TestNoPointIsThereTwice(t *testing.T) {
	r := newRig(t)
	list := r.everything()
	end := uint64(len(list))
	live := &LiveDigest{Seq: end, Digest: r.digest(list)}
	d := r.digests(DigestOptions{At: []uint64{7, 7, 20, end}, Every: 10, Live: live})
	want := fmt.Sprintf("[7  equal 10  equal 20  equal 30  equal 40  equal %d live equal]", end)
	if got := fmt.Sprint(results(d)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
