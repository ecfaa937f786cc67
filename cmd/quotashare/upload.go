package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/quotashare/quotashare/internal/program"
	"github.com/quotashare/quotashare/trace"
)

// One request carries this much at most: enough for the server to fill its
// messages, little enough that a broken connection costs little.
const (
	chunkRows  = 5000
	chunkBytes = 2 << 20
)

// mostShown bounds the errors of single rows that are printed.
const mostShown = 20

// upload brings rows to the engine, one request after the other.
type upload struct {
	api  *client
	errs io.Writer

	body     []byte
	lines    []int // of the rows in body
	accepted uint64
	refused  uint64
	lastSeq  uint64
}

// all uploads every row. It ends with the first error that is not of one row.
func (u *upload) all(ctx context.Context, rows *trace.Reader, bar *progress) error {
	for {
		row, err := rows.Next()
		switch {
		case errors.Is(err, io.EOF):
			return u.flush(ctx, bar)
		case err != nil:
			return err
		case row.Err != nil:
			u.refuse(row.Line, row.Err.Error())
			continue
		}
		u.body = append(append(u.body, row.Event...), '\n')
		u.lines = append(u.lines, row.Line)
		if len(u.lines) == chunkRows || len(u.body) >= chunkBytes {
			if err := u.flush(ctx, bar); err != nil {
				return err
			}
		}
	}
}

// result is what became of one event.
type result struct {
	Seq   uint64
	Error *struct {
		Message string
		Type    string
	}
}

// flush sends what has gathered.
func (u *upload) flush(ctx context.Context, bar *progress) error {
	if len(u.lines) == 0 {
		return nil
	}
	answer, err := u.api.do(ctx, http.MethodPost, "/api/quota/events", "application/x-ndjson", u.body)
	if err != nil {
		return err
	}
	var doc struct {
		Results []result
		Error   *refused
	}
	if err := json.Unmarshal(answer, &doc); err != nil {
		return fmt.Errorf("the engine's answer cannot be read: %w", err)
	}
	if doc.Error != nil {
		return doc.Error
	}
	if len(doc.Results) != len(u.lines) {
		return fmt.Errorf("the engine answered %d of %d rows", len(doc.Results), len(u.lines))
	}
	for i, r := range doc.Results {
		if err := u.took(u.lines[i], r); err != nil {
			return err
		}
	}
	u.body, u.lines = u.body[:0], u.lines[:0]
	bar.rows(u.accepted + u.refused)
	return nil
}

// took notes one result. That the log does not answer is no fault of the row.
func (u *upload) took(line int, r result) error {
	switch {
	case r.Error == nil:
		u.accepted++
		u.lastSeq = max(u.lastSeq, r.Seq)
	case r.Error.Type == "invalid_request_error":
		u.refuse(line, r.Error.Message)
	default:
		return fmt.Errorf("line %d: %s", line, r.Error.Message)
	}
	return nil
}

func (u *upload) refuse(line int, message string) {
	u.refused++
	switch {
	case u.refused <= mostShown:
		fmt.Fprintf(u.errs, "line %d: %s\n", line, message)
	case u.refused == mostShown+1:
		fmt.Fprintln(u.errs, "… further errors are only counted")
	}
}

// summary says what became of the file. Duplicates are what was accepted and
// neither folded nor rejected: those the fold found, and those that the broker
// had found before, because the very same message came again within minutes.
func (u *upload) summary(w io.Writer, fold counts) {
	duplicates := uint64(0)
	if known := fold.Folded + fold.Rejected; known < u.accepted {
		duplicates = u.accepted - known
	}
	fmt.Fprintf(w, "%d rows: %d folded, %d duplicates, %d late, %d rejected, %d refused\n",
		u.accepted+u.refused, fold.Folded, duplicates, fold.Late, fold.Rejected, u.refused)
}

// complaint is the error of an import with refused rows.
func (u *upload) complaint(format string) error {
	switch {
	case u.refused == 0:
		return nil
	case u.accepted > 0:
		return fmt.Errorf("%d rows were refused; the rest is in", u.refused)
	case format == "azure":
		return errors.New("every row was refused; nothing is in")
	}
	return program.Hint(errors.New("every row was refused; nothing is in"),
		"every line must be an event in JSON; an Azure trace needs --trace azure --connection ID")
}
