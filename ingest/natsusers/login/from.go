package login

import "github.com/nats-io/nats.go"

// From are the options of a connection that is of the user of a file. The file is read
// again at each connection, so that a password is changed without a restart; when it
// cannot be read then, what was read last is tried, and the broker tells.
func From(path string) ([]nats.Option, error) {
	l, err := Read(path)
	if err != nil {
		return nil, err
	}
	return []nats.Option{
		nats.CustomInboxPrefix(l.Inbox()), // of the user, who does not change
		nats.UserInfoHandler(func() (string, string) {
			if now, err := Read(path); err == nil && now.User == l.User {
				l = now
			}
			return l.User, l.Password
		}),
	}, nil
}
