// Package scripts is the shell scripts of this folder, which its tests run, and a
// folder for each tool of the repository that is written in Go.
package scripts
