package program

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/quotashare/quotashare/config"
)

// Exit codes.
const (
	OK      = 0
	Failure = 1 // it was understood, and went wrong
	Usage   = 2 // the command line or the configuration is wrong
	Undone  = 3 // of a command whose Failure is an answer: there is no answer
)

// Process is what a program gets from the system.
type Process struct {
	Name   string // of the program, as in messages
	Args   []string
	Env    []string // KEY=value
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// StepBack gives the processors to other programs first, from now on; nil where
	// the process is not this program's alone.
	StepBack func()
}

// System is this process as the system started it.
func System(name string) Process {
	return Process{Name: name, Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, StepBack: stepBack}
}

// Signals returns a context that ends with the first interrupt or termination
// signal, or when the terminal is closed, unless nohup said that this is nothing. The
// second one ends the process at once, as if nobody listened.
func Signals() (context.Context, context.CancelFunc) {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), list...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Getenv returns a variable of the process, "" when it is not set; the last one
// of a name counts.
func (p Process) Getenv(name string) string {
	for i := len(p.Env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(p.Env[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// Configuration is the title of the group of flags that the environment has
// too, under the name config.Variable gives them.
const Configuration = "Configuration"

// helped is what kong's exit after help becomes.
type helped struct{}

// ErrHelp says that help was asked for and printed: there is nothing to do.
var ErrHelp = errors.New("help was printed")

// Parse reads the arguments into cli, a pointer to a kong grammar. Flags in the
// group Configuration fall back to the environment, those of type:"switch" may stand
// without a value, and a kong.VersionFlag prints the version. An error is ErrHelp or
// something that Report prints.
func (p Process) Parse(cli any, description string, more ...kong.Option) (c *kong.Context, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case helped:
			err = ErrHelp
		default:
			panic(r)
		}
	}()
	options := append([]kong.Option{
		kong.Name(p.Name),
		kong.Description(description),
		kong.Writers(p.Stdout, p.Stderr),
		kong.Exit(func(int) { panic(helped{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Resolvers(kong.ResolverFunc(p.resolve)),
		kong.ValueFormatter(formatHelp),
		kong.NamedMapper("switch", onOff{}),
		kong.Vars{"version": p.Name + " " + Version},
	}, more...)
	parser, err := kong.New(cli, options...)
	if err != nil {
		return nil, err
	}
	c, err = parser.Parse(p.Args)
	if err != nil {
		return nil, misuse{err, p.helpOf(err)}
	}
	return c, nil
}

// helpOf names what has the help for an error of the parser: the command that
// was meant, if it got that far.
func (p Process) helpOf(err error) string {
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context.Selected() != nil {
		return p.Name + " " + parse.Context.Selected().Path()
	}
	return p.Name
}

func (p Process) resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if flag.Group == nil || flag.Group.Title != Configuration {
		return nil, nil
	}
	if value := p.Getenv(config.Variable(flag.Name)); value != "" {
		return value, nil
	}
	return nil, nil
}

// formatHelp adds the name in the environment to a flag's help.
func formatHelp(v *kong.Value) string {
	if v.Flag == nil || v.Flag.Group == nil || v.Flag.Group.Title != Configuration {
		return v.Help
	}
	return v.Help + " [" + config.Variable(v.Name) + "]"
}
