package snapshots

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Format is the version of the file that this package writes, and the only one
// that it reads. A state can be folded again, so no older one is kept readable.
const Format = 1

// Errors of a file.
var (
	ErrDamaged = errors.New("the snapshot is damaged")
	ErrFormat  = errors.New("the snapshot is of another format")
)

// Header says where in the log a snapshot was taken.
type Header struct {
	Rules   uint64   // version of the rules that the records were folded by
	Seq     uint64   // of the last message that was applied
	Time    int64    // the broker's timestamp of that message, epoch ms
	Hash    [32]byte // of that message; zero for one that the broker forgets by itself
	LogTime int64    // of the state, epoch ms
	Digest  [32]byte // of the state
}

// magic begins a file. Its line ends and the byte that is no text are those that
// a transfer as text would change.
const magic = "\x89QSNAP\r\n"

// headerSize is the same in every format, so that damage to the format's number
// is known from another format.
const headerSize = len(magic) + 4 + 4*8 + 2*32 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendSum appends the CRC-32C of what b has from the offset on.
func appendSum(b []byte, from int) []byte {
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
}

// checkSum reports whether b ends in the CRC-32C of what is before it.
func checkSum(b []byte) bool {
	n := len(b) - 4
	return binary.BigEndian.Uint32(b[n:]) == crc32.Checksum(b[:n], castagnoli)
}

func (h *Header) append(b []byte) []byte {
	from := len(b)
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint32(b, Format)
	b = binary.BigEndian.AppendUint64(b, h.Rules)
	b = binary.BigEndian.AppendUint64(b, h.Seq)
	b = binary.BigEndian.AppendUint64(b, uint64(h.Time))
	b = append(b, h.Hash[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(h.LogTime))
	b = append(b, h.Digest[:]...)
	return appendSum(b, from)
}

// parseHeader reads the headerSize bytes that a file begins with.
func parseHeader(b []byte) (h Header, err error) {
	if string(b[:len(magic)]) != magic {
		return h, damaged("it does not begin as a snapshot does")
	}
	if !checkSum(b) {
		return h, damaged("the checksum of the header is wrong")
	}
	b = b[len(magic):]
	if f := binary.BigEndian.Uint32(b); f != Format {
		return h, fmt.Errorf("%w: it is %d, this program reads %d", ErrFormat, f, Format)
	}
	b = b[4:]
	h.Rules = binary.BigEndian.Uint64(b)
	h.Seq = binary.BigEndian.Uint64(b[8:])
	h.Time = int64(binary.BigEndian.Uint64(b[16:]))
	b = b[24+copy(h.Hash[:], b[24:]):]
	h.LogTime = int64(binary.BigEndian.Uint64(b))
	copy(h.Digest[:], b[8:])
	return h, nil
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// Damaged is a snapshot that cannot be read, and why.
type Damaged struct {
	Seq uint64
	Err error
}
