package snapshots

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Reader reads a snapshot and checks all of it.
type Reader struct {
	from   io.Reader
	sum    hash.Hash
	dec    *zstd.Decoder
	header Header
	stored bytes.Buffer // the part that is being read
	plain  []byte       // records of the open block
	rest   []byte       // of plain: not yet returned
	left   uint32       // records in rest
	last   []byte       // the newest key, when there is one
	done   Summary
	err    error
}

// NewReader reads the header. Nothing may follow the snapshot in what it is read
// from.
func NewReader(from io.Reader) (*Reader, error) {
	r := &Reader{from: from, sum: sha256.New()}
	b, err := r.take(headerSize)
	if err != nil {
		return nil, err
	}
	if r.header, err = parseHeader(b); err != nil {
		return nil, err
	}
	r.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBlock))
	if err != nil {
		return nil, fmt.Errorf("snapshot: compression: %w", err)
	}
	return r, nil
}

// Header is what the file says of itself. It has its own checksum.
func (r *Reader) Header() Header { return r.header }

// Verify reads a snapshot to its end and keeps nothing.
func Verify(from io.Reader) (Header, Summary, error) {
	r, err := NewReader(from)
	if err != nil {
		return Header{}, Summary{}, err
	}
	for {
		switch _, _, err := r.Next(); {
		case errors.Is(err, io.EOF):
			return r.header, r.done, nil
		case err != nil:
			return Header{}, Summary{}, err
		}
	}
}

// Next returns the next record, valid until the next call. io.EOF says that the
// snapshot is whole.
func (r *Reader) Next() (key, value []byte, err error) {
	for r.err == nil && r.left == 0 {
		r.err = r.part()
	}
	if r.err == nil {
		key, value, r.err = r.record()
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	return key, value, nil
}

func (r *Reader) record() (key, value []byte, err error) {
	key, ok := r.text()
	if ok {
		value, ok = r.text()
	}
	r.left--
	switch {
	case !ok:
		return nil, nil, damaged("a record of block %d is longer than the block", r.done.Blocks)
	case r.left == 0 && len(r.rest) > 0:
		return nil, nil, damaged("block %d has %d bytes after its last record", r.done.Blocks, len(r.rest))
	case r.done.Records > 0 && bytes.Compare(key, r.last) <= 0:
		return nil, nil, damaged("key %x comes after %x", key, r.last)
	}
	r.last = append(r.last[:0], key...)
	r.done.Records++
	return key, value, nil
}

func (r *Reader) text() (b []byte, ok bool) {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(len(r.rest)-size) {
		return nil, false
	}
	b, r.rest = r.rest[size:size+int(n)], r.rest[size+int(n):]
	return b, true
}

// part reads the next block or the footer, which ends in io.EOF.
func (r *Reader) part() error {
	mark, err := r.take(1)
	if err != nil {
		return err
	}
	switch mark[0] {
	case blockMark:
		return r.block()
	case footerMark:
		return r.footer()
	}
	return damaged("neither a block nor the end follows block %d", r.done.Blocks)
}

func (r *Reader) block() error {
	head, err := r.more(blockHeadSize)
	if err != nil {
		return err
	}
	records, plain, stored := binary.BigEndian.Uint32(head[1:]), binary.BigEndian.Uint32(head[5:]), binary.BigEndian.Uint32(head[9:])
	if plain > MaxBlock || stored > MaxBlock+MaxBlock/8 || records == 0 {
		return damaged("the lengths of block %d cannot be", r.done.Blocks+1)
	}
	b, err := r.more(blockHeadSize + int(stored) + 4)
	if err != nil {
		return err
	}
	if !checkSum(b) {
		return damaged("the checksum of block %d is wrong", r.done.Blocks+1)
	}
	r.plain, err = r.dec.DecodeAll(b[blockHeadSize:len(b)-4], r.plain[:0])
	if err != nil || len(r.plain) != int(plain) {
		return damaged("block %d does not unpack to %d bytes: %v", r.done.Blocks+1, plain, err)
	}
	r.done.Blocks++
	r.rest, r.left = r.plain, records
	return nil
}

func (r *Reader) footer() error {
	b, err := r.more(footerSize - sha256.Size)
	if err != nil {
		return err
	}
	blocks, records := binary.BigEndian.Uint64(b[1:]), binary.BigEndian.Uint64(b[9:])
	r.done.Sum = [32]byte(r.sum.Sum(nil))
	if b, err = r.more(footerSize); err != nil {
		return err
	}
	switch {
	case [32]byte(b[footerSize-sha256.Size:]) != r.done.Sum:
		return damaged("the checksum of the file is wrong")
	case blocks != r.done.Blocks || records != r.done.Records:
		return damaged("it has %d records in %d blocks, and should have %d in %d", r.done.Records, r.done.Blocks, records, blocks)
	}
	return r.end()
}

// end makes sure that nothing follows.
func (r *Reader) end() error {
	switch _, err := io.ReadFull(r.from, make([]byte, 1)); {
	case err == nil:
		return damaged("something follows its end")
	case errors.Is(err, io.EOF):
		return io.EOF
	default:
		return fmt.Errorf("snapshot: read: %w", err)
	}
}

// take reads n bytes, which begin a part.
func (r *Reader) take(n int) ([]byte, error) {
	r.stored.Reset()
	return r.more(n)
}

// more reads on until the part has n bytes. Memory grows with what was read, not
// with what a length promised.
func (r *Reader) more(n int) ([]byte, error) {
	have := r.stored.Len()
	got, err := io.CopyN(&r.stored, r.from, int64(n-have))
	r.done.Bytes += got
	if errors.Is(err, io.EOF) {
		return nil, damaged("it is cut short after %d bytes", r.done.Bytes)
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot: read: %w", err)
	}
	b := r.stored.Bytes()
	r.sum.Write(b[have:])
	return b, nil
}
