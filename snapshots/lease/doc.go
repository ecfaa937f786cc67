// Package lease lets one of several processes do what has to be done once.
//
// The lease is one entry of the broker's key-value bucket QUOTA_LEASES. It names its
// holder, who writes it anew three times in each of its terms; every write says which
// revision it replaces, so of two that want the same one the broker takes one. Who
// sees the same revision for a whole term takes its holder for dead and writes its
// own name over it.
//
// No clock is compared with another, and none that can be set is read: a term is
// measured by each process from when it saw a revision, by the time since it
// started. A holder counts from before it asked, so it stops believing before anybody
// who saw its entry may take over. The entry's own time is not used: it is the
// broker's, whose clock may be set, and which is another machine's after a failure.
// The price is that a process that has just started waits a term for a holder that
// died before.
//
// Two processes can believe that they hold it: one that was stopped and goes on where
// it was, a machine that slept (the time since it started did not go on either), or
// clocks that run at different speed. So what is done under it must do no harm when
// two do it:
//
//   - To store a snapshot in the broker: it is named by its sequence, and two of the
//     same sequence are of the same state. One of the two stays.
//   - To remove old ones: which are old follows from what is there, and a removal
//     done twice removes nothing more.
//   - To purge the log below a sequence: nothing comes back, so the higher of two
//     wins, and each is lower than what every kept snapshot has passed. A snapshot
//     never moves back.
//
// Confirm narrows it: it writes the entry before a step, so that nobody else held it
// at that moment in the broker's order.
package lease
