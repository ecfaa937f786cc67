package program

import (
	"reflect"

	"github.com/alecthomas/kong"
)

// onOff reads a flag of type:"switch" into a text: it may stand alone, which is true,
// or have a value, which whoever reads the text judges. A bool would be judged by kong,
// which stops at the first fault, and the configuration is to say all at once.
type onOff struct{}

// Decode implements kong.Mapper.
func (onOff) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	text := "true"
	if t := ctx.Scan.Peek(); t.Type == kong.FlagValueToken || t.String() == "true" || t.String() == "false" {
		text = ctx.Scan.Pop().String()
	}
	target.SetString(text)
	return nil
}

// IsBool implements kong.BoolMapper.
func (onOff) IsBool() bool { return true }
