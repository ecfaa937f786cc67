package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// azureHeader is the first line of an Azure LLM inference trace of 2023.
const azureHeader = "TIMESTAMP,ContextTokens,GeneratedTokens"

// keyColumn is what may follow: whose the requests were. The traces that were published
// do not say; one of one's own does.
const keyColumn = ",Key"

// ErrNotAzure is a file that does not start like an Azure trace.
var ErrNotAzure = errors.New("no Azure LLM inference trace: the first line is not " + azureHeader)

// Deal says whose the rows become of a trace that does not name its callers. Row n
// goes to key n modulo Keys; the keys are key-1, key-2, ….
type Deal struct {
	ConnectionID string
	Keys         int // 0 counts as 1
}

// NewAzure reads an Azure trace: TIMESTAMP in UTC, read to the millisecond,
// ContextTokens and GeneratedTokens. Each row is one request with the sum of
// the two. With a fourth column Key it is of that key, and nothing is dealt.
func NewAzure(src io.Reader, o Options, d Deal) *Reader {
	r := newReader(src, o)
	a := azure{deal: d}
	r.parse = a.row
	return r
}

type azure struct {
	deal Deal
	rows int
	head bool // the header was seen
	keys bool // and has the column Key
}

func (a *azure) row(r *Reader, line []byte) (Row, bool, error) {
	if !a.head {
		head, keys := strings.CutSuffix(string(bytes.TrimPrefix(line, []byte("\ufeff"))), keyColumn)
		if head != azureHeader {
			return Row{}, false, ErrNotAzure
		}
		a.head, a.keys = true, keys
		return Row{}, false, nil
	}
	a.rows++
	fields := strings.Split(string(line), ",")
	ms, tokens, err := a.fields(fields)
	if err != nil {
		return Row{Err: err}, true, nil
	}
	key := a.key(fields)
	rest := a.event("", key, ms+r.shift, tokens)
	return Row{Event: a.event(r.id("azure", rest), key, ms+r.shift, tokens), Time: ms + r.shift}, true, nil
}

// key is whose the current row is.
func (a *azure) key(fields []string) string {
	if a.keys {
		return fields[3]
	}
	return "key-" + strconv.Itoa((a.rows-1)%max(1, a.deal.Keys)+1)
}

// event writes the event of the current row; without an id it is what the id's
// digest is made of.
func (a *azure) event(id, key string, ms, tokens int64) []byte {
	w := wire.NewWriter(nil, wire.JSON)
	w.Object()
	if id != "" {
		w.Name("id")
		w.String(id)
	}
	w.Name("time")
	w.Instant(ms)
	w.Name("apiKeyId")
	w.String(key)
	w.Name("connectionId")
	w.String(a.deal.ConnectionID)
	w.Name("cost")
	w.Object()
	w.Name("requests")
	w.Int(1)
	w.Name("tokens")
	w.Int(tokens)
	w.End()
	w.End()
	return w.Bytes()
}

// fields reads one row. The seven decimals of the time are cut to the
// milliseconds that instants have.
func (a *azure) fields(f []string) (ms, tokens int64, err error) {
	want := 3
	if a.keys {
		want = 4
	}
	if len(f) != want {
		return 0, 0, fmt.Errorf("the row has %d fields, not %d", len(f), want)
	}
	if a.keys {
		if err := quota.ValidateID(f[3]); err != nil {
			return 0, 0, fmt.Errorf("the column Key: %q %w", f[3], err)
		}
	}
	t, err := time.Parse("2006-01-02 15:04:05", f[0])
	if err != nil {
		return 0, 0, fmt.Errorf("TIMESTAMP: %q is no time like 2023-11-16 18:15:46.6805900", f[0])
	}
	for i, name := range []string{"ContextTokens", "GeneratedTokens"} {
		n, err := strconv.ParseInt(f[i+1], 10, 64)
		if err != nil || n < 0 || n > int64(quota.Tokens.Max())/quota.Tokens.Scale() {
			return 0, 0, fmt.Errorf("%s: %q is no number of tokens", name, f[i+1])
		}
		tokens += n
	}
	return t.UnixMilli(), tokens, nil
}
