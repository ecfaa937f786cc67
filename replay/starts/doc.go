// Package starts has where the snapshots are that a replay may begin with: a directory,
// or the broker. Snapshots of other rules than this program's are passed over.
package starts
