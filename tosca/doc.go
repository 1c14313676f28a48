// Package tosca turns a TOSCA service template into the model of an
// application: containers, components, volumes and their protocols. It knows
// nothing of Docker, reports every problem with file, line and column, and
// starts no goroutine.
package tosca
