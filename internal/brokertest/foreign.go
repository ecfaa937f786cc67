package brokertest

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Foreign runs a broker of somebody else's, with JetStream and what the options say,
// and returns its URL.
func Foreign(t testing.TB, o *server.Options) string {
	t.Helper()
	o.Host, o.Port, o.JetStream, o.StoreDir, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT, true, t.TempDir(), true, true
	s, err := server.NewServer(o)
	must(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server accepts no connections")
	}
	return s.ClientURL()
}

// rights are those to publish that a document lists.
func rights(t testing.TB, document string) []string {
	t.Helper()
	text, err := os.ReadFile(document)
	must(t, err)
	_, from, _ := strings.Cut(string(text), "to publish:\n\n")
	block, _, found := strings.Cut(from, "\n\n")
	if !found {
		t.Fatalf("%s has no list of rights", document)
	}
	return strings.Fields(block)
}

// NeedsRights does work at a broker where it may publish what a document lists and
// nothing else. Each of those rights that names the bucket has to be used.
func NeedsRights(t testing.TB, document, bucket string, work func(url string)) {
	t.Helper()
	all := rights(t, document)
	url := Foreign(t, &server.Options{Users: []*server.User{
		{Username: "decider", Password: "x", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Allow: all}}},
		{Username: "watcher", Password: "x"},
	}})
	used := published(t, as("watcher", url), func() { work(as("decider", url)) })
	for _, right := range all {
		prefix, wild := strings.CutSuffix(right, ">")
		if strings.Contains(right, bucket) && !slices.ContainsFunc(used, func(subject string) bool {
			return subject == right || wild && strings.HasPrefix(subject, prefix)
		}) {
			t.Errorf("nothing needs the right to publish %s", right)
		}
	}
}

// published are the subjects of what is published during some work.
func published(t testing.TB, url string, work func()) (used []string) {
	t.Helper()
	watcher := Connect(t, url)
	seen := make(chan *nats.Msg, 1000)
	sub, err := watcher.ChanSubscribe(">", seen)
	must(t, err)
	must(t, watcher.Flush())
	work()
	must(t, errors.Join(watcher.Flush(), sub.Unsubscribe()))
	close(seen)
	for m := range seen {
		used = append(used, m.Subject)
	}
	return used
}

func as(user, url string) string { return strings.Replace(url, "://", "://"+user+":x@", 1) }
