package lint

import (
	"slices"
	"strings"
)

// Boundary says what a package of ours may import of ours, and why no more.
type Boundary struct {
	Dir   string
	May   []string
	Since string // the reason
}

// Boundaries names every package, the innermost first. A new package, or a new
// arrow between two, begins with a line here.
var Boundaries = []Boundary{
	{"quota", nil, "the words are spoken by everybody and know nobody"},
	{"wire", words("quota"), "encodings know numbers and instants, no rule"},
	{"windows", words("quota"), "counting is arithmetic on amounts and instants"},
	{"events", words("quota", "wire"), "an event means the same whoever folds it"},
	{"questions", words("quota", "wire", "events"), "a question is read and an answer written without knowing how it is judged"},
	{"plans", words("quota", "wire"), "shares follow from documents alone"},
	{"saturation", words("quota", "events"), "what a provider says means the same whoever asks, and nothing is decided by it here"},
	{"dialect", words("wire"), "what a provider's API says is read from bytes alone, and nothing is decided by it here"},
	{"usage", words("quota", "wire", "questions", "plans"), "usage is shown from numbers that others worked out"},
	{"explanation", words("quota", "wire", "plans", "questions", "usage"), "what an answer came from is shown, and others found it out"},
	{"whatif", words("quota", "wire", "plans"), "what would have been is shown, and others found it out"},
	{"fairshare/guarantee", words("quota"), "a rule is a function of numbers"},
	{"fairshare", words("quota", "windows", "plans", "questions", "fairshare/guarantee"), "a judgement is a function of documents, counters and an instant"},
	{"lab", words("quota", "windows", "plans", "fairshare", "fairshare/guarantee"), "how fair a rule is, is measured on what decides, and by nothing of what carries"},
	{"routing", words("quota", "plans"), "whose turn it is follows from weights, credits and an instant; who may go at all, others judge"},
	{"projector", words("quota", "wire", "windows", "events", "plans", "fairshare", "questions", "usage", "saturation", "routing"), "the fold knows the rules, and of the outside only Source and Store"},
	{"answers", words("quota", "plans", "fairshare", "questions", "projector", "routing"), "an answer is made in one way, whoever asks for it and whenever"},
	{"snapshots", nil, "a file of records is believed without knowing what they mean"},
	{"snapshots/retention", words("quota"), "what may be deleted follows from ages and positions, and others delete it"},
	{"snapshots/snapdir", words("snapshots"), "a directory keeps files, and which are still needed others know"},
	{"snapshots/objects", words("snapshots", "snapshots/snapdir"), "the broker keeps files as a directory does, and which are still needed others know"},
	{"snapshots/lease", nil, "who has it does not depend on what for"},
	{"snapshots/projected", words("projector", "snapshots", "snapshots/snapdir"), "a state is saved and put back as records, and when, others know"},
	{"sim/model", words("quota", "events", "plans"), "a model that shares code with what it judges agrees with its mistakes"},
	{"sim", words("quota", "wire", "events", "plans", "questions", "projector", "projector/memstore", "sim/model"), "all is real but the world around it"},
	{"projector/memstore", words("projector"), "a store knows records, not what they mean"},
	{"projector/pebblestore", words("projector"), "a store knows records, not what they mean"},
	{"projector/jetsource", words("events", "projector"), "the source reads messages, not what is in them"},
	{"replay", words(
		"answers", "explanation", "whatif", "quota", "wire", "windows", "events", "plans", "fairshare", "questions", "usage", "saturation", "projector",
		"snapshots", "snapshots/snapdir", "snapshots/projected",
	), "it folds again what others folded, by the same code, and serves nobody"},
	{"replay/starts", words("snapshots", "snapshots/objects", "snapshots/snapdir", "snapshots/projected"), "it knows where snapshots are, and which of them fit, and replays nothing"},
	{"replay/livelog", words("events", "questions", "projector", "projector/jetsource", "ingest"), "a broker is read, and what for is not known here"},
	{"replay/giveway", nil, "it waits, and knows neither what an audit does nor what an engine is"},
	{"projector/storetest", words("projector", "events", "wire", "quota"), "one suite for every store, so none is known here"},
	{"natsapi", words("questions", "wire"), "a door carries questions and judges nothing"},
	{"client", words("quota", "wire", "events", "questions", "saturation", "dialect", "ingest/groups", "ingest/natsusers/login", "ingest/spool"), "gateways of others are built with it, and it brings the forms along and no engine"},
	{"secretfile", nil, "a file is kept and looked after without knowing what its secrets are for"},
	{"tokens", words("quota", "wire", "secretfile"), "who a token is does not depend on which paths there are"},
	{"keyfile", words("quota", "wire", "secretfile"), "whose a token is does not depend on what the key may do"},
	{"gateway", words("quota", "wire", "plans", "client", "dialect", "keyfile"), "it passes calls on, and knows of the engine only its client, and the names of the catalogue"},
	{"schemas", words("wire"), "what documents look like is written down once, and judges nothing at work"},
	{"schemas/schematest", words("schemas"), "tests of many packages hold documents against their schemas, and it knows none of them"},
	{"httpapi", words("explanation", "whatif", "events", "plans", "questions", "usage", "wire", "quota", "tokens", "schemas"), "a door carries documents and judges nothing"},
	{"httpapi/openapitest", nil, "it holds a server to its document, and knows neither"},
	{"ingest/natsusers/login", nil, "who one is at a broker is said without knowing a server"},
	{"ingest/natsusers", words("ingest/natsusers/login"), "who may do what is a table of subjects, and who runs the server is not known here"},
	{"ingest", words("events", "ingest/natsusers", "ingest/natsusers/login"), "the log stores bytes, and knows of events only the names of their subjects"},
	{"ingest/groups", words("events"), "events of many callers become messages; to where is not known here"},
	{"ingest/spool", words("events", "wire", "ingest/groups"), "it keeps messages and knows no broker"},
	{"ingest/intake", words("events", "httpapi", "ingest/groups", "ingest/spool"), "it puts together how events get into the log, and folds nothing"},
	{"web", nil, "pages are files, and what is on them the browser asks the API for"},
	{"config", words("quota"), "configuration is data, and reads no environment"},
	{"trace", words("quota", "wire"), "a file becomes events; where they go, others know"},
	{"decider", words(
		"answers", "explanation", "whatif", "replay", "replay/giveway", "replay/livelog", "replay/starts", "quota", "wire", "windows", "events", "plans", "fairshare", "routing", "questions", "usage", "saturation", "projector", "projector/memstore",
		"projector/pebblestore", "projector/jetsource", "snapshots", "snapshots/lease", "snapshots/objects", "snapshots/snapdir", "snapshots/projected", "snapshots/retention", "natsapi", "httpapi", "ingest", "config",
	), "the service puts the parts together and is known by programs alone"},
	{"bench", words(
		"quota", "wire", "windows", "events", "plans", "fairshare", "fairshare/guarantee", "questions", "projector", "projector/memstore",
		"projector/pebblestore", "projector/jetsource", "snapshots/snapdir", "snapshots/projected", "replay", "replay/livelog", "httpapi", "ingest", "ingest/intake", "ingest/natsusers", "ingest/natsusers/login", "decider", "client", "gateway",
	), "it measures what a program is put together from, and only programs know it"},
	{"lab/chart", nil, "a picture knows curves, and not what they are of"},
	{"fakeprovider", words("dialect", "wire"), "a provider knows its own dialect, and nothing of who asks before it is called"},
	{"demo", words("client", "dialect", "fakeprovider", "gateway", "keyfile"), "it is a user of what others are given, and shows only what the engine says"},
	{"examples/call", words("client"), "it is a gateway of somebody else, who has the SDK and nothing more"},
	{"internal/brokertest", words("ingest", "ingest/natsusers", "ingest/natsusers/login"), "tests of many packages need a broker, and it knows none of them"},
	{"internal/enginetest", words("decider", "ingest/intake"), "tests of those who use an engine need one"},
	{"internal/certtest", nil, "certificates of tests know nobody"},
	{"internal/vitals", nil, "what every program tells of its process does not depend on which program it is"},
	{"internal/golden", nil, "it is tests alone, of what the others compute"},
	{"internal/scratch", nil, "a place for a run knows nothing of what is put there"},
	{"internal/lint", nil, "the rules of the house judge all and use none"},
}

