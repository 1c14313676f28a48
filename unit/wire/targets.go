package wire

// The names of the documents that units store.
const (
	GoalDocument    = "goal"    // opaque to the unit; the same for the whole application
	TargetsDocument = "targets" // Targets
	RemovedDocument = "removed" // opaque to the unit; the history of removed containers
)

// Targets describes the consequences of the goal for one container.
type Targets struct {
	// Components maps the components that determine whether the container is ready to the state
	// that each must have.
	Components map[string]string `json:"components"`
}
