// Package login is how a program says to a broker who it is: a user, a password, and the
// inbox that the user's rights are for.
//
// A file of one is made by quotashare nats-config and read with Read. Options are what a
// connection needs. The package knows no server, so that clients do not bring one along.
package login

import (
	"fmt"
	"os"
	"strings"

	"github.com/nats-io/nats.go"
)

// Login is a user of a broker.
type Login struct {
	User     string
	Password string
}

// mostBytes is far more than a file of a login has.
const mostBytes = 1024

// Read reads a file with one line, name:password. An error names the file, and never
// what is in it.
func Read(path string) (Login, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Login{}, err // it names the file
	}
	user, password, found := strings.Cut(strings.TrimSpace(string(data)), ":")
	if !found || user == "" || password == "" || len(data) > mostBytes || strings.ContainsAny(user+password, "\r\n") {
		return Login{}, fmt.Errorf("%s: is not one line with name:password: make it with quotashare nats-config", path)
	}
	return Login{User: user, Password: password}, nil
}

// Encode writes the file that Read reads.
func (l Login) Encode() []byte { return []byte(l.User + ":" + l.Password + "\n") }

// Inbox is where answers to the user come: the subjects below it are his alone. By
// default all clients of a broker share _INBOX, where each could read what is answered
// to the others.
func (l Login) Inbox() string { return Inbox(l.User) }

// Inbox is where answers to a user of that name come.
func Inbox(user string) string { return "_INBOX_" + user }

// Options make a connection that user's.
func (l Login) Options() []nats.Option {
	return []nats.Option{nats.UserInfo(l.User, l.Password), nats.CustomInboxPrefix(l.Inbox())}
}
