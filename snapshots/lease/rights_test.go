package lease

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
	w := newWorld(t, url)
	a, b := w.join("a"), w.join("b")
	a.turn(within(t))
	b.turn(within(t))
	if err := a.Confirm(within(t)); err != nil {
		t.Error(err)
	}
	a.giveBack(within(t))
	b.turn(within(t))
	if !b.Held() || w.said.Len() == 0 {
		t.Errorf("it was not passed on:\n%s", w.said.String())
	}
}
