package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// An hour of traffic, and the first instant after it.
const (
	traceFile  = "trace.csv"
	traceStart = "2023-11-16T18:15:00Z"
	traceRows  = 19_366
	traceKeys  = 5
	traceAfter = "2023-11-16T19:15:00Z"
)

// makeTrace returns the lines of a trace, the header first. It is as one of Azure's
// recordings, whose licence keeps them out of this repository, of as many rows: times
// with seven decimals, of which some share a millisecond, mostly short requests and a
// few very long ones, and no line end after the last. Every hundredth row is the same as
// the one before of its key.
func makeTrace(t *testing.T) []string {
	t.Helper()
	start, err := time.Parse(time.RFC3339, traceStart)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(18, 15))
	at := make([]time.Duration, traceRows)
	for i := range at {
		at[i] = time.Duration(r.Int64N(int64(time.Hour)))
	}
	slices.Sort(at)
	lines := []string{"TIMESTAMP,ContextTokens,GeneratedTokens"}
	for i, d := range at {
		if i%100 == 99 {
			lines = append(lines, lines[len(lines)-traceKeys])
			continue
		}
		long := 1 << r.IntN(13)
		lines = append(lines, fmt.Sprintf("%s,%d,%d", start.Add(d).Format("2006-01-02 15:04:05.0000000"), long+r.IntN(2*long), r.IntN(400)))
	}
	return lines
}

// traceSums adds up the tokens of each key, to which the rows are dealt in
// turn, and of all.
func traceSums(t *testing.T, lines []string) (byKey [traceKeys]int64, total int64) {
	t.Helper()
	for i, line := range lines[1:] {
		for _, field := range strings.Split(strings.TrimSpace(line), ",")[1:] {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			byKey[i%traceKeys] += n
			total += n
		}
	}
	return byKey, total
}

// importer imports parts of the trace with the command line.
type importer struct {
	*process
	lines      []string
	connection string
}

// run imports the first rows of the trace and returns what the command says.
func (m *importer) run(rows int) string {
	m.t.Helper()
	path := filepath.Join(m.t.TempDir(), traceFile)
	part := []byte(strings.Join(m.lines[:rows+1], "\n"))
	if err := os.WriteFile(path, bytes.TrimRight(part, "\r\n"), 0o600); err != nil {
		m.t.Fatal(err)
	}
	return run(m.t, "quotashare", "import", path, "--trace", "azure", "--keys", strconv.Itoa(traceKeys),
		"--connection", m.connection, "--http-addr", strings.TrimPrefix(m.http, "http://"))
}

// decide asks about a key with the command line.
func (m *importer) decide(key int) answer {
	m.t.Helper()
	return parseAnswer(m.t, []byte(run(m.t, "quotashare", "decide", fmt.Sprintf("key-%d", key+1), "--connection", m.connection,
		"--at", traceAfter, "--explain", "--http-addr", strings.TrimPrefix(m.http, "http://"))))
}

// mustTotal compares what the keys consumed with the sums of the file.
func (m *importer) mustTotal() {
	m.t.Helper()
	byKey, total := traceSums(m.t, m.lines)
	sum := int64(0)
	for key := range traceKeys {
		a := m.decide(key)
		if len(a.Dimensions) != 2 {
			m.t.Fatalf("%+v", a)
		}
		tokens, requests := a.Dimensions[0], a.Dimensions[1]
		n, err := tokens.Consumed.Int64()
		if err != nil {
			m.t.Fatal(err)
		}
		sum += n
		if n != byKey[key] || tokens.ConsumedTotal.String() != strconv.FormatInt(total, 10) || requests.ConsumedTotal.String() != strconv.Itoa(traceRows) {
			m.t.Errorf("key-%d consumed %d of %s tokens, %s requests in all; want %d of %d, %d requests",
				key+1, n, tokens.ConsumedTotal, requests.ConsumedTotal, byKey[key], total, traceRows)
		}
	}
	if sum != total {
		m.t.Errorf("the keys consumed %d tokens, the file has %d", sum, total)
	}
}

func TestImportOfAnHourOfTraffic(t *testing.T) {
	lines := makeTrace(t)
	_, total := traceSums(t, lines)
	m := &importer{process: up(t, t.TempDir()), lines: lines, connection: "demo"}
	m.plan(total)
	for _, want := range []string{
		"19366 rows: 19366 folded, 0 duplicates, 0 late, 0 rejected, 0 refused\n",
		"19366 rows: 0 folded, 19366 duplicates, 0 late, 0 rejected, 0 refused\n",
	} {
		if got := m.run(traceRows); got != want {
			t.Errorf("the import says %q, want %q", got, want)
		}
		m.mustTotal()
	}
	m.mustHaveFolded(traceRows + 2)
}

// plan limits the connection to six tenths of the trace's tokens a day. Key 1
// has a small share, the others what is left.
func (m *importer) plan(total int64) {
	m.t.Helper()
	m.mustCall("PUT", "/api/quota/plans/"+m.connection, fmt.Sprintf(
		`{"dimensions":[{"unit":"tokens","window":"daily","limit":%d},{"unit":"requests","window":"daily","limit":0}]}`, total*6/10))
	m.mustCall("POST", "/api/quota/pools", fmt.Sprintf(`{"name":"Demo","provider":"custom","connectionIds":[%q],"allocations":[
		{"apiKeyId":"key-1","weight":5},{"apiKeyId":"key-2","weight":35},{"apiKeyId":"key-3","weight":20},
		{"apiKeyId":"key-4","weight":20},{"apiKeyId":"key-5","weight":20}]}`, m.connection))
}

func (m *importer) mustHaveFolded(want uint64) {
	m.t.Helper()
	if got := m.at(0).Counts.Folded; got != want {
		m.t.Errorf("%d events are folded, want %d", got, want)
	}
}

// The window fills: first everything is allowed, then who is beyond its share is
// blocked, then everybody.
func TestDecisionsChangeAsTheWindowFills(t *testing.T) {
	lines := makeTrace(t)
	_, total := traceSums(t, lines)
	m := &importer{process: up(t, t.TempDir()), lines: lines, connection: "demo"}
	m.plan(total)
	for _, step := range []struct {
		rows          int
		small, larger string // reasons of keys 1 and 2
	}{
		{traceRows / 4, "ok", "ok"},
		{traceRows / 2, "fair-share", "ok"},
		{traceRows, "global-saturated", "global-saturated"},
	} {
		m.run(step.rows)
		if small, larger := m.decide(0).Reason, m.decide(1).Reason; small != step.small || larger != step.larger {
			t.Errorf("after %d rows: key-1 %s, key-2 %s; want %s, %s", step.rows, small, larger, step.small, step.larger)
		}
	}
	// The rows that came before were in every later file too.
	m.mustTotal()
	m.mustHaveFolded(traceRows + 2)
}
