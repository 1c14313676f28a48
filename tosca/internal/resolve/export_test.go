package resolve

// Work is what was spent so far.
func (s *Service) Work() int { return s.spent }

// Limit bounds the work otherwise than for everybody.
func (s *Service) Limit(work int) { s.limit = work }
