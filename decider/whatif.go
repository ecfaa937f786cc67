package decider

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/replay"
	"github.com/quotashare/quotashare/replay/livelog"
	"github.com/quotashare/quotashare/whatif"
)

// WhatIf implements httpapi.WhatIfs.
func (e *Engine) WhatIf(ctx context.Context, t *whatif.Trial) (made *whatif.Report, err error) {
	err = e.audits.make(func(conn *nats.Conn, o replay.Options) error {
		rows, err := livelog.NATSRows(conn, e.o.Log)
		if err != nil {
			return err
		}
		made, err = replay.WhatIf(ctx, replay.WhatIfOptions{Options: o, Rows: rows}, t)
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = httpapi.Refuse(httpapi.ErrUnavailable, "whatif: there is more to fold between from and to than there is time for here: name a shorter range, or use quotashare whatif, which takes the time it needs")
	}
	return made, err
}
