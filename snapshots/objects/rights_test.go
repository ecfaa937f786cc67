package objects

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// rights are those that the format's document names.
func rights(t *testing.T) (subjects []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/format/snapshot.md")
	if err != nil {
		t.Fatal(err)
	}
	_, from, _ := strings.Cut(string(text), "to publish:\n\n")
	block, _, found := strings.Cut(from, "\n\n")
	if !found {
		t.Fatal("the document has no list of rights")
	}
	return strings.Fields(block)
}

// With the rights of the document all of it works, and each of those for this bucket
// is used.
func TestTheRightsOfTheDocument(t *testing.T) {
	all := rights(t)
	url := foreign(t, &server.Options{Users: []*server.User{
		{Username: "decider", Password: "x", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Allow: all}}},
		{Username: "watcher", Password: "x"},
	}})
	watcher, err := nats.Connect(as("watcher", url))
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	published := make(chan *nats.Msg, 1000)
	sub, err := watcher.ChanSubscribe(">", published)
	if err != nil {
		t.Fatal(err)
	}
	if err := watcher.Flush(); err != nil {
		t.Fatal(err)
	}
	everything(t, as("decider", url))
	if err := errors.Join(watcher.Flush(), sub.Unsubscribe()); err != nil {
		t.Fatal(err)
	}
	close(published)
	var used []string
	for m := range published {
		used = append(used, m.Subject)
	}
	for _, right := range all {
		prefix, wild := strings.CutSuffix(right, ">")
		if strings.Contains(right, Bucket) && !slices.ContainsFunc(used, func(subject string) bool {
			return subject == right || wild && strings.HasPrefix(subject, prefix)
		}) {
			t.Errorf("nothing needs the right to publish %s", right)
		}
	}
}

func as(user, url string) string { return strings.Replace(url, "://", "://"+user+":x@", 1) }

func everything(t *testing.T, url string) {
	t.Helper()
	b := newBench(t, url)
	b.put(1, 3*pieceSize)
	b.put(2, 10)
	_, err := b.Newest(b.ctx(), b.into, anyOne)
	b.must(err)
	b.must(b.Remove(b.ctx(), 1))
	b.must(b.Sweep(b.ctx()))
	if got := b.listed(); !slices.Equal(got, []uint64{2}) {
		t.Errorf("listed %d", got)
	}
}
