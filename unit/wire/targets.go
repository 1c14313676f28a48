package wire

// The names of the documents that units keep.
const (
	GoalDocument    = "goal"    // opaque to the unit; the same for all of an application
	TargetsDocument = "targets" // Targets
)

// Targets is what the goal means for one container.
type Targets struct {
	// Components are those whose state says whether clients should be led to the
	// container, each with the state that it has to be in.
	Components map[string]string `json:"components"`
}
