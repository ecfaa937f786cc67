package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/wire"
)

// Headers that go with a configuration event.
const (
	headerActor  = "X-Quota-Actor"
	headerReason = "X-Quota-Reason"

	maxReason = 1000 // characters
)

// metaOf reads who changes something, why, what revision they have seen, and
// whether it is only a trial. Who has the token is who changes it, unless another is
// named. A parameter that is not known is a fault, as it is nowhere else: "dryrun=true"
// would be a change that nobody wanted.
func metaOf(r *http.Request) (Meta, wire.Faults) {
	q := newQuery(r)
	trial := q.flag("dryRun")
	q.only("a change", "dryRun")
	faults := q.faults
	m := Meta{Actor: cmp.Or(r.Header.Get(headerActor), callerOf(r).name), Reason: r.Header.Get(headerReason)}
	if m.Actor != "" {
		if err := quota.ValidateID(m.Actor); err != nil {
			faults.Add(headerActor, err.Error())
		}
	}
	if problem := reasonProblem(m.Reason); problem != "" {
		faults.Add(headerReason, problem)
	}
	if match := r.Header.Values("If-Match"); len(match) > 0 { // an empty one too: a revision was meant
		var err error
		if m.ExpectedRevision, err = parseETag(strings.Join(match, ", ")); err != nil {
			faults.Add("If-Match", err.Error())
		}
		m.IfMatch = err == nil // one that cannot be read is a fault, and not a lost race too
	}
	if trial {
		m.Trial = new(Trial)
	}
	return m, faults
}

func reasonProblem(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "has a control character"
	case utf8.RuneCountInString(s) > maxReason:
		return fmt.Sprintf("has more than %d characters", maxReason)
	}
	return ""
}

// parseETag reads what etag wrote. "*" is refused: it would say "whatever it
// is", which is what leaving the header out says.
func parseETag(s string) (uint64, error) {
	text, quoted := strings.CutPrefix(s, `"`)
	text, ended := strings.CutSuffix(text, `"`)
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err == nil && quoted && ended:
		return n, nil
	case err == nil:
		return 0, fmt.Errorf("lacks quotes: send If-Match: \"%d\", quotes included", n)
	}
	return 0, fmt.Errorf("is %s: send the ETag of the document you have seen, as in If-Match: \"7\", quotes included, or leave it out", quote(s))
}
