//go:build race

package testunit

const race = true
