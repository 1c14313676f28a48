// Package backend has the types that deploying shares with the platforms that run an application, and the access to the
// application's manager. It starts no goroutine.
package backend

import "errors"

// Existing tells which parts of an application existed before it was deployed.
type Existing struct{ Running, Data, Documents bool }

// Removal selects the resources that undeploying also removes.
type Removal struct{ Volumes, Images bool }

// ErrUntouched ends the message of errors that occur before any container was changed.
var ErrUntouched = errors.New("no container was changed")
