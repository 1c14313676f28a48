package client

import "time"

// App is the application as it is now.
type App struct {
	Name       string      `json:"name"`
	Nodes      []Node      `json:"nodes"`
	Components []Component `json:"components"`
}

// Node is a container of the application.
type Node struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	State string `json:"state"`
	Why   string `json:"why"`
}

// Component is a component on all replicas of its node.
type Component struct {
	Name     string    `json:"name"`
	Node     string    `json:"node"`
	State    string    `json:"state"`
	Replicas []Replica `json:"replicas"`
}

// Replica is a component in one container.
type Replica struct {
	Address   string    `json:"address"`
	State     string    `json:"state"`
	Since     time.Time `json:"since"`
	Why       string    `json:"why"`
	Executing string    `json:"executing"`
	Problem   string    `json:"problem"`
}

// Goal is where the application should be, and how far it is.
type Goal struct {
	State     string            `json:"state"`
	States    map[string]string `json:"states"`
	Revision  string            `json:"revision"`
	By        string            `json:"by"`
	At        time.Time         `json:"at"`
	Default   bool              `json:"default"`
	Holds     map[string]Hold   `json:"holds"`
	Acting    bool              `json:"acting"`
	Lacking   []string          `json:"lacking"`
	Done      bool              `json:"done"`
	Reached   int               `json:"reached"`
	Wanted    int               `json:"wanted"`
	Underway  []Step            `json:"underway"`
	Obstacles []Obstacle        `json:"obstacles"`
	Notes     []string          `json:"notes"`
}

// Hold says why the goal leaves a component alone.
type Hold struct {
	By        string    `json:"by"`
	At        time.Time `json:"at"`
	Operation string    `json:"operation"`
	State     string    `json:"state"`
}

// Step is an operation of the goal's that is executing.
type Step struct {
	Node      string `json:"node"`
	Instance  string `json:"instance"`
	Component string `json:"component"`
	Operation struct {
		Interface string `json:"interface"`
		Name      string `json:"operation"`
	} `json:"operation"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Obstacle is why something that the goal asks for is not so yet.
type Obstacle struct {
	Node      string    `json:"node"`
	Instance  string    `json:"instance"`
	Component string    `json:"component"`
	Reason    string    `json:"reason"`
	Until     time.Time `json:"until"`
}

// String says what it is about and why.
func (o Obstacle) String() string {
	of := o.Component
	if of == "" {
		of = o.Node
	}
	if o.Instance != "" {
		of += " on " + o.Instance
	}
	return of + ": " + o.Reason
}
