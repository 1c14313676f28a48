package wire

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

// Problem is what the JSON API answers in place of a value (RFC 9457).
type Problem struct {
	Title  string `json:"title"`  // of the status
	Status int    `json:"status"` // of the answer
	Code   string `json:"code"`   // the fault's name, or the status's: stable
	Detail string `json:"detail"` // a sentence

	// A refused execution says where it was refused, so that nobody need ask.
	UnitInstance string     `json:"unit_instance,omitempty"`
	Component    *Component `json:"component,omitempty"`

	// A refused document says which revision wins.
	Revision string `json:"revision,omitempty"`
}
