// Package manager implements the operations of the API: it names nodes, components and operations, shows their
// states, runs operations, and reconciles the application with its goal. It shows the state in manager/mirror and
// queries no unit for it. The units' journals are the source of truth, and the units store the goal, so an App
// loses nothing when it restarts.
//
// An App owns the application's containers (manager/fleet), and the goal's keeper (manager/keep). Their goroutines outlive the request that started them and end with Close. Any other
// goroutine ends with the call that started it. A Learner replaces the App when the components of attached nodes change. The App's parts have the methods for the goal, for stopping
// operations and for logs.
//
// Every error of an App's methods is, or wraps, an *rest.Error of one of its kinds, or is a context's error.
package manager
