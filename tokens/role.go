package tokens

// Role is what a token is for. What a role may do, whoever has paths says.
type Role uint8

// The roles. Nobody has None.
const (
	None   Role = iota
	Ingest      // publishes events
	Read        // sees everything and changes nothing
	Self        // asks for some keys, and sees what is theirs
	Admin       // everything
)

var roleNames = [...]string{"none", "ingest", "read", "self", "admin"}

// Roles are those that a token may have, the least first.
func Roles() []Role { return []Role{Ingest, Read, Self, Admin} }

// String returns the name.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return "unknown"
}

// ParseRole reads a name of one that a token may have.
func ParseRole(name string) (r Role, ok bool) {
	for _, r := range Roles() {
		if r.String() == name {
			return r, true
		}
	}
	return None, false
}
