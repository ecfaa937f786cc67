// Package natsusers says who may do what at the broker that has the log.
//
// Each user has a role, and each role the rights that its programs use and no others:
// one table, in roles.go. Write makes a server configuration of them, with hashes of
// random passwords, and a file of one login for each user; both are for their owner
// alone. Apply brings such a configuration into the options of a server that runs in
// this process, and adds a user of the process's own, whose password is never stored.
// The configuration is one for any nats-server, too, as its include.
//
// What rights cannot do: the broker checks the subject of what is published, and not
// where the answer shall go, so who may publish at all can make the broker write an
// acknowledgement to a subject of configuration. It changes nothing, as it is no
// document, and is told of as a rejected event; whoever repeats it without an end slows
// down who writes configuration. Isolated gateways cannot: they are in accounts of their
// own, where such a subject leads nowhere.
package natsusers
