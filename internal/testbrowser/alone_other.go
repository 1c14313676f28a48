//go:build !linux

package testbrowser

func alone() (code int, done bool) { return 0, false }
