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
//   - The streams belong to whoever runs the broker: EnsureStreams creates
//     those that are missing and reports those that differ, and changes
//     nothing of one that is there but the age limit that earlier versions gave
//     QUOTA, which would lose configuration.
package ingest
