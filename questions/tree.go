package questions

import (
	"bytes"
	"fmt"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Subject is the subject of questions, and the type of a question that is
// wrapped in a CloudEvent.
const Subject = "quota.decide"

// readTree reads the message in any form.
func (r *Request) readTree(data []byte, enc wire.Encoding) *Error {
	if arrayBeyond(data, enc, MaxItems) {
		return tooMany()
	}
	v, err := wire.Parse(enc, data)
	if err != nil {
		return &Error{Code: CodeUndecodable, Message: err.Error()}
	}
	if v.Kind != wire.Array {
		return r.readQuestion(v)
	}
	if len(v.Items) > MaxItems {
		return tooMany()
	}
	r.IsArray = true
	for i := range v.Items {
		if err := r.readQuestion(v.Items[i]); err != nil {
			r.Bad = append(r.Bad, BadItem{i, err})
		}
	}
	return nil
}

func tooMany() *Error {
	return &Error{
		Code:    CodeTooMany,
		Message: fmt.Sprintf("the array has more than %d questions: split it", MaxItems),
	}
}

func (r *Request) readQuestion(v wire.Value) *Error {
	var faults wire.Faults
	if v.Kind != wire.Object {
		return invalid("the question is " + v.Kind.String() + ", not an object")
	}
	in, _ := wire.Read(v, "", &faults)
	if in.Has("specversion") {
		in = unwrap(in, r.subject())
	}
	if faults == nil {
		r.add().read(in, r.routes)
		if faults != nil {
			r.drop()
		}
	}
	if err := faults.Err(); err != nil {
		return invalid(err.Error())
	}
	return nil
}

// unwrap gives the question inside a CloudEvent, whose type is the subject.
func unwrap(event wire.Reader, subject string) wire.Reader {
	wire.Enum(event, "type", func(t string) (string, bool) { return t, t == subject }, subject)
	event.Need("data")
	question, _ := event.Object("data")
	return question
}

func invalid(message string) *Error { return &Error{Code: CodeInvalid, Message: message} }

func (q *Question) read(in wire.Reader, routes bool) {
	var have fields
	for f, name := range fieldNames {
		if in.Has(name) {
			have |= 1 << f
		}
	}
	q.APIKeyID = in.ID("apiKeyId")
	q.ConnectionID = in.ID("connectionId")
	q.Pool = in.ID("pool")
	q.Model = in.ID("model")
	q.RequestID = in.ID("requestId")
	q.Reserve, _ = in.Flag("reserve")
	q.Explain, _ = in.Flag("explain")
	q.LeaseMs, _ = in.Int("leaseMs", 1, MaxLeaseMs)
	if ms, ok := in.Int("maxWaitMs", 0, MaxMaxWaitMs); ok {
		q.MaxWaitMs = ms
	}
	seq, _ := in.Int("minSeq", 0, MaxSeq)
	q.MinSeq = uint64(seq)
	q.At = in.Instant("at")
	hasRequests := q.readEstimate(in)
	if routes {
		q.readRoute(in)
		q.readCandidates(in)
	}
	for _, f := range q.check(have, routes) {
		in.Fault(f.Field, f.Problem)
	}
	q.complete(hasRequests, routes)
}

// readEstimate takes no unknown unit: a typo would make the estimate nothing.
func (q *Question) readEstimate(in wire.Reader) (hasRequests bool) {
	estimate, ok := in.Object("estimate")
	if !ok {
		return false
	}
	var names [quota.NumUnits]string
	for u := range quota.Unit(quota.NumUnits) {
		names[u] = u.String()
		a, _ := estimate.Amount(names[u], u)
		if a < 0 {
			estimate.Fault(names[u], "is negative: an estimate is 0 or more")
		}
		q.Estimate[u] = a
	}
	estimate.Only(names[:]...)
	return estimate.Has(names[quota.Requests])
}

// arrayBeyond reports whether the document is an array of more than most items,
// from its header or its commas, so that a long array costs no tree. It need
// not be right about a document that is not well formed.
func arrayBeyond(data []byte, enc wire.Encoding, most int) bool {
	if enc == wire.Msgpack {
		s := msgpackScanner{doc: string(data[:min(len(data), 5)])}
		if s.kind() != wire.Array {
			return false
		}
		n, ok := s.open()
		return ok && n > most
	}
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && data[0] == '[' && commas(data, most) == most
}

// commas counts the commas between the items of a JSON array, up to most.
func commas(data []byte, most int) (n int) {
	depth, quoted := 0, false
	for i := 0; i < len(data) && n < most; i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ',' && depth == 1:
			n++
		}
	}
	return n
}
