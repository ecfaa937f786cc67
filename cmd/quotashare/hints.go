package main

import (
	"errors"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/internal/program"
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
