package fakeprovider

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseBehaviour(t *testing.T) {
	for text, want := range map[string]Behaviour{
		"status=429&retry-after=30s":      {Status: 429, RetryAfter: 30 * time.Second},
		"cut=inside&cut-after=3":          {Cut: InsidePart, CutAfter: 3},
		"cut=no":                          {},
		"cut=before":                      {Cut: BeforeHeader},
		"cut=between":                     {Cut: BetweenParts},
		"cut=error":                       {Cut: ErrorEvent},
		"first-byte-delay=20ms&delay=5ms": {FirstByteDelay: 20 * time.Millisecond, Delay: 5 * time.Millisecond},
		"prompt=1&cached=2&completion=3":  {Prompt: 1, Cached: 2, Completion: 3},
		"reasoning=4&chunks=5&status=200": {Reasoning: 4, Chunks: 5, Status: 200},
		"status=500&status=599":           {Status: 599},
	} {
		got, err := ParseBehaviour(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"status":         `header Fake-Provider: status is "": use a number from 0`,
		"status=199":     `header Fake-Provider: status is 199: use one from 200 to 599`,
		"status=600":     `header Fake-Provider: status is 600: use one from 200 to 599`,
		"chunks=-1":      `header Fake-Provider: chunks is "-1": use a number from 0`,
		"delay=5":        `header Fake-Provider: delay is "5": use a duration such as 20ms`,
		"delay=-5s":      `header Fake-Provider: delay is "-5s": use a duration such as 20ms`,
		"cut=3":          `header Fake-Provider: cut is "3": use one of ["no" "before" "between" "inside" "error"]`,
		"wait=3":         `header Fake-Provider: wait is no field of a behaviour`,
		"prompt=1;cut=3": `header Fake-Provider is no query: invalid semicolon separator in query`,
	} {
		got, err := ParseBehaviour(text)
		if err == nil || err.Error() != want || got != (Behaviour{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// TestHead: a HEAD of the models is answered as a GET but for its body.
func TestHead(t *testing.T) {
	rig := newRig(t, Options{})
	resp, err := rig.server.Client().Head(rig.server.URL + "/v1/models")
	if err != nil || resp.StatusCode != 200 || resp.ContentLength < 100 {
		t.Fatalf("%+v, %v", resp, err)
	}
	_ = resp.Body.Close()
}

// TestSeed: the same seed and requests give the same answers, another one
// others.
func TestSeed(t *testing.T) {
	answer := func(seed uint64) (body, id string) {
		p := New(Options{Seed: seed, Now: func() time.Time { return start }})
		w := httptest.NewRecorder()
		for _, req := range requests {
			p.ServeHTTP(w, post(req.api.String(), req.body))
		}
		return w.Body.String(), w.Header().Get("X-Request-Id")
	}
	body, id := answer(1)
	if again, same := answer(1); again != body || same != id {
		t.Error("the same seed gives other answers")
	}
	if other, unlike := answer(2); other == body || unlike == id {
		t.Errorf("another seed gives the same answers, or the id %s", id)
	}
}
