package projector

import "github.com/quotashare/quotashare/quota"

// PartOfOthers returns the part of the open cycle of all keys but the listed ones.
func (s *State) PartOfOthers(conn string, listed []string, w quota.Window) quota.Amount {
	m := s.meterOf(s.conns.find(conn), w)
	if m == nil {
		return 0
	}
	rest := m.LocalTotal()
	for _, key := range listed {
		if k := s.names.find(key); k != 0 {
			rest = rest.Minus(m.Local(uint32(k)))
		}
	}
	return m.Part(rest)
}
