package httpapi

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// CheckBind returns an error when addr (host:port) could be reached from other
// machines and there is no token to ask them for. A name other than localhost
// counts as reachable: what it resolves to may change after we looked.
func CheckBind(addr, token string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("http address %q: use host:port, like 127.0.0.1:8480", addr)
	}
	if token != "" || isLoopback(host) {
		return nil
	}
	return fmt.Errorf("http address %q can be reached from other machines: set an API token, or bind 127.0.0.1:%s", addr, port)
}

// isLoopback reports whether host, an address or a name without port, can only
// mean this machine. The empty host binds every interface.
func isLoopback(host string) bool {
	if name := strings.ToLower(host); name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
