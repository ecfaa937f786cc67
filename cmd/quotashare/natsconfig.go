package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/ingest/natsusers"
	"github.com/quotashare/quotashare/ingest/natsusers/login"
	"github.com/quotashare/quotashare/internal/program"
)

// natsUsersCmd makes the users of a broker, and needs none.
type natsUsersCmd struct {
	Out     string   `required:"" placeholder:"DIR" help:"Where the configuration and the logins are written, for their owner alone."`
	Gateway []string `placeholder:"NAME" help:"A gateway that shall have a user of its own; may be repeated, and those there are stay (gateway)."`
	Rotate  []string `placeholder:"NAME" help:"A user who gets another password; may be repeated."`
	Remove  []string `placeholder:"NAME" help:"A gateway that has a user no more; may be repeated."`
	Isolate bool     `help:"Give each gateway an account of its own, which only what it may do leads out of."`
}

// Help is what the command's help adds.
func (*natsUsersCmd) Help() string {
	return `
It writes DIR/nats.conf, which "quotashare up", "quotashare ingest" and any nats-server read, and
a login for each user, DIR/NAME.user, with one line name:password:

  ingest    makes the streams, and takes events over HTTP
  decider   folds the log, answers, and writes configuration for its HTTP API
  admin     does everything: for the nats command line, with --inbox-prefix _INBOX_admin
  viewer    reads the log: replay, verify
  gateway   publishes usage and asks, and reads nothing but answers to itself

Run again, it keeps users and passwords, and finishes what a run that was killed began. It may
be run with a new version to give the users the rights that this version needs. A server reads
the file at its start.`
}

func (n *natsUsersCmd) run(_ context.Context, p program.Process) error {
	made, err := natsusers.Write(n.Out, natsusers.Want{Gateways: n.Gateway, Rotate: n.Rotate, Remove: n.Remove, Isolate: n.Isolate})
	switch {
	case errors.Is(err, natsusers.ErrIsolated):
		return program.Hint(err, "add --isolate, or begin in another directory with users that have other passwords")
	case errors.Is(err, natsusers.ErrBusy):
		return program.Hint(err, "run this one again when the other one is done")
	case errors.Is(err, natsusers.ErrOtherFile):
		return program.Hint(err, "put the file back that belongs to it, or make another password with --rotate")
	case err != nil:
		return err
	}
	file := filepath.Join(n.Out, natsusers.ConfigName)
	fmt.Fprintf(p.Stdout, "%s has these users; it is for its owner alone, and so are the logins:\n\n", file)
	if err := sayUsers(p.Stdout, made); err != nil {
		return err
	}
	return sayNext(p.Stdout, n.Out, made, n.Isolate)
}

func sayUsers(w io.Writer, made []natsusers.Written) error {
	rows := [][]string{{"USER", "ROLE", "LOGIN", "PASSWORD"}}
	for _, u := range made {
		file, fate := u.File, string(u.Fate)
		if u.Fate == natsusers.Unknown {
			file, fate = "", "kept; its login is not here"
		}
		rows = append(rows, []string{u.User, string(u.Role), file, fate})
	}
	return table(w, rows...)
}

// sayNext says what to do with the files.
func sayNext(w io.Writer, dir string, made []natsusers.Written, isolated bool) error {
	fmt.Fprintln(w, "\nNext, start the server with it, each node of a cluster with the same file, and who is no part of the server with a login:")
	fmt.Fprintln(w)
	rows := [][]string{
		{"  quotashare up", "--nats-config " + filepath.Join(dir, natsusers.ConfigName), "or ingest, where that is the server"},
		{"  ingest", "--store-nats-user " + filepath.Join(dir, "ingest.user"), "where it is none"},
		{"  decider", "--store-nats-user " + filepath.Join(dir, "decider.user"), ""},
		{"  quotashare verify", "--store-nats-user " + filepath.Join(dir, "viewer.user"), "replay too"},
	}
	for _, u := range made {
		if u.Role == natsusers.Gateway {
			rows = append(rows, []string{"  gateway", "--store-nats-user " + u.File, "clients of your own: " + needs(u.User, isolated)})
		}
	}
	if err := table(w, rows...); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s=FILE is the same as the flag. A login that is where it is needed may be deleted here.\n%s",
		config.Variable("store-nats-user"), moved(isolated))
	return err
}

// needs is what a client must be told.
func needs(user string, isolated bool) string {
	if isolated || user == string(natsusers.Gateway) {
		return "user and password"
	}
	return "user, password, and the inbox prefix " + login.Inbox(user)
}

// moved is what becomes of a log that is there.
func moved(isolated bool) string {
	if isolated {
		return "A log that is there is in another account now: the server will say how it is moved.\n"
	}
	return ""
}
