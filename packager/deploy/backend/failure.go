package backend

import "time"

// Failure is what is wrong with a service.
type Failure struct {
	Service string
	Why     string
	Times   int    // that it has failed
	Task    string // of a swarm, which has failed last
	Final   bool
	Job     bool // it is there to end
	Silent  bool // Service is the node: its container runs, for all that is known, and its unit does not answer
	Young   bool // nothing is known to be wrong, but it has yet to show that it stays up
}

// Hopeless is the number of failures after which waiting ends.
const Hopeless = 3

// Settled is how long a container that has failed before has to run to count as
// running.
const Settled = 10 * time.Second

// proven is how long a container without a health check has to run to count as running
// where it has not failed yet: what cannot work mostly ends at once.
const proven = 3 * time.Second

// IsYoung reports whether something has started so recently that it may end yet. A clock of the
// engine's that is ahead says nothing.
func IsYoung(started time.Time) bool {
	age := time.Since(started)
	return age >= 0 && age < proven
}
