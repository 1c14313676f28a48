// Package manager is the application: it knows which components there are and
// on which node, finds the replicas of a node, asks their units for states, and
// executes operations on them. The units' journals are the truth; what is
// kept here is a bounded memory of the executions that this manager began, and
// of the instance that was last seen at each address.
//
// An App owns one goroutine for each replica on which one of its executions
// runs. They outlive the request that began them and end with the execution or
// with Close. Any other goroutine ends with the call that started it.
//
// Every error of an App's methods is, or wraps, an *Error of one of the kinds
// in errors.go, or is a context's.
package manager
