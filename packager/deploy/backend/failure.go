package backend

import "time"

// Failure describes a service that has failed or may still fail.
type Failure struct {
	Service string
	Why     string
	Times   int    // failures so far
	Task    string // the swarm task that failed last
	Final   bool
	Job     bool // the service is a job and is expected to exit
	Silent  bool // Service is a node whose container seems to run but whose unit does not answer
	Young   bool // no failure so far, but started too recently to count as running
}

// Hopeless is the number of failures after which deploying gives up.
const Hopeless = 3

// Settled is how long a container that has failed before must run to count as running.
const Settled = 10 * time.Second

// proven is how long a container without a health check must run to count as running if it has not failed before. Most broken
// programs exit at once.
const proven = 3 * time.Second

// IsYoung reports whether a container was started less than proven ago. It returns false for a start in the future: the
// engine's clock is then ahead.
func IsYoung(started time.Time) bool {
	age := time.Since(started)
	return age >= 0 && age < proven
}
