// Package filelock locks files against other processes. A lock ends with its process. It starts no goroutine.
package filelock
