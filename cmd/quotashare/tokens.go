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
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/tokens"
	"github.com/quotashare/quotashare/wire"
)

// tokensCmd works on the token file of an engine, and needs no engine.
type tokensCmd struct {
	List   tokensListCmd   `cmd:"" default:"withargs" help:"List the tokens of the API, by their first characters."`
	Add    tokensAddCmd    `cmd:"" help:"Make a token, and print it: it cannot be had again."`
	Remove tokensRemoveCmd `cmd:"" help:"Take one token of a name away, or all of them."`
}

// tokensFile is where the tokens are. There is no default: the engine asks for tokens
// only when it is told of a file, and one in a place that it does not look at would
// protect nothing.
type tokensFile struct {
	TokensFile string `placeholder:"FILE" help:"Where the engine has the tokens, as hashes: it is to be started with the same."`
}

func (f *tokensFile) path() (string, error) {
	if f.TokensFile != "" {
		return f.TokensFile, nil
	}
	return "", program.Hint(errors.New("the token file has no name"),
		"name it with --tokens-file or %s, for the engine too", config.Variable("tokens-file"))
}

type tokensAddCmd struct {
	Name       string   `required:"" placeholder:"NAME" help:"Who or what has it, as in grafana."`
	Role       string   `required:"" placeholder:"ROLE" help:"ingest publishes events; read sees everything; self asks for some keys and sees what is theirs; admin does everything."`
	Keys       []string `placeholder:"KEY,…" help:"The API keys that a token of the role self is bound to."`
	Expires    string   `placeholder:"TIME" help:"When it ends: an instant such as 2027-01-01T00:00:00Z, or a time from now such as 90d or 12h (never)."`
	tokensFile `embed:"" group:"Configuration"`
}

// run prints the token alone, so that it can be put into a variable; what a person
// wants to know beside it goes to the other stream.
func (a *tokensAddCmd) run(_ context.Context, p program.Process) error {
	path, err := a.path()
	if err != nil {
		return err
	}
	now := time.Now()
	one, err := a.token(now)
	if err != nil {
		return err
	}
	token, err := tokens.Add(path, one, now)
	if err != nil {
		return err
	}
	prefix := token[:tokens.PrefixLength]
	if _, err := fmt.Fprintln(p.Stdout, token); err != nil {
		return program.Hint(fmt.Errorf("the token cannot be printed: %w", err),
			"nobody has it now; remove the one that begins with %s, and add another", prefix)
	}
	fmt.Fprintf(p.Stderr, "a token of %s with the role %s; it is shown only now. %s has its hash, and knows it by %s\n",
		configfile.Show(a.Name), one.Role, path, prefix)
	return nil
}

func (a *tokensAddCmd) token(now time.Time) (one tokens.Token, err error) {
	one = tokens.Token{Name: a.Name, Keys: a.Keys}
	role, ok := tokens.ParseRole(a.Role)
	if !ok {
		return one, fmt.Errorf("--role is %q: use ingest, read, self or admin", a.Role)
	}
	one.Role = role
	if a.Expires != "" {
		one.ExpiresAt, err = parseEnd(a.Expires, now)
	}
	return one, err
}

