package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// routes reads, pool by pool, the credits and who waits.
func (d *decoder) routes() {
	for _, p := range d.pools {
		if d.over() {
			return
		}
		credits := make([]int64, len(p.connections))
		for i := range credits {
			credits[i] = d.int()
		}
		given, wake := d.uint(), d.int()
		d.give(p.id+"\x00", fmt.Sprintf("turns of pool %q", p.id), fmt.Sprintf("credits %v, quantum given %d, next look at %d", credits, given, wake))
		waiting := uint64(0)
		keys := []string{}
		for n := d.uint(); n > 0 && !d.over(); n-- {
			key, savings, count := d.text(), d.int(), d.uint()
			waiting += count
			keys = append(keys, fmt.Sprintf("%q saved %d, %d wait", key, savings, count))
		}
		d.give(p.id+"\x00\x01", fmt.Sprintf("backlog of pool %q", p.id), fmt.Sprint(keys))
		for at := range waiting {
			if d.over() {
				return
			}
			d.waiting(p.id, at)
		}
	}
}

func (d *decoder) waiting(pool string, at uint64) {
	request, event, model := d.text(), d.text(), d.text()
	amounts := d.amounts()
	arrived, deadline, lease := d.int(), d.int(), d.int()
	candidates := ""
	for n := d.uint(); n > 0 && !d.over(); n-- {
		candidates += fmt.Sprintf(", candidate %q %d", d.text(), d.int())
	}
	d.give(pool+"\x00\x02"+string(binary.BigEndian.AppendUint64(nil, at)), fmt.Sprintf("place %d in the backlog of pool %q", at+1, pool),
		fmt.Sprintf("request %x by event %x, model %q, %sfrom %s to %s, lease %d ms%s", request, event, model, amounts, instant(arrived), instant(deadline), lease, candidates))
}

const (
	spanHour = 3_600_000
	spanDay  = 24 * spanHour
)

// since orders what is kept by spans of time, as the encoding does.
func since(at, span int64, id string) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(at/span))) + id
}

func (d *decoder) settled() {
	for request := d.text(); request != "" && !d.over(); request = d.text() {
		at := d.int()
		d.give(since(at, spanHour, request), fmt.Sprintf("request %x", request), "settled at "+instant(at))
	}
}

func (d *decoder) providers() {
	for n := d.uint(); n > 0 && !d.over(); n-- {
		conn, provider := d.text(), d.text()
		d.give(conn, fmt.Sprintf("connection %q", conn), "provider "+provider)
	}
}

// ids reads to the end.
func (d *decoder) ids() {
	for !d.over() {
		if _, err := d.r.Peek(1); errors.Is(err, io.EOF) {
			return
		}
		id, at, content := d.text(), d.int(), d.text()
		d.give(since(at, spanDay, id), fmt.Sprintf("id %x", id), fmt.Sprintf("content %x, folded at %s", content, instant(at)))
	}
}