func words(dirs ...string) []string { return dirs }

// Owner says which packages may import an outside module, and why.
type Owner struct {
	Module string
	Dirs   []string
	Since  string
}

// Owners are the outside modules that stay behind one door. Those that are not
// here may be imported wherever the boundary of purity allows it.
var Owners = []Owner{
	{"github.com/nats-io/nats-server", words("ingest", "ingest/natsusers", "internal/brokertest"), "only the owner of the log runs a server, and reads its configuration; tests run those of others"},
	{"github.com/cockroachdb/pebble", words("projector/pebblestore", "ingest", "ingest/natsusers", "internal/scratch"), "one store speaks Pebble; ingest, its users and scratch take its file lock"},
	{"github.com/vmihailenco/msgpack", words("wire"), "one package reads encodings"},
	{"github.com/alecthomas/kong", words("cmd", "internal/program"), "command lines belong to programs"},
	{"github.com/santhosh-tekuri/jsonschema", words("httpapi/openapitest", "schemas/schematest"), "schemas judge in tests alone"},
	{"github.com/pb33f/libopenapi", words("httpapi/openapitest"), "tests alone read the schema of OpenAPI documents"},
	{"github.com/lmittmann/tint", words("cmd", "internal/program"), "colours belong to programs"},
}

// CheckImports applies Boundaries and Owners to a package's files, tests
// excepted: a test may look at anything to prove its point.
func CheckImports(p Package) []Finding {
	var all []Finding
	limit, listed := boundaryOf(p.Dir)
	for _, f := range p.Files {
		if f.Test {
			continue
		}
		if !listed {
			return []Finding{f.find(f.AST.Name.Pos(), "package %s has no boundary: add it to lint.Boundaries with a reason", p.Dir)}
		}
		for path, pos := range f.imports() {
			if own, ok := strings.CutPrefix(path, Module+"/"); ok && limit != nil && !slices.Contains(limit.May, own) {
				all = append(all, f.find(pos, "%s must not import %s: %s", p.Dir, own, limit.Since))
			}
			if o, ok := ownerOf(path); ok && !within(p.Dir, o.Dirs) {
				all = append(all, f.find(pos, "%s must not import %s: %s", p.Dir, path, o.Since))
			}
		}
	}
	return all
}

// boundaryOf returns nil and true for programs, which may put together what
// they like.
func boundaryOf(dir string) (*Boundary, bool) {
	if within(dir, []string{"cmd", "internal/program", "internal/assembly"}) {
		return nil, true
	}
	for i := range Boundaries {
		if Boundaries[i].Dir == dir {
			return &Boundaries[i], true
		}
	}
	return nil, false
}

func ownerOf(path string) (Owner, bool) {
	for _, o := range Owners {
		if path == o.Module || strings.HasPrefix(path, o.Module+"/") {
			return o, true
		}
	}
	return Owner{}, false
}

// within reports whether dir is one of dirs or below one.
func within(dir string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return dir == d || strings.HasPrefix(dir, d+"/") })
}