// parseEnd reads an instant, or a time from now: days too, which durations have not.
func parseEnd(text string, now time.Time) (time.Time, error) {
	if ms, err := quota.ParseInstant(text); err == nil {
		return time.UnixMilli(ms), nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := quota.ParseInt(days); err == nil && n > 0 && n <= 36_500 {
			return now.AddDate(0, 0, int(n)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d), nil
	}
	return time.Time{}, fmt.Errorf("--expires is %q: use an instant such as 2027-01-01T00:00:00Z, or a time from now such as 90d or 12h", text)
}

type tokensListCmd struct {
	JSON       bool `name:"json" help:"Print it as JSON."`
	tokensFile `embed:"" group:"Configuration"`
}

func (l *tokensListCmd) run(_ context.Context, p program.Process) error {
	path, err := l.path()
	if err != nil {
		return err
	}
	list, err := tokens.List(path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // as for an engine: one without tokens
		fmt.Fprintf(p.Stderr, "%s is not there: no token was added to it\n", path)
	case err != nil:
		return err
	}
	if tokens.Exposed(path) {
		fmt.Fprintf(p.Stderr, "warning: others than its owner may read or write %s: chmod 600 it\n", path)
	}
	if l.JSON {
		return show(p.Stdout, tokensJSON(list))
	}
	return sayAPITokens(p.Stdout, list, time.Now())
}

func sayAPITokens(w io.Writer, list []tokens.Token, now time.Time) error {
	rows := [][]string{{"NAME", "ROLE", "KEYS", "TOKEN", "CREATED", "EXPIRES"}}
	for _, t := range list {
		keys := make([]string, len(t.Keys))
		for i, id := range t.Keys {
			keys[i] = configfile.Show(id)
		}
		rows = append(rows, []string{
			configfile.Show(t.Name), t.Role.String(), strings.Join(keys, ","), configfile.Show(t.Prefix),
			quota.FormatInstant(t.CreatedAt.UnixMilli()), end(t.ExpiresAt, now),
		})
	}
	return table(w, rows...)
}

// end says when a token ends, or that it has.
func end(at, now time.Time) string {
	switch {
	case at.IsZero():
		return "never"
	case !now.Before(at):
		return "has expired"
	}
	return quota.FormatInstant(at.UnixMilli())
}

func tokensJSON(list []tokens.Token) []byte {
	w := wire.NewWriter(nil, wire.JSON)
	w.Object()
	w.Name("tokens")
	w.Array()
	for i := range list {
		appendToken(&w, &list[i])
	}
	w.End()
	w.Name("total")
	w.Int(int64(len(list)))
	w.End()
	return w.Bytes()
}

func appendToken(w *wire.Writer, t *tokens.Token) {
	w.Object()
	w.Name("name")
	w.String(t.Name)
	w.Name("role")
	w.String(t.Role.String())
	if len(t.Keys) > 0 {
		w.Name("keys")
		w.Array()
		for _, id := range t.Keys {
			w.String(id)
		}
		w.End()
	}
	w.Name("prefix")
	w.String(t.Prefix)
	w.Name("createdAt")
	w.Instant(t.CreatedAt.UnixMilli())
	if !t.ExpiresAt.IsZero() {
		w.Name("expiresAt")
		w.Instant(t.ExpiresAt.UnixMilli())
	}
	w.End()
}

type tokensRemoveCmd struct {
	Name        string  `required:"" placeholder:"NAME" help:"Whose."`
	TokenPrefix *string `placeholder:"TEXT" help:"Only the token that list shows by this, such as qt-ab12cd; all of the name's else."`
	tokensFile  `embed:"" group:"Configuration"`
}

func (r *tokensRemoveCmd) run(_ context.Context, p program.Process) error {
	path, err := r.path()
	if err != nil {
		return err
	}
	var prefix string
	if r.TokenPrefix != nil {
		if prefix = strings.TrimSpace(*r.TokenPrefix); prefix == "" { // an empty variable of a script, say
			return errors.New("--token-prefix is empty: leave it out to remove all of the name's tokens")
		}
	}
	removed, err := tokens.Remove(path, r.Name, prefix)
	switch {
	case errors.Is(err, tokens.ErrNoSuchToken):
		return program.Hint(fmt.Errorf("%s has no such token", configfile.Show(r.Name)), "%s tokens list shows which there are", p.Name)
	case errors.Is(err, fs.ErrNotExist):
		return program.Hint(fmt.Errorf("%s is not there", path), "say where it is with --tokens-file or %s", config.Variable("tokens-file"))
	case err != nil:
		return err
	}
	for _, t := range removed {
		fmt.Fprintf(p.Stdout, "%s of %s is removed; a running engine refuses it within a second, and ends what it has open within five\n",
			t.Prefix, configfile.Show(t.Name))
	}
	return nil
}
