package lock

// state is what this process knows about the process that holds a lock.
type state int

const (
	unknown state = iota // of another host, or of an earlier boot
	running
	exited
)

// stateOf looks for a record's process where process ids mean the same as here.
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
