package snapshots_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/quotashare/quotashare/snapshots"
)

// The format once more, by its drawing and not by the code it tests.
const (
	headerSize = 8 + 4 + 8 + 8 + 8 + 32 + 8 + 32 + 4
	footerSize = 1 + 8 + 8 + 32
)

func seal(b []byte) []byte {
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// split returns header, blocks and footer.
func split(t *testing.T, file []byte) [][]byte {
	t.Helper()
	parts := [][]byte{file[:headerSize]}
	rest := file[headerSize:]
	for rest[0] == 'b' {
		n := 13 + int(binary.BigEndian.Uint32(rest[9:])) + 4
		parts, rest = append(parts, rest[:n]), rest[n:]
	}
	if len(rest) != footerSize || rest[0] != 'e' {
		t.Fatalf("the footer is %x", rest)
	}
	return append(parts, rest)
}

func block(t *testing.T, records, plainLen, storedLen int, plain string) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	stored := enc.EncodeAll([]byte(plain), nil)
	if storedLen < 0 {
		storedLen = len(stored)
	}
	b := binary.BigEndian.AppendUint32([]byte{'b'}, uint32(records))
	b = binary.BigEndian.AppendUint32(b, uint32(plainLen))
	b = binary.BigEndian.AppendUint32(b, uint32(storedLen))
	return seal(append(b, stored...))
}

// file puts a file together with good sums.
func file(head []byte, blocks, records int, parts ...[]byte) []byte {
	b := append(bytes.Clone(head), bytes.Join(parts, nil)...)
	b = binary.BigEndian.AppendUint64(append(b, 'e'), uint64(blocks))
	b = binary.BigEndian.AppendUint64(b, uint64(records))
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// What no accident does to a file but a faulty program: every sum is right.
func TestSumsAloneAreNotBelieved(t *testing.T) {
	empty, _ := write(t, header, nil)
	head := empty[:headerSize]
	two := "\x01a\x01x\x01b\x01y"
	good := file(head, 1, 2, block(t, 2, len(two), -1, two))
	if _, list, err := read(bytes.NewReader(good)); err != nil || len(list) != 2 {
		t.Fatalf("%v: the test's own file is not read: %v", list, err)
	}
	for name, c := range map[string]struct {
		bad  []byte
		says string
	}{
		"another beginning":         {file(seal(append([]byte("\x89QSNAP\n\n"), head[8:headerSize-4]...)), 0, 0), "begin"},
		"no records in a block":     {file(head, 1, 0, block(t, 0, 0, -1, "")), "lengths"},
		"fewer records than said":   {file(head, 1, 3, block(t, 3, len(two), -1, two)), "longer than the block"},
		"more bytes than records":   {file(head, 1, 1, block(t, 1, len(two), -1, two)), "after its last record"},
		"a value beyond the block":  {file(head, 1, 1, block(t, 1, 4, -1, "\x01a\x05x")), "longer than the block"},
		"a key of 2^64 - 1 bytes":   {file(head, 1, 1, block(t, 1, 10, -1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")), "longer than the block"},
		"keys out of order":         {file(head, 1, 2, block(t, 2, 8, -1, "\x01b\x01y\x01a\x01x")), "comes after"},
		"a key twice":               {file(head, 1, 2, block(t, 2, 8, -1, "\x01a\x01y\x01a\x01x")), "comes after"},
		"a key twice in two blocks": {file(head, 2, 4, block(t, 2, 8, -1, two), block(t, 2, 8, -1, two)), "comes after"},
		"unpacks to more than said": {file(head, 1, 2, block(t, 2, len(two)-1, -1, two)), "does not unpack"},
		"a block too many said":     {file(head, 2, 2, block(t, 2, len(two), -1, two)), "records in"},
		"a record too many said":    {file(head, 1, 3, block(t, 2, len(two), -1, two)), "records in"},
		"more than any block":       {file(head, 1, 2, block(t, 2, 1<<32-1, -1, two)), "lengths"},
		"stored in 4 GB":            {file(head, 1, 2, block(t, 2, len(two), 1<<32-1, two)), "lengths"},
		"stored in 60 MB":           {file(head, 1, 2, block(t, 2, len(two), 60<<20, two)), "cut short"},
	} {
		_, _, err := read(bytes.NewReader(c.bad))
		if !damage(err) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A length that the file does not have costs no memory.
func TestPromisedLengthsCostNothing(t *testing.T) {
	empty, _ := write(t, header, nil)
	bad := file(empty[:headerSize], 1, 2, block(t, 2, 60<<20, 60<<20, "\x01a\x01x\x01b\x01y"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := read(bytes.NewReader(bad))
	runtime.ReadMemStats(&after)
	if !damage(err) {
		t.Error(err)
	}
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20); got > most {
		t.Errorf("%d bytes for a file of %d, want at most %d", got, len(bad), most)
	}
}

func TestAnotherFormatIsNoDamage(t *testing.T) {
	empty, _ := write(t, header, nil)
	head := bytes.Clone(empty[:headerSize-4])
	binary.BigEndian.PutUint32(head[8:], 2)
	_, _, err := read(bytes.NewReader(seal(head)))
	if !errors.Is(err, snapshots.ErrFormat) || damage(err) {
		t.Error(err)
	}
}

// The bytes are fixed but for what zstd makes of a block, so the file has its
// blocks unpacked.
func TestGolden(t *testing.T) {
	b, _ := write(t, header, few)
	parts := split(t, b)
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := dec.DecodeAll(parts[1][13:len(parts[1])-4], nil)
	if err != nil {
		t.Fatal(err)
	}
	got := "header\n" + hex.Dump(parts[0]) + "block, mark and lengths but the stored one\n" + hex.Dump(parts[1][:9]) +
		"block, unpacked\n" + hex.Dump(plain) + "footer, without the sum\n" + hex.Dump(parts[2][:17])
	want, err := os.ReadFile("testdata/few.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("testdata/few.txt is another file:\n%s", got)
	}
}
