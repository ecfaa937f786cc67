// Package snapdir keeps snapshots in a directory, each in a file named by its
// sequence. A file gets its name when all of it is on the disk, so a crash at any
// moment leaves the snapshots that were there, and the new one whole or not at all.
//
// One program at a time may write and remove; any number may read meanwhile, also
// from a copy of the directory on a disk that is read-only.
package snapdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/quotashare/quotashare/snapshots"
)

// ErrNone says that a directory has no snapshot that can be used.
var ErrNone = errors.New("there is no snapshot that can be used")

// Options say where snapshots are kept.
type Options struct {
	Dir string
	FS  FS           // nil = the disk
	Log *slog.Logger // is told of each file that cannot be used, once; nil = nobody
}

// Dir is a directory of snapshots. It need not exist yet, but the one that it is in
// should: of directories made on the way only the last is sure to outlive a crash.
// Its methods may be called from any goroutine.
type Dir struct {
	o     Options
	write sync.Mutex // one change at a time

	mu   sync.Mutex
	said map[string]bool // names whose fault was said
}

// New returns the directory and touches nothing.
func New(o Options) *Dir {
	if o.FS == nil {
		o.FS = disk{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Dir{o: o, said: make(map[string]bool)}
}

const (
	suffix    = ".snapshot"
	newSuffix = suffix + ".new"
	digits    = 20 // of 2^64 - 1
)

func nameOf(seq uint64) string { return fmt.Sprintf("%0*d%s", digits, seq, suffix) }

func seqOf(name string) (seq uint64, ok bool) {
	seq, err := strconv.ParseUint(strings.TrimSuffix(name, suffix), 10, 64)
	return seq, err == nil && name == nameOf(seq)
}

func (d *Dir) path(name string) string { return filepath.Join(d.o.Dir, name) }

// List returns the sequences of the snapshots, the newest first. Whether they are
// whole is not looked at.
func (d *Dir) List() ([]uint64, error) {
	names, err := d.names()
	var list []uint64
	for _, name := range names {
		if seq, ok := seqOf(name); ok {
			list = append(list, seq)
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list, err
}

// names returns what is in the directory, nothing when it does not exist.
func (d *Dir) names() ([]string, error) {
	names, err := d.o.FS.List(d.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("snapshots: list: %w", err)
	}
	return names, nil
}

// Save writes a snapshot of the records that scan gives, in key order. One of the
// same sequence is replaced.
func (d *Dir) Save(h snapshots.Header, scan func(add func(key, value []byte) error) error) (sum snapshots.Summary, err error) {
	d.write.Lock()
	defer d.write.Unlock()
	name := nameOf(h.Seq) + ".new"
	err = d.create(name, func(w io.Writer) error {
		sum, err = snapshots.Write(w, h, scan)
		return err
	})
	if err == nil {
		err = d.adopt(name, h.Seq)
	}
	return sum, err
}

// received is the name of a file while nobody knows what it is.
const received = "received" + newSuffix

// Receive copies a snapshot from elsewhere and takes it in when all of it is good.
// One of the same sequence is replaced.
func (d *Dir) Receive(from io.Reader) (h snapshots.Header, err error) {
	d.write.Lock()
	defer d.write.Unlock()
	if err := d.create(received, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	}); err != nil {
		return h, err
	}
	if h, err = d.verify(received); err != nil {
		return h, errors.Join(err, d.o.FS.Remove(d.path(received)))
	}
	return h, d.adopt(received, h.Seq)
}

// create writes a file that lasts under a name that nobody reads.
func (d *Dir) create(name string, fill func(io.Writer) error) error {
	if err := d.clean(); err != nil {
		return err
	}
	f, err := d.o.FS.Create(d.path(name))
	if err != nil {
		return fmt.Errorf("snapshots: create: %w", err)
	}
	err = fill(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("snapshots: write %s: %w", name, errors.Join(err, d.o.FS.Remove(d.path(name))))
	}
	return nil
}

// clean makes the directory and removes what a killed process was writing.
func (d *Dir) clean() error {
	if err := d.o.FS.MkdirAll(d.o.Dir); err != nil {
		return fmt.Errorf("snapshots: make the directory: %w", err)
	}
	if err := d.sync(filepath.Dir(d.o.Dir)); err != nil {
		return err
	}
	names, err := d.names()
	for _, name := range names {
		if strings.HasSuffix(name, newSuffix) {
			err = errors.Join(err, d.o.FS.Remove(d.path(name)))
		}
	}
	return err
}

// adopt gives a file that is synced its name.
func (d *Dir) adopt(name string, seq uint64) error {
	if err := d.o.FS.Rename(d.path(name), d.path(nameOf(seq))); err != nil {
		return fmt.Errorf("snapshots: rename %s: %w", name, errors.Join(err, d.o.FS.Remove(d.path(name))))
	}
	d.forget(nameOf(seq))
	return d.sync(d.o.Dir)
}

func (d *Dir) sync(dir string) error {
	if err := d.o.FS.SyncDir(dir); err != nil {
		return fmt.Errorf("snapshots: sync the directory: %w", err)
	}
	return nil
}

// Remove removes a snapshot; one that is not there is no error, so that a removal
// can be done again after a crash.
func (d *Dir) Remove(seq uint64) error {
	d.write.Lock()
	defer d.write.Unlock()
	err := d.o.FS.Remove(d.path(nameOf(seq)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("snapshots: remove: %w", err)
	}
	d.forget(nameOf(seq))
	return d.sync(d.o.Dir)
}

func (d *Dir) forget(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.said, name)
}

// Damaged reports whether somebody found a snapshot to be of no use, by way of Newest.
func (d *Dir) Damaged(seq uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.said[nameOf(seq)]
}

// say tells of a file that cannot be used, the first time.
func (d *Dir) say(name string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.said[name] {
		d.said[name] = true
		d.o.Log.Warn("a snapshot cannot be used; an older one takes its place", "file", d.path(name), "err", err)
	}
}
