package events

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Bounds of a Rejected, so that it always fits into one message of its stream.
const (
	MaxRejectedData    = 256 << 10 // bytes before base64
	maxRejectedHeaders = 64 << 10  // bytes of names and values
	minRejectedHeaders = 1 << 10
)

// headerRoom is how many bytes of headers the record of that index may have.
// All events of an array repeat the headers of their message: 1,000 times 64 KiB
// would be 64 MB from one message. Dividing by the place bounds the sum, to
// 64 KiB × ln 1000 plus what the least room allows, and needs no knowledge of the
// other events.
func headerRoom(index int) int { return max(minRejectedHeaders, maxRejectedHeaders/(index+1)) }

// Rejected is what stream QUOTA_REJECTED keeps of an event that was not folded.
type Rejected struct {
	Seq       uint64
	Index     int
	Subject   string
	Reason    Reason
	Message   string
	Time      int64 // broker's timestamp, epoch ms
	Headers   map[string][]string
	Data      []byte // of the event alone; at most MaxRejectedData
	Truncated bool   // Data or Headers are not all there was
}

// NewRejected returns the record of why the event at a place of the message was
// not folded; raw is the event's bytes. It shares memory with the message.
func NewRejected(m *Message, index int, why *Rejection, raw []byte) Rejected {
	r := Rejected{
		Seq: m.Seq, Index: index, Subject: m.Subject, Time: m.Time,
		Reason: why.Reason, Message: why.Message, Headers: m.Header, Data: raw,
	}
	if len(raw) > MaxRejectedData {
		r.Data, r.Truncated = raw[:MaxRejectedData], true
	}
	size := 0
	for name, values := range m.Header {
		size += len(name)
		for _, value := range values {
			size += len(value)
		}
	}
	if size > headerRoom(index) {
		r.Headers, r.Truncated = nil, true
	}
	return r
}

// AppendJSON appends the record as it is published. Its bytes depend on the
// record alone, so several deciders publish the same.
func (r *Rejected) AppendJSON(dst []byte) []byte {
	w := wire.NewWriter(dst, wire.JSON)
	w.Object()
	w.Name("seq")
	w.Uint(r.Seq)
	w.Name("index")
	w.Int(int64(r.Index))
	w.Name("subject")
	w.String(r.Subject)
	w.Name("reason")
	w.String(string(r.Reason))
	w.Name("message")
	w.String(r.Message)
	w.Name("time")
	w.Instant(r.Time)
	r.writeHeaders(&w)
	w.Name("data")
	w.String(base64.StdEncoding.EncodeToString(r.Data))
	writeFlag(&w, "truncated", r.Truncated)
	w.End()
	return w.Bytes()
}

// writeHeaders writes an empty object when there are none, so that a reader
// need not look first.
func (r *Rejected) writeHeaders(w *wire.Writer) {
	w.Name("headers")
	w.Object()
	for _, name := range sortedNames(r.Headers) {
		w.Name(name)
		w.Array()
		for _, value := range r.Headers[name] {
			w.String(value)
		}
		w.End()
	}
	w.End()
}

// ParseRejected reads what AppendJSON wrote. Bytes of subject and headers that
// are no UTF-8 come back as U+FFFD.
func ParseRejected(data []byte) (Rejected, error) {
	var doc struct {
		Seq       uint64              `json:"seq"`
		Index     int                 `json:"index"`
		Subject   string              `json:"subject"`
		Reason    Reason              `json:"reason"`
		Message   string              `json:"message"`
		Time      string              `json:"time"`
		Headers   map[string][]string `json:"headers"`
		Data      []byte              `json:"data"`
		Truncated bool                `json:"truncated"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return Rejected{}, fmt.Errorf("the record is not one of a rejected event: %w", err)
	}
	ms, err := quota.ParseInstant(doc.Time)
	if err != nil {
		return Rejected{}, fmt.Errorf("time %w", err)
	}
	return Rejected{
		Seq: doc.Seq, Index: doc.Index, Subject: doc.Subject, Reason: doc.Reason, Message: doc.Message,
		Time: ms, Headers: doc.Headers, Data: doc.Data, Truncated: doc.Truncated,
	}, nil
}
