package replay

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/quota"
)

// errEncoding says that a canonical encoding is not as docs/format/state.md draws it.
var errEncoding = errors.New("the canonical encoding is not as it is drawn")

// Parts of a digest, in the order of the encoding.
const (
	PartRules     = "rules"
	PartTime      = "log time"
	PartPools     = "pools"
	PartPlans     = "plans"
	PartSettings  = "settings"
	PartCounters  = "counters"
	PartMeters    = "meters"
	PartHolds     = "holds"
	PartRoutes    = "routes"
	PartSettled   = "settled requests"
	PartProviders = "providers"
	PartIDs       = "ids"
)

var digestParts = []string{
	PartRules, PartTime, PartPools, PartPlans, PartSettings, PartCounters, PartMeters, PartHolds, PartRoutes, PartSettled,
	PartProviders, PartIDs,
}

// item is one thing that a digest is of. Those of an encoding rise by part and order.
type item struct {
	part  int    // in digestParts
	order string // within the part
	name  string // for people; "" = the part has but one
	value string // for people, and different when the bytes are
}

// items yields what the digest of a state is of. It reads the encoding as it is drawn
// and knows nothing of the state's memory, so what it names is what was hashed. It is
// called as State.Digest is. An error is the last that is yielded.
func items(s *projector.State) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		next, stop := iter.Pull2(written(s))
		defer stop()
		d := decoder{r: bufio.NewReader(&pieces{next: next}), yield: yield}
		d.all()
		if !d.ended && d.err != nil {
			yield(item{}, d.err)
		}
	}
}

// errUnwanted ends a writing of which nobody wants more.
var errUnwanted = errors.New("nobody wants more")

// written yields the canonical encoding of a state piece by piece, each good until the
// next one is asked for. The whole of it would be as large as the state.
func written(s *projector.State) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		err := s.Canonical(writer(func(p []byte) (int, error) {
			if !yield(p, nil) {
				return 0, errUnwanted
			}
			return len(p), nil
		}))
		if err != nil && !errors.Is(err, errUnwanted) {
			yield(nil, err)
		}
	}
}

// writer is an io.Writer.
type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// pieces is an io.Reader of what is written meanwhile. Who writes and who reads take
// turns, where a pipe would need a goroutine.
type pieces struct {
	next func() ([]byte, error, bool)
	rest []byte // of the last piece
}

func (r *pieces) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		piece, err, ok := r.next()
		if !ok {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		r.rest = piece
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// decoder reads a canonical encoding. After an error, and when nobody wants more, it
// reads zeros, so only loops look.
type decoder struct {
	r     *bufio.Reader
	yield func(item, error) bool
	part  int
	pools []poolShape
	err   error
	ended bool // nobody wants more
}

// poolShape is what the encoding of a pool's routing depends on.
type poolShape struct {
	id          string
	connections []string
}

func (d *decoder) over() bool { return d.err != nil || d.ended }

func (d *decoder) fail(err error) {
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: it ends within the %s", errEncoding, digestParts[d.part])
	}
	if d.err == nil {
		d.err = err
	}
}

func (d *decoder) uint() uint64 {
	if d.over() {
		return 0
	}
	v, err := binary.ReadUvarint(d.r)
	if err != nil {
		d.fail(err)
	}
	return v
}

func (d *decoder) int() int64 {
	if d.over() {
		return 0
	}
	v, err := binary.ReadVarint(d.r)
	if err != nil {
		d.fail(err)
	}
	return v
}

// text reads a string with its length in front; memory grows with what is there.
func (d *decoder) text() string {
	n := d.uint()
	if d.over() || n == 0 {
		return ""
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, d.r, int64(min(n, 1<<40))); err != nil {
		d.fail(err)
	}
	return b.String()
}

func (d *decoder) give(order, name, value string) {
	if !d.over() {
		d.ended = !d.yield(item{part: d.part, order: order, name: name, value: value}, nil)
	}
}

// all reads part after part.
func (d *decoder) all() {
	for i, read := range []func(){
		func() { d.give("", "", fmt.Sprint("version ", d.uint())) },
		func() { d.give("", "", instant(d.int())) },
		d.poolDocuments,
		d.planDocuments,
		func() { d.give("", "", document(d.uint(), d.text())) },
		d.counters,
		d.meters,
		d.holds,
		d.routes,
		d.settled,
		d.providers,
		d.ids,
	} {
		if d.part = i; d.over() {
			return
		}
		read()
	}
}

