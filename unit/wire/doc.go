// Package wire defines the data exchanged between a unit and its clients: process states, fault
// codes, and the structs of the journal and of the JSON API. It imports only the standard library
// and protocols, starts no goroutine, and has no behaviour beyond naming, classifying and folding
// values.
package wire
