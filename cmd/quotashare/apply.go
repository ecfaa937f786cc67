package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/internal/program"
)

// applying is a file, and what to do with it.
type applying struct {
	File    string `short:"f" required:"" placeholder:"FILE" help:"The file, YAML or JSON, or - for standard input."`
	DryRun  bool   `help:"Show what would change, and write nothing."`
	Prune   bool   `help:"Also delete what is not in the file."`
	changer `embed:""`
	server  `embed:"" group:"Configuration"`
}

// verb is what becomes of one document.
type verb uint8

const (
	unchanged verb = iota
	create
	change
	remove
	verbs
)

var (
	infinitive = [verbs]string{unchanged: "unchanged", create: "create", change: "change", remove: "delete"}
	past       = [verbs]string{unchanged: "unchanged", create: "created", change: "changed", remove: "deleted"}
)

// step is what apply does about one document: the request that writes it, unless
// it is unchanged.
type step struct {
	name string // "pool team-a"
	verb verb
	diff []string

	method, path string
	revision     uint64 // what it was compared with
	body         []byte
	waits        bool // for another step, without which the engine would refuse it
}

// planner compares a file with what the engine has, and returns the steps in
// the order in which they can be taken.
type planner func(context.Context, *editor, *configfile.File) ([]step, error)

// run shows what is different, and then writes it. A file that is wrong
// anywhere is found out before anything is written.
func (a *applying) run(ctx context.Context, p program.Process, section string, plan planner) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	e, err := a.editor(c, p)
	if err != nil {
		return err
	}
	file, err := a.read(ctx, p, section)
	if err != nil {
		return err
	}
	steps, err := plan(ctx, e, file)
	if err != nil {
		return err
	}
	if a.DryRun {
		return e.tryAll(ctx, p.Stdout, steps)
	}
	return e.writeAll(ctx, p.Stdout, steps)
}

func (e *editor) writeAll(ctx context.Context, w io.Writer, steps []step) error {
	for i := range steps {
		steps[i].show(w, nil)
	}
	for i := range steps {
		s := &steps[i]
		if s.verb == unchanged {
			continue
		}
		done, err := e.carryOut(ctx, s)
		if err != nil {
			return brokeOff(steps, i, err)
		}
		done.warn(w, s)
	}
	fmt.Fprintln(w, summary(steps))
	return nil
}

// tryAll asks of each step alone what it would do now.
func (e *editor) tryAll(ctx context.Context, w io.Writer, steps []step) error {
	outcomes := make([]outcome, len(steps))
	for i := range steps {
		s := &steps[i]
		if s.verb == unchanged {
			s.show(w, nil)
			continue
		}
		var err error
		if outcomes[i], err = e.try(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		s.show(w, outcomes[i].effects(s))
	}
	for i := range steps {
		outcomes[i].warn(w, &steps[i])
	}
	fmt.Fprintf(w, "dry run, nothing is written; it would be %s\n", summary(steps))
	return nil
}

func (s *step) show(w io.Writer, more []string) {
	fmt.Fprintf(w, "%s: %s\n", s.name, infinitive[s.verb])
	for _, line := range slices.Concat(s.diff, more) {
		fmt.Fprintf(w, "  %s\n", line)
	}
}

// maxFile bounds a file. What the API takes at once is less, but a file may
// have many documents.
const maxFile = 64 << 20

// read reads the file, and says what else is in it.
func (a *applying) read(ctx context.Context, p program.Process, section string) (*configfile.File, error) {
	file, err := a.parse(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, other := range file.Others(section) {
		fmt.Fprintf(p.Stderr, "%s also has %s: quotashare %s apply -f %s\n", a.name(), other, other, a.File)
	}
	return file, nil
}

func (a *applying) parse(ctx context.Context, p program.Process) (*configfile.File, error) {
	src := interruptible(ctx, p.Stdin)
	if a.File != "-" {
		f, err := os.Open(a.File)
		if err != nil {
			return nil, err
		}
		src = f
	}
	defer src.Close()
	data, err := io.ReadAll(io.LimitReader(src, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s has more than %d MiB: split it", a.name(), maxFile>>20)
	}
	if err != nil {
		return nil, err
	}
	file, err := configfile.Read(data)
	if err != nil {
		return nil, a.fault(err)
	}
	return file, nil
}

func (a *applying) name() string {
	if a.File == "-" {
		return "standard input"
	}
	return a.File
}

// fault names the file before what is wrong with it.
func (a *applying) fault(err error) error { return fmt.Errorf("%s: %w", a.name(), err) }

// summary counts the steps by what becomes of them.
func summary(steps []step) string {
	var n [verbs]int
	for _, s := range steps {
		n[s.verb]++
	}
	parts := []string{}
	for _, v := range []verb{create, change, unchanged, remove} {
		if v != remove || n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], past[v]))
		}
	}
	return strings.Join(parts, ", ")
}

// brokeOff says how far apply came. Each document is written by itself: there
// is no taking back, and no need for it, for the file can be applied again.
func brokeOff(steps []step, at int, err error) error {
	written, left := []string{}, []string{}
	for i, s := range steps {
		switch {
		case s.verb == unchanged:
		case i < at:
			written = append(written, s.name)
		default:
			left = append(left, s.name)
		}
	}
	text := "nothing was written"
	if len(written) > 0 {
		text = "written: " + strings.Join(written, ", ")
	}
	if r := new(refused); errors.As(err, &r) && r.Code == "lost-race" {
		err = errors.New("somebody else changed it after it was compared")
	}
	err = fmt.Errorf("%s: %w\n%s\nnot written: %s", steps[at].name, err, text, strings.Join(left, ", "))
	return program.Hint(err, "look at what is there now, and apply the file again: what is written already is unchanged then")
}
