// Package scripts contains the repository's shell scripts and their tests. Each of its subfolders is a tool
// written in Go.
package scripts
