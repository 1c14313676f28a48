// Package wire holds what travels between a unit and those who talk to it:
// process states, fault codes, and the structs of the journal and of the JSON
// API. It imports the standard library only, starts no goroutine, and holds no
// behaviour beyond naming and classifying values.
package wire