func document(revision uint64, text string) string {
	return fmt.Sprintf("revision %d, %s", revision, text)
}

func (d *decoder) poolDocuments() {
	for n := d.uint(); n > 0 && !d.over(); n-- {
		id, revision, text := d.text(), d.uint(), d.text()
		var doc struct {
			Connections []struct{ ConnectionID string }
		}
		if err := json.Unmarshal([]byte(text), &doc); err != nil && !d.over() {
			d.fail(fmt.Errorf("%w: pool %q: %w", errEncoding, id, err))
		}
		shape := poolShape{id: id}
		for _, c := range doc.Connections {
			shape.connections = append(shape.connections, c.ConnectionID)
		}
		d.pools = append(d.pools, shape)
		d.give(id, fmt.Sprintf("pool %q", id), document(revision, text))
	}
}

func (d *decoder) planDocuments() {
	for n := d.uint(); n > 0 && !d.over(); n-- {
		id, revision, text := d.text(), d.uint(), d.text()
		d.give(id, fmt.Sprintf("plan of connection %q", id), document(revision, text))
	}
}

// counters reads what is known of each by connection, key, model, unit and window. No
// id has a zero byte, so those keep what they part in order.
func (d *decoder) counters() {
	for conn := d.text(); conn != "" && !d.over(); conn = d.text() {
		key, model, u, w := d.text(), d.text(), quota.Unit(d.uint()), quota.Window(d.uint())
		index, curr, prev := d.int(), quota.Amount(d.int()), quota.Amount(d.int())
		if d.over() || int(u) >= quota.NumUnits || int(w) >= quota.NumWindows {
			d.fail(fmt.Errorf("%w: a counter of %q", errEncoding, conn))
			return
		}
		name := fmt.Sprintf("%s %s of connection %q, ", u, w, conn)
		if key == "" {
			name += "all keys"
		} else {
			name += fmt.Sprintf("key %q", key)
		}
		if model != "" {
			name += fmt.Sprintf(", model %q", model)
		}
		d.give(conn+"\x00"+key+"\x00"+model+"\x00"+string([]byte{byte(u), byte(w)}), name,
			fmt.Sprintf("bucket %d has %s, the one before %s", index, curr.Format(u), prev.Format(u)))
	}
}

// rawRows reads keys with what each used, and says them in words.
func (d *decoder) rawRows(what string) (value string) {
	for n := d.uint(); n > 0 && !d.over(); n-- {
		key, row := d.text(), d.numbers(d.text())
		value += fmt.Sprintf("; %s %q %v", what, key, row)
	}
	return value
}

// numbers are the varints of a record.
func (d *decoder) numbers(record string) (list []int64) {
	for b := []byte(record); len(b) > 0; {
		v, n := binary.Varint(b)
		if n <= 0 {
			d.fail(fmt.Errorf("%w: a record %x", errEncoding, record))
			return nil
		}
		list, b = append(list, v), b[n:]
	}
	return list
}

func (d *decoder) meters() {
	for conn := d.text(); conn != "" && !d.over(); conn = d.text() {
		w, scope, head := d.uint(), d.text(), d.text()
		value := fmt.Sprintf("record %x", head) + d.rawRows("this cycle") + d.rawRows("next cycle")
		name := fmt.Sprintf("meter %s of connection %q", quota.Window(min(w, uint64(quota.Rate))), conn)
		if scope != "" {
			name += fmt.Sprintf(", scope %q", scope)
		}
		d.give(conn+"\x00"+string([]byte{byte(w)})+scope, name, value)
	}
}

func (d *decoder) amounts() (text string) {
	for u := range quota.Unit(quota.NumUnits) {
		if a := quota.Amount(d.int()); a != 0 {
			text += a.Format(u) + " " + u.String() + ", "
		}
	}
	return text
}

func (d *decoder) holds() {
	for n := d.uint(); n > 0 && !d.over(); n-- {
		id, key, conn, model := d.text(), d.text(), d.text(), d.text()
		amounts := d.amounts()
		end, lease, event := d.int(), d.int(), d.text()
		d.give(id, fmt.Sprintf("hold %x of key %q", id, key),
			fmt.Sprintf("connection %q, model %q, %sto %s, lease %d ms, by event %x", conn, model, amounts, instant(end), lease, event))
	}
}
