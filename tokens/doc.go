// Package tokens keeps who may call the API, and as what: the tokens of programs and
// of people, each with a name and a role. They are added and removed while the engine
// runs.
//
//	{"tokens": [
//	  {"name":"grafana","role":"read","sha256":"…","prefix":"qt-ab12cd","createdAt":"2026-07-01T12:00:00.000Z"},
//	  {"name":"alice's page","role":"self","keys":["alice"],"sha256":"…","prefix":"qt-x9y8z7","createdAt":"…","expiresAt":"…"}
//	]}
//
// # Tokens
//
// A token is qt- and 32 random bytes in base64url. The file has its SHA-256, so that
// nobody who reads the file can use a token. A plain hash is right here: bcrypt, argon2
// and salts make the guessing of passwords slow, and nobody guesses 256 random bits.
// They would cost each request milliseconds, and give strangers a way to keep the engine
// busy. This holds for tokens that Add made; a hash of something short that was written
// into the file by hand is as easy to guess as that is.
//
// The file has the first characters of a token too. They are no secret: a person tells
// two tokens of one name apart by them, and a File finds the hashes that a token may have.
// Those are compared in a time that does not depend on where they differ.
//
// A name may have several tokens: to rotate, add the new one, change the caller, and
// remove the old one by its first characters.
//
// # The file
//
// Add and Remove change it, and a File reads it, as package secretfile says: whoever
// reads has the old file or the new one, also after a kill at any moment, and what Add
// has returned is on disk. A token that was removed is refused, and one that was added
// accepted, a second later without a restart. A file that is faulty leaves the last good
// one in force, and one that is gone is an empty one.
//
// Fields that are unknown are faults, not skipped: an older program would else ignore
// what a newer one means to restrict a token with, and Add would drop it.
package tokens
