package questions

import (
	"fmt"
	"math/bits"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// drawQuestion draws a question that could have been asked.
func drawQuestion(t *rapid.T) Question {
	id := rapid.StringMatching(`[ -~é]{1,12}`)
	maybe := func(name string) string {
		if rapid.Bool().Draw(t, name) {
			return id.Draw(t, name)
		}
		return ""
	}
	q := Question{
		APIKeyID: id.Draw(t, "key"), Model: maybe("model"), RequestID: maybe("request"),
		LeaseMs: rapid.Int64Range(0, MaxLeaseMs).Draw(t, "lease"), MinSeq: rapid.Uint64Range(0, MaxSeq).Draw(t, "minSeq"),
		MaxWaitMs: rapid.Int64Range(-1, MaxMaxWaitMs).Draw(t, "wait"), Explain: rapid.Bool().Draw(t, "explain"),
	}
	for u := range q.Estimate {
		if rapid.Bool().Draw(t, "unit") {
			q.Estimate[u] = quota.Amount(rapid.Int64Range(0, 1e12).Draw(t, "amount"))
		}
	}
	switch rapid.IntRange(0, 5).Draw(t, "way") {
	case 0:
		q.Pool = id.Draw(t, "pool")
	case 1:
		q.Pool, q.Reserve = id.Draw(t, "pool"), true
	case 2:
		q.Pool, q.Model, q.Reserve = id.Draw(t, "pool"), id.Draw(t, "routed"), true
		q.Route = RouteName(q.Pool, id.Draw(t, "provider"), q.Model)
	case 3:
		q.Reserve = true
		for i := range rapid.IntRange(1, 3).Draw(t, "candidates") {
			c := Candidate{ConnectionID: id.Draw(t, "candidate") + string(rune('a'+i))}
			if c.HasScore = rapid.Bool().Draw(t, "scored"); c.HasScore {
				c.Score = quota.Ratio(rapid.Int64Range(0, int64(MaxScore)).Draw(t, "score"))
			}
			q.Candidates = append(q.Candidates, c)
		}
	case 4:
		q.ConnectionID, q.Reserve = id.Draw(t, "connection"), true
	default:
		q.ConnectionID = id.Draw(t, "connection")
		q.At = rapid.SampledFrom([]int64{0, 1_790_000_000_001}).Draw(t, "at")
	}
	return q
}

// TestAQuestionIsReadAsItIsWritten, by whoever answers questions, in both ways.
func TestAQuestionIsReadAsItIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawQuestion(t)
		data := AppendQuestion(nil, &q)
		var r, slow Request
		decode := r.Decode
		if slow.routes = q.Routed(); slow.routes {
			decode = r.DecodeRoute
		}
		if err := decode(data, wire.JSON); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if err := slow.readTree(data, wire.JSON); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		for _, got := range []Question{r.Questions[0], slow.Questions[0]} {
			if diff := cmp.Diff(q, got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", data, diff)
			}
		}
	})
}

