package events

import (
	"strconv"
	"strings"
)

// Subjects of the two streams. The kinds' own are Kind.Subject.
const (
	Stream         = "QUOTA"
	RejectedStream = "QUOTA_REJECTED"

	SubjectPrefix   = "quota."
	ConfigPrefix    = "quota.config."
	RejectedPrefix  = "quota.rejected."
	SettingsSubject = "quota.config.settings"
)

// Header names.
const (
	HeaderConfig      = "Quota-Config" // put or delete
	HeaderActor       = "Quota-Actor"
	HeaderReason      = "Quota-Reason"
	HeaderTTL         = "Nats-TTL"
	HeaderContentType = "Content-Type"
	HeaderMsgID       = "Nats-Msg-Id"

	ConfigPut    = "put"
	ConfigDelete = "delete"
	TTLNever     = "never"
)

var kindNames = [...]string{
	Consumption:    "quota.consumption",
	Saturation:     "quota.saturation",
	Adjustment:     "quota.adjustment",
	Release:        "quota.release",
	Hold:           "quota.hold",
	Due:            "quota.due",
	ConfigPool:     "quota.config.pool",
	ConfigPlan:     "quota.config.plan",
	ConfigSettings: SettingsSubject,
}

// StreamSubjects returns the subjects that the stream QUOTA listens to.
func StreamSubjects() []string {
	return []string{
		"quota.consumption", "quota.consumption.>",
		"quota.saturation", "quota.saturation.>",
		"quota.adjustment", "quota.adjustment.>",
		"quota.release", "quota.release.>",
		"quota.hold", "quota.due", "quota.config.>",
	}
}

// String returns the kind's name: its subject, for the configuration of pools
// and plans without the id. It is also the type of its CloudEvent.
func (k Kind) String() string { return kindNames[k] }

// ParseKind returns the kind of that name.
func ParseKind(name string) (Kind, bool) {
	for k, n := range kindNames {
		if n == name {
			return Kind(k), true
		}
	}
	return 0, false
}

// Subject returns the subject to publish an event of this kind to; id is the
// pool or connection id of configuration, and of no matter else.
func (k Kind) Subject(id string) string {
	if k == ConfigPool || k == ConfigPlan {
		return kindNames[k] + "." + EscapeID(id)
	}
	return kindNames[k]
}

// tails reports whether further tokens after the subject are free.
func (k Kind) tails() bool { return k <= Release }

// RejectedSubject returns the subject of what was rejected at that place.
func RejectedSubject(seq uint64, index int) string {
	return RejectedPrefix + strconv.FormatUint(seq, 10) + "." + strconv.Itoa(index)
}

// ParseSubject returns the kind of event on a subject and, for the
// configuration of a pool or plan, the id that its last token names. It returns
// a *Rejection: UnknownSubject, or ConfigInvalid for a token that is no id.
func ParseSubject(subject string) (k Kind, id string, err error) {
	k, id, rej := parseSubject(subject)
	if rej != nil {
		return 0, "", rej
	}
	return k, id, nil
}

func parseSubject(subject string) (Kind, string, *Rejection) {
	for i, name := range kindNames {
		rest, found := strings.CutPrefix(subject, name)
		if !found {
			continue
		}
		k := Kind(i)
		switch {
		case k == ConfigPool || k == ConfigPlan:
			if len(rest) < 2 || rest[0] != '.' || strings.Contains(rest[1:], ".") {
				continue
			}
			id, err := UnescapeID(rest[1:])
			if err != nil {
				return 0, "", reject(ConfigInvalid, "the subject's id "+err.Error())
			}
			return k, id, nil
		case rest == "", k.tails() && len(rest) > 1 && rest[0] == '.':
			return k, "", nil
		}
	}
	return 0, "", unknownSubject(subject)
}

func unknownSubject(subject string) *Rejection {
	use := "quota.consumption, quota.saturation, quota.adjustment or quota.release"
	if strings.HasPrefix(subject, ConfigPrefix) {
		use = "quota.config.pool.<id>, quota.config.plan.<connectionId> or quota.config.settings"
	}
	return reject(UnknownSubject, "the subject "+quoted(subject)+" is for no event: publish to "+use)
}

func reject(reason Reason, message string) *Rejection { return &Rejection{reason, message} }
