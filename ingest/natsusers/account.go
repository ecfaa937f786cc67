package natsusers

import "github.com/nats-io/nats-server/v2/server"

// LogAccount is the account that has the log: one of its own where gateways are isolated,
// else the one that there is without any.
func LogAccount(o *server.Options) string {
	for _, a := range o.Accounts {
		if a.Name == logAccount {
			return logAccount
		}
	}
	return server.DEFAULT_GLOBAL_ACCOUNT
}
