package protocol

import "slices"

// Up returns the state in which an element is up: the target of a start or, if the protocol has no
// start, the initial state or the target of a transition that offers a capability other than
// alive. Of several candidates, it returns the one that offers most of the wanted capabilities,
// then the one that offers most, then the first one. ok is false if there is none.
func (p Protocol) Up(wanted []string) (state string, ok bool) {
	candidates := []string{p.Initial}
	for _, t := range p.Transitions {
		candidates = append(candidates, t.Target)
	}
	fits := func(s State) bool {
		return slices.ContainsFunc(s.Offers, func(c string) bool { return c != Alive })
	}
	isStart := func(t Transition) bool { return p.KindOf(t.Operation) == KindStart }
	if slices.ContainsFunc(p.Transitions, isStart) {
		candidates, fits = nil, func(State) bool { return true }
		for _, t := range p.Transitions {
			if isStart(t) {
				candidates = append(candidates, t.Target)
			}
		}
	}
	most := [2]int{-1, -1}
	for _, name := range candidates {
		s, has := p.State(name)
		if !has || !fits(s) {
			continue
		}
		if offers := [2]int{s.offered(wanted), len(s.Offers)}; slices.Compare(offers[:], most[:]) > 0 {
			state, most = name, offers
		}
	}
	return state, state != ""
}

// FirstOffering returns the nearest state, starting at from, that offers all of the given
// capabilities.
func (p Protocol) FirstOffering(from string, capabilities []string) (state string, ok bool) {
	seen := map[string]bool{from: true}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		s, has := p.State(queue[0])
		if has && s.offered(capabilities) == len(capabilities) {
			return s.Name, true
		}
		for _, t := range p.Transitions {
			if t.Source == queue[0] && !seen[t.Target] {
				seen[t.Target] = true
				queue = append(queue, t.Target)
			}
		}
	}
	return "", false
}

// offered returns how many of some capabilities a state offers.
func (s State) offered(capabilities []string) int {
	n := 0
	for _, c := range capabilities {
		if slices.Contains(s.Offers, c) {
			n++
		}
	}
	return n
}
