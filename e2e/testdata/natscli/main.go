// Command nats stands in for the command line of NATS, natscli, on machines without it.
// It knows nats request with the flags, variables and error texts that examples/call-nats.sh
// relies on, and no others. Where there is the real one, the tests use that.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

func main() {
	flags := flag.NewFlagSet("nats request", flag.ExitOnError)
	_ = flags.Bool("raw", false, "print the answer alone")
	timeout := flags.Duration("timeout", 5*time.Second, "to wait for it")
	inbox := flags.String("inbox-prefix", nats.InboxPrefix, "where it comes to")
	m := nats.NewMsg("")
	flags.Func("H", "header, as name:value", func(text string) error {
		name, value, _ := strings.Cut(text, ":")
		m.Header.Set(name, value)
		return nil
	})
	if len(os.Args) < 2 || os.Args[1] != "request" || flags.Parse(os.Args[2:]) != nil || flags.NArg() != 2 {
		fail(fmt.Errorf("the stand-in knows nats request SUBJECT BODY alone, and not %q", os.Args[1:]))
	}
	m.Subject, m.Data = flags.Arg(0), []byte(flags.Arg(1))
	if err := request(m, *timeout, strings.TrimSuffix(*inbox, ".")); err != nil {
		fail(err)
	}
}

func request(m *nats.Msg, timeout time.Duration, inbox string) error {
	var refused sync.Once
	opts := []nats.Option{
		nats.CustomInboxPrefix(inbox), nats.Timeout(timeout),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			refused.Do(func() { fmt.Fprintln(os.Stderr, "Unexpected NATS error:", err) })
		}),
	}
	if user := os.Getenv("NATS_USER"); user != "" {
		opts = append(opts, nats.UserInfo(user, os.Getenv("NATS_PASSWORD")))
	}
	if token := os.Getenv("NATS_TOKEN"); token != "" {
		opts = append(opts, nats.Token(token))
	}
	if ca := os.Getenv("NATS_CA"); ca != "" {
		opts = append(opts, nats.RootCAs(ca))
	}
	nc, err := nats.Connect(cmp.Or(os.Getenv("NATS_URL"), nats.DefaultURL), opts...)
	if err != nil {
		return err
	}
	defer nc.Close()
	answer, err := nc.RequestMsg(m, timeout)
	if err == nats.ErrNoResponders {
		fmt.Fprintln(os.Stderr, "No responders are available")
		return nil // the real one too says that all is well
	}
	if err != nil {
		return err
	}
	fmt.Println(string(answer.Data))
	return nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "nats: error:", err)
	os.Exit(1)
}
