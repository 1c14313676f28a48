// Package skew is a test only: this version and the release before.
//
// What that one has written and said is in testdata/contracts, recorded of its binaries by `make
// contracts`, of examples/thinking on Compose; testdata/release is its name. The tests without a
// build tag read it. With the tag skew, `make test-skew`, both run side by side.
package skew
