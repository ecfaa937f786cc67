// Command compose reads a compose file as `docker compose config` does, with the same
// library, and prints its services; it needs no Docker. It fails at what is not of the
// specification, and at volumes, secrets and services that are named and not there, in
// services of profiles too.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: compose FILE")
		os.Exit(2)
	}
	names, err := services(os.Args[1])
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
	fmt.Printf("%s: %d services in order: %v\n", os.Args[1], len(names), names)
}

// services returns those of all profiles.
func services(file string) ([]string, error) {
	options, err := cli.NewProjectOptions([]string{file},
		cli.WithProfiles([]string{"*"}), cli.WithConsistency(true), cli.WithNormalization(true), cli.WithResolvedPaths(true),
		cli.WithInterpolation(true))
	if err != nil {
		return nil, err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return nil, err
	}
	names := project.ServiceNames()
	slices.Sort(names)
	return names, nil
}
