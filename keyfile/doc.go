// Package keyfile keeps the tokens of a gateway's clients: which token belongs to
// which API key. An operator issues and revokes them while the gateway runs.
//
//	{
//	  "keys": [
//	    {"id": "alice", "sha256": "…", "prefix": "qs-ab12", "createdAt": "2026-07-01T12:00:00.000Z"}
//	  ]
//	}
//
// # Tokens
//
// A token is qs- and 32 random bytes in base64url. The file has its SHA-256, so that
// nobody who reads the file can use a token, and the first characters, so that a person
// can tell two tokens of one key apart. A plain hash is right here: bcrypt, argon2 and
// salts make the guessing of passwords slow, and nobody guesses 256 random bits. They
// would cost each request milliseconds, and give strangers a way to keep the gateway
// busy. The table is looked up by hash, so the time of an answer tells nothing of the
// tokens in it. This holds for tokens that Issue made; a hash of something short that
// was written into the file by hand is as easy to guess as that is.
//
// A key may have several tokens: to rotate, issue the new one, change the client, and
// revoke the old one. A token belongs to one key.
//
// # The file
//
// Issue and Revoke change it, and a File reads it, as package secretfile says: whoever
// reads has the old file or the new one, also after a kill at any moment, and what Issue
// has returned is on disk. A token that was revoked is refused, and one that was issued
// accepted, a second later without a restart. A file that is faulty leaves the last good
// one in force, and one that is gone is an empty one.
//
// Fields that are unknown are faults, not skipped: an older program would else ignore
// what a newer one means to restrict a token with, and Issue would drop it.
//
// All is safe for concurrent use, by several processes too. Nothing runs in the
// background.
package keyfile
