package main

import (
	"testing"

	"github.com/alecthomas/kong"
)

// Every command of the command line does something: run picks it by what kong
// has selected.
func TestEveryCommandRuns(t *testing.T) {
	k, err := kong.New(new(cli), kong.Vars{"measures": "", "scenarios": "", "version": ""})
	if err != nil {
		t.Fatal(err)
	}
	leaves := k.Model.Leaves(false)
	for _, leaf := range leaves {
		if _, ok := leaf.Target.Addr().Interface().(command); !ok {
			t.Errorf("%s does nothing", leaf.FullPath())
		}
	}
	if len(leaves) < 18 {
		t.Errorf("only %d commands are found", len(leaves))
	}
}
