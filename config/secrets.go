package config

import "strings"

// WithoutSecrets is a list of URLs as it may be shown, also where one is none: whatever is
// before the last @ behind a scheme is a name with a password, or a token, which stands
// where a name does. Without a scheme that may hide more than it has to.
func WithoutSecrets(urls string) string {
	parts := strings.Split(urls, "://") // and not at each comma, which a password may have
	for i, part := range parts {
		if at := strings.LastIndex(part, "@"); at >= 0 {
			parts[i] = "xxxxx" + part[at:]
		}
	}
	return strings.Join(parts, "://")
}
