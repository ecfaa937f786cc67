// Package secretfile keeps a list of hashes of secrets in a file that programs change
// and read while others run: the keys of a gateway's clients, the tokens of the API.
//
// # Changes
//
// Edit takes a lock beside the file, FILE.lock, which the system frees when the process
// ends, however it does. It writes a new file, FILE.new, brings it to the disk, and
// renames it: whoever reads has the old file or the new one, and a kill or a power
// failure at any moment leaves one of them. The file is for its owner alone, mode 0600.
// A link is followed, not replaced.
//
// # Reading
//
// A File looks after its file at most once a second, when it is told to look, and reads
// it again when it is another one. Who looks waits for the file then; it should be on a
// disk of the machine.
//
// A file that cannot be read or is faulty leaves the last good one in force: a slip in
// an editor must not lock everybody out. It is logged once for each fault, and Trouble
// tells it. A file that is gone is an empty one after a second, as it would be after a
// restart; the second is for editors that take a file away and put another in its place.
//
// All is safe for concurrent use, by several processes too. Nothing runs in the
// background.
package secretfile
