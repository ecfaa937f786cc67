package spool

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// disk is what a spool does to its files, so that tests can have one that is full, or
// that a process leaves at any step.
type disk interface {
	open(path string, flag int) (file, error)
	remove(path string) error
	rename(from, to string) error
	// sync makes what a directory names last.
	sync(dir string) error
}

type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

// osDisk is the disk of the machine.
type osDisk struct{}

func (osDisk) open(path string, flag int) (file, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err // and no file that is not nil
	}
	return f, nil
}

func (osDisk) remove(path string) error     { return os.Remove(path) }
func (osDisk) rename(from, to string) error { return os.Rename(from, to) }

func (osDisk) sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// isFull reports whether an error says that there is no room: on the disk, in a quota, or
// below a limit for files.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

func size(f file) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// remove deletes a file, also one that somebody else has deleted.
func remove(d disk, path string) error {
	if err := d.remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeFile makes a file of that that lasts. Without room for all of it there is none.
func writeFile(d disk, path string, data []byte) error {
	f, err := d.open(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(data, 0); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, d.remove(path))
	}
	return nil
}

// extend writes at the end of a file, and makes it last. After an error the file is as it
// was; uncut says that not even that can be done.
func extend(f file, data []byte, at int64) (err, uncut error) {
	if _, err = f.WriteAt(data, at); err == nil {
		err = f.Sync()
	}
	if err != nil {
		uncut = cut(f, at)
	}
	return err, uncut
}

func cut(f file, at int64) error {
	return errors.Join(f.Truncate(at), f.Sync())
}
