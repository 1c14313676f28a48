// Command worker is an operation where there is nothing else: as `stay` it
// stays, as `describe` it says what scripts/describe.sh does.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if filepath.Base(os.Args[0]) == "stay" {
		time.Sleep(24 * time.Hour)
	}
	if err := os.WriteFile("made", []byte("here\n"), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("user %d, kept %s\n", os.Getuid(), os.Getenv("KEPT"))
}
