package lock

// state is the state of the lock holder's process, as far as this process knows.
type state int

const (
	unknown state = iota // on another host, or from an earlier boot
	running
	exited
)

// stateOf returns the state of a record's process if its process ID is valid here.
func stateOf(r Record) state {
	here := origin()
	switch {
	case here == "" || r.Origin != here:
		return unknown
	case startOf(r.Process) == r.Started:
		return running
	}
	return exited
}
