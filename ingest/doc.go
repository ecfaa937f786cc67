// Package ingest owns the log: it runs the embedded NATS server with JetStream
// that clients in any language connect to, and it creates and checks the
// streams that the engine reads and writes.
//
// What a caller may rely on:
//
//   - Start returns a server that accepts connections, or an error that says
//     what to do; nothing is left running after an error.
//   - With Sync 0 an acknowledged message is on disk. With a positive Sync it
//     is in the operating system's hands, and synced within that time: it
//     survives a killed process, not a power cut.
//   - One data directory has one server. A second one is refused, also from
//     another process, because two would write the same files.
//   - One server may be a node of a cluster: what is acknowledged is then on
//     most of the nodes that keep the stream.
//   - The streams belong to whoever runs the broker: EnsureStreams creates those
//     that are missing, brings those to our settings that nobody else changed,
//     and reports the others, which it leaves.
package ingest
