// Package gateway is a reverse proxy for the clients of OpenAI and Anthropic, such as
// Claude Code, Codex and the SDKs, that asks the quota engine before each call and
// publishes after it what the call used:
//
//	client ──▶ whose token is it, which connection serves it ──▶ client.Middleware ──▶ provider
//
// # What passes
//
// The calls of package dialect, each to the first connection of the configuration that
// serves its path and has its model. Any other path is answered 404: a call that is not
// understood cannot be metered, and would go around the quota.
//
// # What does not
//
// A client's token, its cookies, and whatever proxies before this one have added never
// reach a provider, which gets the credential of the connection instead. A credential
// is in no line of the log, no header of an answer and no body of one that is no 2xx:
// stars stand for it where a provider quotes it. A provider's 401 is answered 502.
//
// # How it answers
//
// What a provider says passes as it comes: every piece of a body is sent on at once.
// What the gateway says by itself is in the words of the API that was called
// (dialect.Refusal), so that clients show its message and try again only when that has
// a point.
//
// # Paths of its own
//
//	/healthz   the process is alive
//	/readyz    the same, and whether the engine's broker is connected; requests are served without it too
//	/metrics   for peers on this machine, or with Options.Token
package gateway
