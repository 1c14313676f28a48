package fleet

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

// maxID is the maximum length in bytes of an id that a client chooses.
const maxID = 64

// The id prefixes that clients cannot choose: for executions with an idempotency key, and for the goal's.
const (
	keyPrefix  = "key-"
	goalPrefix = "goal-"
)

// Identify checks the id that the client has chosen, or derives one from its idempotency key. It returns the
// replicas that have not executed the request yet; none if this manager is executing it. The error is rest.ErrReused
// if the id or the key belongs to another request.
func (e *Engine) Identify(ctx context.Context, inv *Invocation) ([]Replica, error) {
	r := &inv.Request
	switch {
	case r.ID != "" && r.Key != "":
		return nil, &rest.Error{Kind: rest.ErrInvalid, Detail: "an execution has an id or an Idempotency-Key, and not both"}
	case r.ID != "":
		if err := checkID(r.ID); err != nil {
			return nil, err
		}
	case r.Key != "":
		id, prefix := keyID(r.By, r.Key, inv.fingerprint())
		if e.hasOther(prefix, id) {
			return nil, &rest.Error{Kind: rest.ErrReused, Detail: "another request had this Idempotency-Key"}
		}
		r.ID = id
	default:
		return inv.Replicas, nil
	}
	return e.fresh(ctx, inv)
}

// checkID returns an error if a client's id is invalid.
func checkID(id string) error {
	odd := strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_' && r != '.'
	})
	switch {
	case id == "" || len(id) > maxID || odd || strings.Trim(id, ".") == "":
		return &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf("an id has 1 to %d letters, digits, dots, hyphens and underscores, and not %.80q", maxID, id)}
	case strings.HasPrefix(id, keyPrefix) || strings.HasPrefix(id, goalPrefix):
		return &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf("ids that begin with %s or %s are the manager's own", keyPrefix, goalPrefix)}
	}
	return nil
}

// keyID returns the execution id for a user's idempotency key, so that a restarted manager recognizes it. The
// prefix depends on the key alone. The suffix depends on the request, and reveals nothing about it without the key.
func keyID(user, key, request string) (id, prefix string) {
	name := sha256.Sum256([]byte(user + "\x00" + key))
	sign := hmac.New(sha256.New, []byte(key))
	sign.Write([]byte(request))
	prefix = keyPrefix + short(name[:]) + "-"
	return prefix + short(sign.Sum(nil)), prefix
}

func short(sum []byte) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
}

// hasOther reports whether an execution with another id has this prefix.
func (e *Engine) hasOther(prefix, id string) bool {
	other := func(known string) bool { return known != id && strings.HasPrefix(known, prefix) }
	if e.records.any(other) {
		return true
	}
	for _, n := range e.fleet.Snapshot().Nodes {
		for _, r := range n.Replicas {
			for _, c := range r.Components {
				if slices.ContainsFunc(c.Recent, func(x wire.Execution) bool { return other(x.ID) }) {
					return true
				}
			}
		}
	}
	return false
}

// fresh returns the replicas that have not executed a request with a known id.
func (e *Engine) fresh(ctx context.Context, inv *Invocation) ([]Replica, error) {
	if known, err := e.records.has(inv); known || err != nil {
		return nil, err
	}
	known := Each(inv.Replicas, func(r Replica) *wire.Execution {
		x, err := r.Unit.Execution(ctx, inv.Request.ID, 0)
		if err != nil {
			return nil
		}
		return &x
	})
	var fresh []Replica
	for i, x := range known {
		switch {
		case x == nil:
			fresh = append(fresh, inv.Replicas[i])
		case !inv.started(x):
			return nil, reused(inv.Request.ID)
		}
	}
	return fresh, nil
}

// started reports whether an execution that a unit knows is one of this invocation. Journals have no input values,
// so those are not compared.
func (inv *Invocation) started(x *wire.Execution) bool {
	op := inv.Operation
	return x.Component == op.Component.Name() && x.Interface == op.Name.Interface && x.Operation == op.Name.Name &&
		slices.Equal(slices.Sorted(maps.Keys(variables(inv.Request.Inputs))), slices.Sorted(slices.Values(x.Inputs)))
}

func reused(id string) error {
	return &rest.Error{Kind: rest.ErrReused, Detail: fmt.Sprintf("execution %q belongs to another request", id)}
}