// TestEqualQuestionsHaveOneForm: what is left out, and what is not.
func TestEqualQuestionsHaveOneForm(t *testing.T) {
	for text, want := range map[string]string{
		`{"maxWaitMs":0,"pool":"p","estimate":{"tokens":"1.50","usd":0},"apiKeyId":"k","explain":true,"reserve":false}`: `{"apiKeyId":"k","pool":"p","estimate":{"tokens":1.5},"maxWaitMs":0,"explain":true}`,
		`{"apiKeyId":"k","connectionId":"c","reserve":true}`:                                                            `{"apiKeyId":"k","connectionId":"c","estimate":{"requests":1},"reserve":true}`,
		`{"apiKeyId":"k","connectionId":"c","reserve":true,"estimate":{"requests":0,"percent":2},"leaseMs":5}`:          `{"apiKeyId":"k","connectionId":"c","estimate":{"requests":0,"percent":2},"reserve":true,"leaseMs":5}`,
		`{"apiKeyId":"k","connectionId":"c","estimate":{"requests":0},"minSeq":0,"at":1790000000000}`:                   `{"apiKeyId":"k","connectionId":"c","at":"2026-09-21T14:13:20.000Z"}`,
	} {
		var r Request
		if err := r.Decode([]byte(text), wire.JSON); err != nil {
			t.Fatal(err)
		}
		if got := string(AppendQuestion(nil, &r.Questions[0])); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// TestRecordsAreReadAsTheyAreWritten, and share no memory with what they are of.
func TestRecordsAreReadAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []Record
		for range rapid.IntRange(0, 3).Draw(t, "records") {
			q, r := drawQuestion(t), drawReply(t)
			r.Candidates = nil // not kept
			r.HTTPStatus, r.DecisionID = 200, "p1-0"
			c := Keep(&q, r)
			c.Time, c.Index = 1_790_000_000_000, rapid.IntRange(FromView, MaxItems-1).Draw(t, "index")
			c.Local = rapid.Bool().Draw(t, "local")
			for n := rapid.SampledFrom([]int{1, 2, 3, MostIDs, MostIDs + 1, MostIDs + 2, 500}).Draw(t, "count"); c.Count < n; {
				c.Join(Answered{
					fmt.Sprint("p1-", c.Count), rapid.SampledFrom([]string{"", "r"}).Draw(t, "request"), c.Time + int64(c.Count%3), rapid.IntRange(FromView, 2).Draw(t, "index"),
					AsOf{uint64(c.Count), c.Time, int64(c.Count % 2)},
				})
			}
			c.Process = "p1"
			if rapid.Bool().Draw(t, "pooled") {
				c.PoolID, c.ConnectionID = "p", "c"
			}
			list = append(list, c)
		}
		got, err := ParseRecords(AppendRecords(nil, list))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(list, got, emptyIsNil); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
	r := blocked()
	c := Keep(&Question{}, r)
	r.Alternatives[0], r.Degraded[0] = "x", "x"
	if c.Reply.Alternatives[0] == "x" || c.Reply.Degraded[0] == "x" {
		t.Error("the record has the reply's lists")
	}
}

// TestARecordNamesTheFirstAnswersAndTheLast, however many there are.
func TestARecordNamesTheFirstAnswersAndTheLast(t *testing.T) {
	r := blocked()
	r.DecisionID = "p-1"
	c := Keep(&Question{}, r)
	if c.Others != nil || !c.Names("p-1") || c.Names("p-2") || c.Names("") {
		t.Errorf("of one answer it names others: %+v", c.Others)
	}
	for n := 2; n <= 3*MostIDs; n++ {
		c.Join(Answered{DecisionID: fmt.Sprint("p-", n), AsOf: AsOf{Seq: uint64(n)}})
		for i := 1; i <= n+1; i++ {
			if got, want := c.Names(fmt.Sprint("p-", i)), i <= MostIDs && i <= n || i == n; got != want {
				t.Fatalf("of %d answers, it names the %dth: %v", n, i, got)
			}
		}
		if want := min(n, MostIDs+1); c.Count != n || len(c.Others)+1 != want {
			t.Fatalf("of %d answers it counts %d and names %d, want %d", n, c.Count, len(c.Others)+1, want)
		}
		list, counted := c.Split()
		if last := &list[len(list)-1]; len(list)+counted != n || counted != max(0, n-MostIDs-1) || last.Reply.AsOf.Seq != uint64(n) {
			t.Fatalf("%d answers are %d records and %d more, the last at %d", n, len(list), counted, last.Reply.AsOf.Seq)
		}
	}
}

// TestAnAnswerIsTakenOutOfItsRow with where and when it was given, and for which
// request.
func TestAnAnswerIsTakenOutOfItsRow(t *testing.T) {
	q := Question{APIKeyID: "alice", ConnectionID: "c", RequestID: "r-1"}
	row := Keep(&q, blocked())
	row.Time, row.ConnectionID, row.Process = 1_790_000_000_000, "c", "k3"
	row.Join(Answered{"d-8", "r-2", 1_790_000_000_007, 4, AsOf{301, 1_790_000_000_006, 3}})
	if diff := cmp.Diff(row, row.Of("d-7")); diff != "" {
		t.Errorf("the first (-row +got):\n%s", diff)
	}
	want := row
	want.Time, want.Index, want.Count, want.Others, want.ReplyOf = 1_790_000_000_007, 4, 1, nil, "d-7"
	want.Question.RequestID, want.Reply.RequestID, want.Reply.DecisionID, want.Reply.AsOf = "r-2", "r-2", "d-8", AsOf{301, 1_790_000_000_006, 3}
	if diff := cmp.Diff(want, row.Of("d-8")); diff != "" {
		t.Errorf("the second (-want +got):\n%s", diff)
	}
	list, counted := row.Split()
	if diff := cmp.Diff(want, list[1]); diff != "" || counted != 0 || len(list) != 2 || list[0].Count != 1 || list[0].ReplyOf != "" {
		t.Errorf("%d are counted beside %+v (-want +got):\n%s", counted, list, diff)
	}
	got, err := ParseRecords(AppendRecords(nil, list))
	if err != nil || got[1].ReplyOf != "d-7" {
		t.Errorf("read is %+v, %v", got, err)
	}
}

// TestARowOfAnEarlierVersion names the others, and does not know where they were given.
func TestARowOfAnEarlierVersion(t *testing.T) {
	old, err := os.ReadFile("testdata/recordsold.json")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := ParseRecords(old)
	if err != nil {
		t.Fatal(err)
	}
	row := &rows[0]
	if row.Count != 3 || !row.Names("d-7") || !row.Names("k3f9x2ab-1f") {
		t.Errorf("it counts %d, and names %+v", row.Count, row.Others)
	}
	if diff := cmp.Diff(*row, row.Of("k3f9x2ab-1f")); diff != "" {
		t.Errorf("what is not known is made up (-row +got):\n%s", diff)
	}
	if list, counted := row.Split(); len(list) != 1 || counted != 2 {
		t.Errorf("%d are taken out of it, %d counted", len(list), counted)
	}
	if got := AppendRecords(nil, rows); string(got) != strings.TrimSpace(string(old)) {
		t.Errorf("written again it is\n%s", got)
	}
}

// TestRecordGolden fixes the bytes of a row.
func TestRecordGolden(t *testing.T) {
	q := Question{APIKeyID: "alice", ConnectionID: "c", Reserve: true, LeaseMs: 300_000, RequestID: "r-1", MinSeq: 7, MaxWaitMs: 100}
	q.Estimate[quota.Requests] = 1000
	c := Keep(&q, blocked())
	c.Time, c.Index, c.ConnectionID, c.PoolID, c.Process = 1_790_000_000_000, 0, "c", "p", "k3f9x2ab"
	c.Join(Answered{"k3f9x2ab-1d", "r-2", 1_790_000_000_020, FromView, AsOf{301, 1_790_000_000_019, 12}})
	c.Join(Answered{"k3f9x2ab-1f", "", 1_790_000_000_040, 3, AsOf{302, 1_790_000_000_040, 0}})
	seen := Keep(&Question{APIKeyID: "bob", Pool: "p", MaxWaitMs: -1}, typicalReply())
	seen.Time, seen.Process = 1_790_000_000_001, "k3f9x2ab"
	routed := Keep(&Question{APIKeyID: "bob", Candidates: []Candidate{{ConnectionID: "b", Score: 500_000, HasScore: true}, {ConnectionID: "d"}}, Reserve: true, MaxWaitMs: 0}, blocked())
	routed.Time, routed.Process = 1_790_000_000_002, "k3f9x2ab"
	golden(t, "records.json", append(AppendRecords(nil, []Record{c, seen, routed}), '\n'))
}

func TestWhatIsNoRecord(t *testing.T) {
	for text, want := range map[string]string{
		`{`:    "the message is not well formed: unexpected EOF",
		`{}`:   "the document is an object, not an array of records",
		`[7]`:  "[0] is a number, not an object",
		`[{}]`: "[0].time is missing; [0].count is missing; [0].process is missing; [0].question is missing; [0].reply is missing",
		`[{"time":1790000000000,"index":1000,"count":0,"decisionIds":[""],"process":"p","question":{},"reply":{"decision":"allow"}}]`:                                                                                      "[0].index is not within 0 to 999; [0].count is not within 1 to 2147483647; [0].question.apiKeyId is missing: name the key that asks; [0].question.connectionId is missing: name a connection, or a pool; [0].decisionIds[0] is empty",
		`[{"time":1790000000000,"count":2,"decisionIds":["a","b"],"answers":[{"seq":1,"time":1790000000000}],"process":"p","question":{"apiKeyId":"a","connectionId":"c"},"reply":{"decisionId":"a","decision":"block"}}]`: "[0].answers has 1 items, and decisionIds has 2",
		`[{"time":1790000000000,"count":2,"decisionIds":["a","b"],"answers":[{},{"index":-1,"lagMs":-1}],"process":"p","question":{"apiKeyId":"a","connectionId":"c"},"reply":{"decisionId":"a","decision":"block"}}]`:     "[0].answers[1].seq is missing; [0].answers[1].index is not within 0 to 999; [0].answers[1].time is missing; [0].answers[1].lagMs is not within 0 to 9007199254740992",
	} {
		if _, err := ParseRecords([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestKinds(t *testing.T) {
	for want, r := range map[string]Reply{Allow: {Allow: true}, Block: {}, WouldBlock: {Allow: true, WouldBlock: true}} {
		if got := r.Kind(); got != want {
			t.Errorf("%+v is %s, want %s", r, got, want)
		}
	}
}

// TestSampled: the part that was asked for, the same for the same, more of a larger
// part, and neither key nor id alone decides.
func TestSampled(t *testing.T) {
	const n = 100_000
	for _, part := range []quota.Ratio{0, 1, 10_000, 500_000, quota.RatioOne} {
		count := 0
		for i := range n {
			key, id := fmt.Sprint("key ", i%10), fmt.Sprint("request-", i)
			if !Sampled(key, id, part) {
				continue
			}
			count++
			if !Sampled(key, id, part) || !Sampled(key, id, part+1) {
				t.Fatalf("%s %s is not chosen again", key, id)
			}
		}
		want := n * float64(part) / float64(quota.RatioOne)
		if diff := float64(count) - want; diff*diff > 25*want*(1-want/n)+1 { // five deviations
			t.Errorf("part %s: %d of %d", part, count, n)
		}
	}
	if Sampled("a", "bc", quota.RatioOne) != true || Sampled("a", "bc", 0) {
		t.Error("all are not all, or none not none")
	}
	scaled, _ := bits.Mul64(hash(hash(0, "alice"), "r-1"), uint64(quota.RatioOne))
	if at := quota.Ratio(scaled); Sampled("alice", "r-1", at) || !Sampled("alice", "r-1", at+1) {
		t.Errorf("not chosen from %d on", scaled+1)
	}
	same := 0
	for i := range 1000 {
		a, b := fmt.Sprint(i), fmt.Sprint(i, i)
		if Sampled(a, b, 500_000) == Sampled(b, a, 500_000) {
			same++
		}
		if hash(hash(0, a+"x"), b) == hash(hash(0, a), "x"+b) {
			t.Errorf("%q+%q and %q+%q are one", a+"x", b, a, "x"+b)
		}
	}
	if same < 400 || same > 600 {
		t.Errorf("%d of 1000 the same with key and id exchanged", same)
	}
}
