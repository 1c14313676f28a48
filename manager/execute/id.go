package execute

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/unit/wire"
)

// MaxID is the maximum length in bytes of an id that a client chooses.
const MaxID = 64

// The id prefixes that clients cannot choose: for executions with an idempotency key, and for the goal's.
const (
	ofKey  = "key-"
	ofGoal = "goal-"
)

// CheckID returns an error if a client's id is invalid.
func CheckID(id string) error {
	odd := strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_' && r != '.'
	})
	switch {
	case id == "" || len(id) > MaxID || odd || strings.Trim(id, ".") == "":
		return &outcome.Error{Kind: outcome.ErrInvalid, Detail: fmt.Sprintf("an id has 1 to %d letters, digits, dots, hyphens and underscores, and not %.80q", MaxID, id)}
	case strings.HasPrefix(id, ofKey) || strings.HasPrefix(id, ofGoal):
		return &outcome.Error{Kind: outcome.ErrInvalid, Detail: fmt.Sprintf("ids that begin with %s or %s are the manager's own", ofKey, ofGoal)}
	}
	return nil
}

// KeyID returns the execution id for a user's idempotency key, so that a restarted manager recognizes it. The
// prefix depends on the key alone. The rest depends on the request, and reveals nothing about it without the key.
func KeyID(user, key, request string) (id, prefix string) {
	name := sha256.Sum256([]byte(user + "\x00" + key))
	sign := hmac.New(sha256.New, []byte(key))
	sign.Write([]byte(request))
	prefix = ofKey + short(name[:]) + "-"
	return prefix + short(sign.Sum(nil)), prefix
}

func short(sum []byte) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
}

// Taken reports whether another execution's id has this prefix.
func (e *Engine) Taken(prefix, id string) bool {
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

// Fresh returns the replicas that have not executed a request with a client's id; none if this manager is
// executing it. The error is outcome.ErrReused if the id belongs to another request.
func (e *Engine) Fresh(ctx context.Context, req Request) ([]fleet.Replica, error) {
	if known, err := e.records.has(req); known || err != nil {
		return nil, err
	}
	known := fleet.Each(req.Replicas, func(r fleet.Replica) *wire.Execution {
		x, err := r.Unit.Execution(ctx, req.ID, 0)
		if err != nil {
			return nil
		}
		return &x
	})
	var fresh []fleet.Replica
	for i, x := range known {
		switch {
		case x == nil:
			fresh = append(fresh, req.Replicas[i])
		case !req.is(x):
			return nil, reused(req.ID)
		}
	}
	return fresh, nil
}

// is reports whether an execution that a unit knows belongs to the request. Journals have no input values, so
// those are not compared.
func (r *Request) is(x *wire.Execution) bool {
	return x.Component == r.Operation.Component.Name() && x.Interface == r.Operation.Name.Interface && x.Operation == r.Operation.Name.Name &&
		slices.Equal(slices.Sorted(maps.Keys(variables(r.Inputs))), slices.Sorted(slices.Values(x.Inputs)))
}

func reused(id string) error {
	return &outcome.Error{Kind: outcome.ErrReused, Detail: fmt.Sprintf("execution %q is another request's", id)}
}
