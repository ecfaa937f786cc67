package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/keyfile"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// keysCmd works on the key file of a gateway, and needs no engine: that a key
// exists is the gateway's business, what share it has is the engine's.
type keysCmd struct {
	List   keysListCmd   `cmd:"" default:"withargs" help:"List the tokens that were issued, by their first characters."`
	Issue  keysIssueCmd  `cmd:"" help:"Make a token for an API key, and print it: it cannot be had again."`
	Revoke keysRevokeCmd `cmd:"" help:"Take one token of an API key back, or all of them."`
}

// keysFile is where the tokens are.
type keysFile struct {
	KeysFile string `placeholder:"FILE" help:"Where the gateway has the tokens, as hashes (keys.json in the data directory)."`
	DataDir  string `placeholder:"DIR" help:"The data directory, of the gateway too (./data)."`
}

func (k *keysFile) path() string { return config.KeysFile(k.KeysFile, k.DataDir) }

type keysIssueCmd struct {
	ID       string `required:"" placeholder:"KEY" help:"The id of the API key, as in allocations."`
	keysFile `embed:"" group:"Configuration"`
}

// run prints the token alone, so that it can be put into a variable; what a
// person wants to know beside it goes to the other stream.
func (i *keysIssueCmd) run(_ context.Context, p program.Process) error {
	token, err := keyfile.Issue(i.path(), i.ID, time.Now())
	if err != nil {
		return err
	}
	prefix := token[:keyfile.PrefixLength]
	if _, err := fmt.Fprintln(p.Stdout, token); err != nil {
		return program.Hint(fmt.Errorf("the token cannot be printed: %w", err),
			"nobody has it now; revoke the one that begins with %s, and issue another", prefix)
	}
	fmt.Fprintf(p.Stderr, "a token of %s; it is shown only now. %s has its hash, and knows it by %s\n",
		configfile.Show(i.ID), i.path(), prefix)
	return nil
}

type keysListCmd struct {
	ID       string `placeholder:"KEY" help:"Only the tokens of this API key."`
	JSON     bool   `name:"json" help:"Print it as JSON."`
	keysFile `embed:"" group:"Configuration"`
}

func (l *keysListCmd) run(_ context.Context, p program.Process) error {
	keys, err := l.keys()
	switch {
	case errors.Is(err, fs.ErrNotExist): // as for a gateway: one without keys
		fmt.Fprintf(p.Stderr, "%s is not there: no token was issued into it\n", l.path())
	case err != nil:
		return err
	}
	if keyfile.Exposed(l.path()) {
		fmt.Fprintf(p.Stderr, "warning: others than its owner may read or write %s: chmod 600 it\n", l.path())
	}
	if l.JSON {
		return show(p.Stdout, keysJSON(keys))
	}
	return sayTokens(p.Stdout, keys)
}

func (l *keysListCmd) keys() ([]keyfile.Key, error) {
	all, err := keyfile.List(l.path())
	if l.ID == "" {
		return all, err
	}
	var keys []keyfile.Key
	for _, k := range all {
		if k.ID == l.ID {
			keys = append(keys, k)
		}
	}
	return keys, err
}

func sayTokens(w io.Writer, keys []keyfile.Key) error {
	rows := [][]string{{"KEY", "TOKEN", "CREATED"}}
	for _, k := range keys {
		rows = append(rows, []string{configfile.Show(k.ID), configfile.Show(k.Prefix), quota.FormatInstant(k.CreatedAt.UnixMilli())})
	}
	return table(w, rows...)
}

func keysJSON(keys []keyfile.Key) []byte {
	w := wire.NewWriter(nil, wire.JSON)
	w.Object()
	w.Name("keys")
	w.Array()
	for _, k := range keys {
		w.Object()
		w.Name("id")
		w.String(k.ID)
		w.Name("prefix")
		w.String(k.Prefix)
		w.Name("createdAt")
		w.Instant(k.CreatedAt.UnixMilli())
		w.End()
	}
	w.End()
	w.Name("total")
	w.Int(int64(len(keys)))
	w.End()
	return w.Bytes()
}

type keysRevokeCmd struct {
	ID          string  `required:"" placeholder:"KEY" help:"The id of the API key."`
	TokenPrefix *string `placeholder:"TEXT" help:"Only the token that list shows by this, such as qs-ab12; all of the key's else."`
	keysFile    `embed:"" group:"Configuration"`
}

func (r *keysRevokeCmd) run(_ context.Context, p program.Process) error {
	var prefix string
	if r.TokenPrefix != nil {
		if prefix = strings.TrimSpace(*r.TokenPrefix); prefix == "" { // an empty variable of a script, say
			return errors.New("--token-prefix is empty: leave it out to revoke all of the key's tokens")
		}
	}
	revoked, err := keyfile.Revoke(r.path(), r.ID, prefix)
	switch {
	case errors.Is(err, keyfile.ErrNoSuchToken):
		return program.Hint(fmt.Errorf("%s has no such token", configfile.Show(r.ID)), "%s keys list shows which there are", p.Name)
	case errors.Is(err, fs.ErrNotExist):
		return program.Hint(fmt.Errorf("%s is not there", r.path()), "say where it is with --keys-file or %s", config.Variable("keys-file"))
	case err != nil:
		return err
	}
	for _, k := range revoked {
		fmt.Fprintf(p.Stdout, "%s of %s is revoked; a running gateway refuses it within a second\n", k.Prefix, configfile.Show(k.ID))
	}
	return nil
}
