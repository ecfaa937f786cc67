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

// MaxBlock is how many bytes of records a block has at most, and so how large a
// single record can be.
const MaxBlock = 64 << 20

// blockTarget is where a block is closed. Smaller ones compress worse; larger
// ones only hold more in memory.
const blockTarget = 256 << 10

// The byte that a part of the file begins with.
const (
	blockMark  = 'b'
	footerMark = 'e'
)

// Of a block: mark, records, bytes of records, bytes stored.
const blockHeadSize = 1 + 3*4

// Of a footer: mark, blocks, records, SHA-256.
const footerSize = 1 + 2*8 + sha256.Size

// Summary says what a file has.
type Summary struct {
	Blocks, Records uint64
	Bytes           int64    // of the file
	Sum             [32]byte // SHA-256 of the file without these 32 bytes, its last ones
}

// Writer writes a snapshot. After an error it writes nothing more.
type Writer struct {
	to      io.Writer
	sum     hash.Hash
	enc     *zstd.Encoder
	last    []byte // the newest key
	plain   []byte // records of the open block
	records uint32 // in it
	out     []byte
	done    Summary
	err     error
}

// NewWriter writes the header.
func NewWriter(to io.Writer, h Header) (*Writer, error) {
	// The checksum of zstd would be a third one over the same bytes.
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return nil, fmt.Errorf("snapshot: compression: %w", err)
	}
	w := &Writer{to: to, sum: sha256.New(), enc: enc}
	w.out = h.append(w.out)
	w.write()
	return w, w.err
}

// Write writes a whole snapshot of the records that scan gives, in key order.
// Neither slice has to stay valid after the call it is given in.
func Write(to io.Writer, h Header, scan func(add func(key, value []byte) error) error) (Summary, error) {
	w, err := NewWriter(to, h)
	if err != nil {
		return Summary{}, err
	}
	if err := scan(w.Add); err != nil {
		return Summary{}, err
	}
	return w.Close()
}

// Add adds a record. Keys come in byte order, each once.
func (w *Writer) Add(key, value []byte) error {
	if w.err != nil {
		return w.err
	}
	if (w.records > 0 || w.done.Blocks > 0) && bytes.Compare(key, w.last) <= 0 {
		return w.fail(fmt.Errorf("snapshot: key %x comes after %x: give each key once, in byte order", key, w.last))
	}
	size := len(key) + len(value) + 2*binary.MaxVarintLen32
	if size > MaxBlock {
		return w.fail(fmt.Errorf("snapshot: the record of key %x has %d bytes, more than %d", key[:min(len(key), 64)], size, MaxBlock))
	}
	if len(w.plain) > 0 && len(w.plain)+size > blockTarget {
		w.endBlock()
	}
	w.last = append(w.last[:0], key...)
	w.plain = append(binary.AppendUvarint(w.plain, uint64(len(key))), key...)
	w.plain = append(binary.AppendUvarint(w.plain, uint64(len(value))), value...)
	w.records++
	return w.err
}

func (w *Writer) fail(err error) error {
	w.err = err
	return err
}

// Close writes the footer. It does not close what is written to.
func (w *Writer) Close() (Summary, error) {
	if w.records > 0 {
		w.endBlock()
	}
	w.out = binary.BigEndian.AppendUint64(append(w.out, footerMark), w.done.Blocks)
	w.out = binary.BigEndian.AppendUint64(w.out, w.done.Records)
	w.write()
	w.done.Sum = [32]byte(w.sum.Sum(nil))
	w.out = append(w.out, w.done.Sum[:]...)
	w.write()
	if w.err != nil {
		return Summary{}, w.err
	}
	w.err = errors.New("snapshot: it is closed")
	return w.done, nil
}

func (w *Writer) endBlock() {
	w.out = append(w.out[:0], make([]byte, blockHeadSize)...)
	w.out = w.enc.EncodeAll(w.plain, w.out)
	head := append(w.out[:0], blockMark)
	head = binary.BigEndian.AppendUint32(head, w.records)
	head = binary.BigEndian.AppendUint32(head, uint32(len(w.plain)))
	binary.BigEndian.AppendUint32(head, uint32(len(w.out)-blockHeadSize))
	w.out = appendSum(w.out, 0)
	w.done.Blocks++
	w.done.Records += uint64(w.records)
	w.plain, w.records = w.plain[:0], 0
	w.write()
}

// write writes what is in out, and empties it.
func (w *Writer) write() {
	if w.err == nil {
		w.sum.Write(w.out)
		n, err := w.to.Write(w.out)
		w.done.Bytes += int64(n)
		if err != nil {
			w.err = fmt.Errorf("snapshot: write: %w", err)
		}
	}
	w.out = w.out[:0]
}
