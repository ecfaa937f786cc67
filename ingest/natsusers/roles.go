package natsusers

import "slices"

// Role is what a user is for.
type Role string

// The roles. There is one user for each, of the same name, and any number of gateways.
const (
	Gateway Role = "gateway" // publishes events and asks
	Ingest  Role = "ingest"  // makes the streams and takes events over HTTP
	Decider Role = "decider" // folds, answers, and writes what follows
	Admin   Role = "admin"   // a person who runs the broker
	Viewer  Role = "viewer"  // reads the log: replay, verify, explain
)

// rights are the subjects that a user may publish to and subscribe to, beside his inbox.
type rights struct {
	publish, subscribe []string
	// answers is for who answers questions: he may publish to the inboxes of those who ask.
	// The broker could allow one reply to each question instead, to whatever subject the
	// question names, and would keep a list of them.
	answers bool
}

// table has the rights of each role. Where a request to the broker names its stream in
// the subject, so does the table, and nothing can be asked of another one.
var table = map[Role]rights{
	Gateway: {
		// The tokens behind the subjects are the gateway's own.
		publish: slices.Concat(publications, questions, []string{
			"quota.consumption.>", "quota.saturation.>", "quota.adjustment.>", "quota.release.>",
		}),
	},
	Ingest: {
		publish: slices.Concat(publications, []string{
			"$JS.API.STREAM.INFO.QUOTA", "$JS.API.STREAM.CREATE.QUOTA", "$JS.API.STREAM.UPDATE.QUOTA",
			"$JS.API.STREAM.INFO.QUOTA_REJECTED", "$JS.API.STREAM.CREATE.QUOTA_REJECTED", "$JS.API.STREAM.UPDATE.QUOTA_REJECTED",
			"$JS.API.STREAM.INFO.QUOTA_DECISIONS", "$JS.API.STREAM.CREATE.QUOTA_DECISIONS", "$JS.API.STREAM.UPDATE.QUOTA_DECISIONS",
		}),
	},
	Decider: {
		publish: slices.Concat(publications, reading, []string{
			"quota.hold", "quota.due",
			"quota.config.>", // because its HTTP API does
			"quota.rejected.>", "quota.decisions.>", "quotashare.peer.hold",
			"$JS.API.INFO",
			"$JS.API.STREAM.UPDATE.QUOTA", // takes the age limit away that earlier versions set
			"$JS.API.STREAM.PURGE.QUOTA",
			"$JS.API.STREAM.INFO.QUOTA_REJECTED", "$JS.API.STREAM.MSG.GET.QUOTA_REJECTED", "$JS.API.STREAM.PURGE.QUOTA_REJECTED",
			"$JS.API.STREAM.CREATE.OBJ_QUOTA_SNAPSHOTS", "$JS.API.STREAM.PURGE.OBJ_QUOTA_SNAPSHOTS", "$O.QUOTA_SNAPSHOTS.>",
			"$JS.API.STREAM.INFO.KV_QUOTA_LEASES", "$JS.API.STREAM.CREATE.KV_QUOTA_LEASES",
			"$JS.API.DIRECT.GET.KV_QUOTA_LEASES.>", "$KV.QUOTA_LEASES.>",
		}),
		subscribe: slices.Concat(questions, []string{"$SRV.>", "quotashare.peer.hold"}),
		answers:   true,
	},
	Admin: {
		publish: []string{">"}, subscribe: []string{">"},
	},
	Viewer: {
		publish: reading,
	},
}

// publications are the subjects of what gateways report, over HTTP too.
var publications = []string{"quota.consumption", "quota.saturation", "quota.adjustment", "quota.release"}

var questions = []string{"quota.decide", "quota.route"}

// reading is what the log, what was decided, and the snapshots in the broker are read
// with. A consumer is found by its name alone, which is random and which nobody who reads
// may list: so nobody takes from another's, or deletes it.
var reading = []string{
	"$JS.API.STREAM.INFO.QUOTA",
	"$JS.API.STREAM.MSG.GET.QUOTA", // asks the leader of several copies, which a reader of one that lags has to
	"$JS.API.CONSUMER.CREATE.QUOTA.>", "$JS.API.CONSUMER.DELETE.QUOTA.*", "$JS.API.CONSUMER.MSG.NEXT.QUOTA.*",
	"$JS.API.STREAM.INFO.QUOTA_DECISIONS",
	"$JS.API.CONSUMER.CREATE.QUOTA_DECISIONS.>", "$JS.API.CONSUMER.DELETE.QUOTA_DECISIONS.*", "$JS.API.CONSUMER.MSG.NEXT.QUOTA_DECISIONS.*",
	"$JS.API.STREAM.INFO.OBJ_QUOTA_SNAPSHOTS", "$JS.API.DIRECT.GET.OBJ_QUOTA_SNAPSHOTS.>", "$JS.API.DIRECT.GET.OBJ_QUOTA_SNAPSHOTS",
}

// ownRights are those of a process that runs the server: it makes the streams, and with
// quotashare up it decides too.
func ownRights() rights {
	ingest, decider := table[Ingest], table[Decider]
	ingest.publish = union(ingest.publish, decider.publish)
	ingest.subscribe, ingest.answers = decider.subscribe, decider.answers
	return ingest
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(slices.Clip(a), s)
		}
	}
	return a
}
