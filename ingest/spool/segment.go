package spool

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/quotashare/quotashare/ingest/groups"
)

const (
	magic = "quotashare spool 1\n"
	// frame is what stands before a record.
	frame = 12
	// maxRecord is more than a message that any broker takes, in the form it has here.
	maxRecord = 128 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

// errTorn says that a record is not whole: the file ends in it.
var errTorn = errors.New("the record is cut short")

// errDamaged says that a record is not what was written.
var errDamaged = errors.New("the record is damaged")

// record is a message as it is kept.
type record struct {
	Subject string `json:"subject"`
	ID      string `json:"id"`
	Events  int    `json:"events"`
	Time    int64  `json:"time"` // when it came, epoch ms
	Data    []byte `json:"-"`
}

func (r *record) message() *groups.Message {
	return &groups.Message{Subject: r.Subject, ID: r.ID, Data: r.Data, Events: r.Events}
}

// encode returns the record with its frame.
func (r *record) encode() ([]byte, error) {
	head, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	data := make([]byte, frame, frame+len(head)+1+len(r.Data))
	data = append(append(append(data, head...), '\n'), r.Data...)
	binary.BigEndian.PutUint32(data, uint32(len(data)-frame))
	binary.BigEndian.PutUint32(data[4:], checksum(data[:4]))
	binary.BigEndian.PutUint32(data[8:], checksum(data[frame:]))
	return data, nil
}

// decode reads what is in the frame.
func (r *record) decode(body []byte) error {
	head, data, ok := bytes.Cut(body, []byte{'\n'})
	if !ok {
		return fmt.Errorf("%w: it has no head", errDamaged)
	}
	if err := json.Unmarshal(head, r); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	r.Data = data
	return nil
}

// readRecord reads the record at an offset, and returns where the next one is; when it is
// damaged, where to look for it. At the end of the file the error is io.EOF.
func readRecord(f io.ReaderAt, at int64) (r record, next int64, err error) {
	var head [frame]byte
	n, err := f.ReadAt(head[:], at)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return r, at, io.EOF
	case errors.Is(err, io.EOF) && n < frame:
		return r, at, errTorn
	case err != nil && !errors.Is(err, io.EOF):
		return r, at, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if checksum(head[:4]) != binary.BigEndian.Uint32(head[4:]) || size > maxRecord {
		return r, at + 1, fmt.Errorf("%w: its length is another one", errDamaged)
	}
	body := make([]byte, size)
	n, err = f.ReadAt(body, at+frame)
	switch {
	case n < len(body) && errors.Is(err, io.EOF):
		return r, at, errTorn
	case err != nil && !errors.Is(err, io.EOF):
		return r, at, err
	}
	next = at + frame + int64(size)
	if checksum(body) != binary.BigEndian.Uint32(head[8:]) {
		return r, next, fmt.Errorf("%w: its checksum is another one", errDamaged)
	}
	return r, next, r.decode(body)
}

// count says how many messages and events a segment has from an offset on, when the
// oldest came, and where the whole ones end. The error is errTorn or errDamaged when
// something else stands there.
func count(f io.ReaderAt, at int64) (c counts, end int64, err error) {
	for end = at; ; {
		r, next, err := readRecord(f, end)
		if errors.Is(err, io.EOF) {
			return c, end, nil
		}
		if err != nil {
			return c, end, err
		}
		c.add(&r, next-end)
		end = next
	}
}
