package kubernetes

import "strings"

// Condition is one of an object's, as a cluster says.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// JobStatus is what a cluster says of a Job.
type JobStatus struct {
	Ready      int         `json:"ready"` // pods
	Conditions []Condition `json:"conditions"`
}

// Up reports whether a Job runs, or is complete.
func (s JobStatus) Up() bool {
	_, failed := s.Failed()
	return s.Complete() || !failed && s.Ready > 0
}

// Complete reports whether a Job has done its work.
func (s JobStatus) Complete() bool {
	_, complete := s.holds("Complete")
	return complete
}

// Failed says why a Job has failed for good.
func (s JobStatus) Failed() (why string, failed bool) {
	c, failed := s.holds("Failed")
	return strings.TrimSuffix(c.Reason+": "+c.Message, ": "), failed
}

func (s JobStatus) holds(kind string) (Condition, bool) {
	for _, c := range s.Conditions {
		if c.Type == kind && c.Status == "True" {
			return c, true
		}
	}
	return Condition{}, false
}
