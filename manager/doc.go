// Package manager is the application as its API has it: it names nodes, components
// and operations, shows where they stand, runs operations on them, and keeps the
// application as its goal says. What it shows is what manager/mirror knows; no unit
// is asked for a state. The units' journals are the truth, and the goal is a document
// that the units keep, so an App that begins again has lost nothing.
//
// An App has the containers of the application (manager/fleet), the executions that
// it began (manager/execute), and a keeper of the goal (manager/keep), each with
// goroutines of its own: they outlive the request that began them and end with Close.
// Any other goroutine ends with the call that started it. What belongs to the goal, to
// ending operations and to logs is in parts of the App, which have its methods for them.
//
// Every error of an App's methods is, or wraps, an *outcome.Error of one of its
// kinds, or is a context's.
package manager
