package main

import (
	"context"
	"errors"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/projector/jetsource"
)

// misread says which help lists what was meant. A word that is no command of its
// group was taken for an argument of the group's default, whose help would not
// list the commands.
func misread(err error, p program.Process) error {
	parse := new(kong.ParseError)
	if !errors.As(err, &parse) {
		return err
	}
	node := parse.Context.Selected()
	if node == nil || node.Parent.DefaultCmd != node || slices.Contains(p.Args, node.Name) {
		return err
	}
	return program.Hint(err, "%s %s --help lists what there is", p.Name, node.Parent.Path())
}

// misconfigured names the help that has the flags of the command: that of the
// whole program lists commands alone.
func misconfigured(err error, p program.Process, k *kong.Context) error {
	if faults := config.Faults(nil); !errors.As(err, &faults) {
		return err
	}
	return program.Hint(err, "a flag wins over the variable of the environment; %s %s --help lists both", p.Name, k.Selected().Path())
}

// interruption is the error of a command that was told to stop, in place of how it
// noticed.
type interruption struct{ error }

func (interruption) Error() string { return "interrupted" }

// Unwrap returns how it noticed, which may have an exit code.
func (i interruption) Unwrap() error { return i.error }

// cutShort says why a command came to no end that was on its way to one.
func cutShort(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return interruption{err}
	case errors.Is(err, jetsource.ErrAway):
		return program.Hint(err, "it went away meanwhile: run this again when it is back; nothing is left of what was folded")
	}
	return err
}
