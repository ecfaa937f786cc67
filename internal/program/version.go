package program

// Version is that of this source, as semantic version.
const Version = "0.1.0"
