package e2e

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/snapshots"
)

// releases is where the data of each release is kept, see README.md there.
const releases = "testdata/releases"

// release is what a version left behind, and what it said of it.
type release struct {
	Version string
	Made    time.Time
	Formats formats

	// The log, as the version had folded it last.
	Seq    uint64
	Digest string
	Counts struct{ Folded, Duplicates, Rejected, Late, Clamped uint64 }

	Snapshots []uint64 // their sequences, the newest first
	Decisions int      // in their log
	Decision  string   // the id of one
	Explained object   // by quotashare explain
	Spooled   int      // events that wait in front/spool
	Gateway   string   // a client's token, of Key
	Key       string
	Dashboard string // a token of the role read

	reads []read
}

// read is a GET of the HTTP API, and what its answer has for ever.
type read struct {
	Path   string
	Answer any
}

// formats are the versions of what is not read by a program of other ones. It makes its
// state anew from the log then, which every version reads.
type formats struct {
	Rules    int
	Snapshot int
}

func formatsOfThis() formats {
	return formats{Rules: projector.RulesVersion, Snapshot: snapshots.Format}
}

// everyRelease runs a test for each of them.
func everyRelease(t *testing.T, test func(t *testing.T, r *release)) {
	t.Helper()
	list := releasesThere(t)
	if len(list) == 0 {
		t.Fatal("no data of a release is there")
	}
	for _, r := range list {
		t.Run(r.Version, func(t *testing.T) { test(t, r) })
	}
}

func releasesThere(t *testing.T) (list []*release) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(releases, "*", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		r := &release{}
		decodeExactly(t, string(data), r)
		r.readReads(t)
		list = append(list, r)
	}
	return list
}

func (r *release) readReads(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(releases, r.Version, "reads.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var one read
		decodeExactly(t, line, &one)
		r.reads = append(r.reads, one)
	}
}

// copied unpacks a copy of the data: data is the directory of quotashare up, front that
// of an ingest before it.
func (r *release) copied(t *testing.T) (data, front string) {
	t.Helper()
	dir := t.TempDir()
	if err := unpack(filepath.Join(releases, r.Version, "data.tar.gz"), dir); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "data"), filepath.Join(dir, "front")
}

func unpack(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(h.Name) {
			return fmt.Errorf("%s leads out of the archive", h.Name)
		}
		data, err := io.ReadAll(in)
		path := filepath.Join(dir, h.Name)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700)); err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			return err
		}
	}
}

// fleeting are fields whose values are of the moment of the answer, or texts for people
// and lists that a later version may word and make otherwise.
var fleeting = map[string]bool{
	"decisionId": true, "lagMs": true, "replay": true, "message": true, "warnings": true, "notes": true, "next": true, "catalogue": true,
}

// lacks says where an answer is not what it was: fields and items may be more, none may
// be less or have another value.
func lacks(path string, want, got any) (all []string) {
	switch w := want.(type) {
	case object:
		g, ok := got.(object)
		if !ok {
			return []string{fmt.Sprintf("%s is %v, was %v", path, got, want)}
		}
		for name, value := range w {
			if !fleeting[name] {
				all = append(all, lacks(path+"."+name, value, g[name])...)
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return []string{fmt.Sprintf("%s is %v, was %v", path, got, want)}
		}
		for i := range w {
			all = append(all, lacks(fmt.Sprintf("%s[%d]", path, i), w[i], g[i])...)
		}
	default:
		if want != got {
			all = append(all, fmt.Sprintf("%s is %v, was %v", path, got, want))
		}
	}
	return all
}

// decodeExactly keeps every digit of numbers.
func decodeExactly(t *testing.T, text string, doc any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(doc); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// mustRead asks everything that the version was asked.
func (r *release) mustRead(p *process) {
	p.t.Helper()
	for _, one := range r.reads {
		var got any
		decodeExactly(p.t, p.mustCall("GET", one.Path, ""), &got)
		for _, what := range lacks("", one.Answer, got) {
			p.t.Errorf("%s: %s", one.Path, what)
		}
	}
}
