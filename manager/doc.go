// Package manager is the application: it knows which components there are and
// on which node, and executes operations on them. What it shows is what
// manager/mirror knows; no unit is asked for a state. The units' journals are the
// truth; what is kept here beside is a bounded memory of the executions that this
// manager began.
//
// An App owns its mirror, and one goroutine for each replica on which one of its
// executions runs. They outlive the request that began them and end with the
// execution or with Close. Any other goroutine ends with the call that started it.
//
// Every error of an App's methods is, or wraps, an *Error of one of the kinds
// in errors.go, or is a context's.
package manager
