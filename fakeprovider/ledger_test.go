package fakeprovider

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/quotashare/quotashare/dialect"
)

// TestTheLedgerIsWhatAMeterReads cuts every kind of answer at every place: what
// a client can know of it is what was charged, exact where all was stated, and
// nobody can take a cut for an end.
func TestTheLedgerIsWhatAMeterReads(t *testing.T) {
	for _, cut := range []Cut{Uncut, BeforeHeader, BetweenParts, InsidePart, ErrorEvent} {
		for _, req := range requests {
			for after := range 18 {
				how := Behaviour{Cut: cut, CutAfter: after, Cached: 3}
				t.Run(fmt.Sprintf("%s/%s/%d", cuts[cut], req.name, after), func(t *testing.T) {
					rig := newRig(t, Options{Seed: 1, Behave: func(*http.Request) Behaviour { return how }})
					a := rig.ask(t, req.api, req.body)
					rig.server.Close()
					agree(t, rig.last(t), req.api, req.body, a)
				})
				if cut == Uncut || cut == BeforeHeader {
					break
				}
			}
		}
	}
}

// agree fails when the client and the ledger say different things of a
// request.
func agree(t interface{ Fatalf(string, ...any) }, c Charge, api dialect.API, request string, a answer) {
	total, estimated := metered(api, request, a)
	switch {
	case c.Total != total || c.Total != c.Prompt+c.Completion:
		t.Fatalf("charged %+v, the meter says %d (estimated %v) of\n%s", c, total, estimated, a.body)
	case estimated == c.Whole && total > 0:
		t.Fatalf("charged %+v, the meter says that estimated is %v", c, estimated)
	case c.Status != a.status:
		t.Fatalf("the ledger has status %d, the client %d", c.Status, a.status)
	case c.Open:
		t.Fatalf("%+v is still open", c)
	}
}

// TestCuts has what each cut means, in numbers: the twin above would be content
// with a provider that charges nothing at all.
func TestCuts(t *testing.T) {
	const (
		stated = 100 // of it 30 cached
		words  = 6   // tokens, one in each delta
	)
	tests := []struct {
		request int // of requests
		how     Behaviour
		ended   bool // as it should
		begun   bool // something is charged
		prompt  bool // as stated
		whole   bool
	}{
		{1, Behaviour{}, true, true, true, true},
		{1, Behaviour{Cut: BetweenParts}, false, false, false, false},
		{1, Behaviour{Cut: InsidePart}, false, true, false, false}, // inside the first event
		{1, Behaviour{Cut: BetweenParts, CutAfter: 1}, false, true, false, false},
		{1, Behaviour{Cut: BetweenParts, CutAfter: 8}, false, true, false, false}, // before the usage
		{1, Behaviour{Cut: InsidePart, CutAfter: 8}, false, true, false, false},
		{1, Behaviour{Cut: BetweenParts, CutAfter: 9}, false, true, true, true}, // before [DONE]
		{1, Behaviour{Cut: BetweenParts, CutAfter: 99}, false, true, true, true},
		{1, Behaviour{Cut: ErrorEvent, CutAfter: 1}, true, false, false, false}, // no text yet
		{1, Behaviour{Cut: ErrorEvent, CutAfter: 2}, true, true, false, false},
		{3, Behaviour{Cut: BetweenParts, CutAfter: 13}, false, true, false, false}, // before response.completed
		{3, Behaviour{Cut: BetweenParts, CutAfter: 14}, false, true, true, true},
		{3, Behaviour{Cut: ErrorEvent, CutAfter: 4}, true, false, false, false},
		{6, Behaviour{Cut: BetweenParts, CutAfter: 1}, false, true, true, false}, // message_start
		{6, Behaviour{Cut: ErrorEvent}, true, false, false, false},
		{6, Behaviour{Cut: ErrorEvent, CutAfter: 1}, true, true, true, false},
		{6, Behaviour{Cut: BetweenParts, CutAfter: 11}, false, true, true, true}, // message_delta
		{0, Behaviour{Cut: InsidePart}, false, true, false, false},
		{0, Behaviour{Cut: BetweenParts}, false, false, false, false},
		{0, Behaviour{Cut: BetweenParts, CutAfter: 4}, false, true, true, false},
		{4, Behaviour{Cut: BetweenParts, CutAfter: 4}, false, true, true, false},
	}
	for i, tt := range tests {
		req := requests[tt.request]
		tt.how.Prompt, tt.how.Cached, tt.how.Completion, tt.how.Chunks = stated, 30, words, words
		rig := newRig(t, Options{Behave: func(*http.Request) Behaviour { return tt.how }})
		a := rig.ask(t, req.api, req.body)
		rig.server.Close()
		c := rig.last(t)
		agree(t, c, req.api, req.body, a)

		asked, _ := dialect.Read(req.api, []byte(req.body))
		want := int64(0)
		switch {
		case tt.whole:
			want = stated + words
		case tt.prompt:
			want = stated + (c.Text+3)/4
		case tt.begun:
			want = asked.PromptTokens + (c.Text+3)/4
		}
		if c.Total != want || c.Whole != tt.whole {
			t.Errorf("%d: %s, %+v: charged %+v, not %d", i, req.name, tt.how, c, want)
		}
		if tt.ended != (a.err == nil) || !tt.ended && !errors.Is(a.err, io.ErrUnexpectedEOF) {
			t.Errorf("%d: %s, %+v: ended with %v", i, req.name, tt.how, a.err)
		}
	}
}
