package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/quotashare/quotashare/cmd/quotashare/internal/configfile"
	"github.com/quotashare/quotashare/internal/program"
)

// deleting is what the commands that delete have in common.
type deleting struct {
	changer `embed:""`
	server  `embed:"" group:"Configuration"`
}

func (d *deleting) start(p program.Process) (*editor, error) {
	c, err := d.client()
	if err != nil {
		return nil, err
	}
	return d.editor(c, p)
}

// missing is a document that cannot be deleted: it is not there.
type missing string

// Error says so.
func (m missing) Error() string { return string(m) }

// each deletes one after the other and reports each. One that is not there does
// not keep the others; it is an error in the end. An engine that does not answer
// is one at once.
func (d *deleting) each(w io.Writer, kind string, ids []string, one func(id string) (string, error)) error {
	var failed []string
	for _, id := range ids {
		done, err := one(id)
		switch {
		case errors.As(err, new(*refused)), errors.As(err, new(missing)):
			failed = append(failed, err.Error())
		case err != nil:
			return err
		default:
			fmt.Fprintf(w, "%s %s: %s\n", kind, configfile.Show(id), done)
		}
	}
	if len(failed) > 0 {
		return errors.New(strings.Join(failed, "\n"))
	}
	return nil
}
