package wire

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

// Problem is an error response of the JSON API (RFC 9457).
type Problem struct {
	Title  string `json:"title"`  // of the status
	Status int    `json:"status"` // of the answer
	Code   string `json:"code"`   // name of the fault or of the status: stable
	Detail string `json:"detail"` // a sentence

	// Set for a rejected execution, so that the client needs no further request.
	UnitInstance string     `json:"unit_instance,omitempty"`
	Component    *Component `json:"component,omitempty"`

	// Set for a rejected document: the winning revision.
	Revision string `json:"revision,omitempty"`
}
