package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/quotashare/quotashare/whatif"
)

// WhatIfs tries other rules on the history.
type WhatIfs interface {
	// WhatIf says what a part of the history would have been, for one caller at a
	// time; for others it is ErrBusy. The rules in force do not change.
	WhatIf(ctx context.Context, t *whatif.Trial) (*whatif.Report, error)
}

// whatIfWithin is how long a trial may take: below what a response may.
const whatIfWithin = writeTimeout - 10*time.Second

// whatIf says what would have been under other rules.
func (a *api) whatIf(w http.ResponseWriter, r *http.Request) error {
	doc, err := a.documents.readJSON(r)
	if err != nil {
		return err
	}
	t, faults := whatif.Read(doc)
	if err := faults.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), whatIfWithin)
	defer cancel()
	made, err := a.engine.WhatIf(ctx, t)
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", append(made.Append(nil), '\n'))
	return nil
}
