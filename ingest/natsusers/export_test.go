package natsusers

// WriteUntil is Write that tells of each change of the directory.
var WriteUntil = write
