//go:build !linux

package browser

func alone() (code int, done bool) { return 0, false }
