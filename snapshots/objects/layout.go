package objects

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quotashare/quotashare/snapshots"
	"github.com/quotashare/quotashare/snapshots/snapdir"
)

// Bucket is the name of the bucket, and Stream that of the stream that it is.
const (
	Bucket = "QUOTA_SNAPSHOTS"
	Stream = "OBJ_" + Bucket
)

// The subjects of a bucket. An object's pieces are under an id that is new each
// time one is stored, so that those of two attempts never mix.
const (
	piecesPrefix = "$O." + Bucket + ".C."
	namesPrefix  = "$O." + Bucket + ".M."
	allSubjects  = "$O." + Bucket + ".>"
)

func piecesOf(id string) string { return piecesPrefix + id }

func subjectOf(seq uint64) string {
	return namesPrefix + base64.URLEncoding.EncodeToString([]byte(snapdir.Name(seq)))
}

// described writes what the file's header says where a list can read it without
// the pieces.
func described(h snapshots.Header) map[string]string {
	return map[string]string{
		"rules":   strconv.FormatUint(h.Rules, 10),
		"seq":     strconv.FormatUint(h.Seq, 10),
		"time":    strconv.FormatInt(h.Time, 10),
		"hash":    hex.EncodeToString(h.Hash[:]),
		"logTime": strconv.FormatInt(h.LogTime, 10),
		"digest":  hex.EncodeToString(h.Digest[:]),
	}
}

// header reads what described wrote.
func header(from map[string]string) (h snapshots.Header, err error) {
	number := func(field string) (n uint64) {
		if err == nil {
			n, err = strconv.ParseUint(from[field], 10, 64)
		}
		return n
	}
	instant := func(field string) (n int64) {
		if err == nil {
			n, err = strconv.ParseInt(from[field], 10, 64)
		}
		return n
	}
	sum := func(field string, to *[32]byte) {
		if err == nil && len(from[field]) != hex.EncodedLen(len(to)) {
			err = fmt.Errorf("%s: it has %d digits", field, len(from[field]))
		}
		if err == nil {
			_, err = hex.Decode(to[:], []byte(from[field]))
		}
	}
	h.Rules, h.Seq, h.Time, h.LogTime = number("rules"), number("seq"), instant("time"), instant("logTime")
	sum("hash", &h.Hash)
	sum("digest", &h.Digest)
	return h, err
}

// entry is what a name in the bucket stands for.
type entry struct {
	Object
	subject string
	id      string // of the pieces
	pieces  uint64
	sum     string // of all pieces, as the library writes it
}

// parse reads the message that names an object.
func parse(m *jetstream.RawStreamMsg) (entry, error) {
	var info jetstream.ObjectInfo
	if err := json.Unmarshal(m.Data, &info); err != nil {
		return entry{}, fmt.Errorf("%w: what names it cannot be read: %w", snapshots.ErrDamaged, err)
	}
	h, err := header(info.Metadata)
	if err != nil {
		return entry{}, fmt.Errorf("%w: what describes it cannot be read: %w", snapshots.ErrDamaged, err)
	}
	if m.Subject != subjectOf(h.Seq) || info.Name != snapdir.Name(h.Seq) {
		return entry{}, fmt.Errorf("%w: it is of sequence %d", snapshots.ErrDamaged, h.Seq)
	}
	if info.Deleted || info.NUID == "" || strings.ContainsAny(info.NUID, ".*> ") {
		return entry{}, fmt.Errorf("%w: it has no pieces", snapshots.ErrDamaged)
	}
	return entry{
		Object:  Object{Header: h, Size: info.Size, Stored: m.Time, Order: m.Sequence},
		subject: m.Subject, id: info.NUID, pieces: uint64(info.Chunks), sum: info.Digest,
	}, nil
}

// idOf returns the id of the pieces that a name stands for, whoever stored them.
func idOf(m *jetstream.RawStreamMsg) string {
	var info jetstream.ObjectInfo
	if err := json.Unmarshal(m.Data, &info); err != nil {
		return ""
	}
	return info.NUID
}
