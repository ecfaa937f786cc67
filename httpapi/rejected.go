package httpapi

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/quotashare/quotashare/events"
)

// RejectedQuery is which rejected events are wanted.
type RejectedQuery struct {
	// Newest wants the newest first, those before Before, and of them those that
	// Wants wants. Else they come oldest first, all but the first Offset.
	Newest bool
	Reason events.Reason // "" = whichever
	Text   string        // what has it is wanted, "" = all; no longer than maxSought
	Before uint64        // the Next of an earlier page; 0 = the end
	Offset int
	Limit  int
}

// RejectedPage is a part of what could not be folded.
type RejectedPage struct {
	List []events.Rejected
	Next uint64 // the Before of the next page; 0 = this is the last, or they come oldest first
	// Total is how many there are, wanted or not.
	Total int
}

// maxSought is how long a text may be that is looked for, in bytes.
const maxSought = 256

// RejectedReasons are the reasons that a rejected event may have.
var RejectedReasons = []string{
	string(events.Undecodable), string(events.Invalid), string(events.IDConflict), string(events.OverflowReason),
	string(events.UnknownSubject), string(events.TTLNotAllowed), string(events.ConfigUnmarked), string(events.ConfigInvalid),
}

// Wants reports whether the event is one of those. A text may be in its subject, in
// what is said of it, and in what was sent, in whatever case.
func (q *RejectedQuery) Wants(r *events.Rejected) bool {
	if q.Reason != "" && r.Reason != q.Reason {
		return false
	}
	text := strings.ToLower(q.Text)
	return text == "" || strings.Contains(strings.ToLower(r.Subject), text) ||
		strings.Contains(strings.ToLower(r.Message), text) || bytes.Contains(bytes.ToLower(r.Data), []byte(text))
}

// rejected lists what could not be folded.
func (a *api) rejected(w http.ResponseWriter, r *http.Request) error {
	ask, err := newQuery(r).rejected()
	if err != nil {
		return err
	}
	page, err := a.engine.Rejected(r.Context(), ask)
	if err != nil {
		return err
	}
	doc := []byte(`{"rejected":[`)
	for i := range page.List {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = page.List[i].AppendJSON(doc)
	}
	doc = fmt.Appendf(doc, "],\"total\":%d", page.Total)
	if page.Next != 0 {
		doc = fmt.Appendf(doc, ",\"next\":%d", page.Next)
	}
	writeBody(w, http.StatusOK, "application/json", append(doc, "}\n"...))
	return nil
}

// rejected reads which rejected events are wanted. To filter pages that are told by
// offset, all that lies before a page would have to be read for it.
func (q *query) rejected() (*RejectedQuery, error) {
	ask := &RejectedQuery{Newest: q.word("order", "oldest", "newest") == "newest"}
	ask.Offset, ask.Limit = q.page()
	ask.Reason = events.Reason(q.word("reason", RejectedReasons...))
	ask.Before = q.number("before", 0, 1, 1<<63-1)
	if ask.Text, _ = q.one("text"); len(ask.Text) > maxSought {
		q.faults.Add("text", fmt.Sprintf("has more than %d bytes: look for a part of it", maxSought))
	}
	for _, name := range []string{"reason", "text", "before"} {
		if q.values.Has(name) && !ask.Newest {
			q.faults.Add(name, "needs order=newest: the oldest first, they are not filtered")
		}
	}
	if q.values.Has("offset") && ask.Newest {
		q.faults.Add("offset", "does not go with order=newest: use before")
	}
	return ask, q.err()
}
