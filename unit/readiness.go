package unit

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toskose/toskose/unit/wire"
)

// errNoTargets is the initial reason why a unit with a document folder is not ready.
var errNoTargets = errors.New("the manager has not stored the target states of this container yet")

// Ready returns nil if the container is ready for clients: the unit works and every component that
// the goal requires is in its state. The manager writes these in the document wire.TargetsDocument,
// which remains valid while the manager is away. A unit without a document folder is ready when it
// works. A program that has ended as its exitcodes expect counts as in its state.
func (u *Unit) Ready() error {
	if err := u.Healthy(); err != nil {
		return err
	}
	d, err := u.documents.folder.Get(wire.TargetsDocument)
	switch code, _ := wire.FaultCodeOf(err); {
	case code == wire.NoDocuments:
		return nil
	case code == wire.NoDocument:
		return errNoTargets
	case err != nil:
		return err
	}
	var targets wire.Targets
	if err := json.Unmarshal(d.Content, &targets); err != nil {
		return fmt.Errorf("cannot read the document %q: %w", wire.TargetsDocument, err)
	}
	_, components := u.components.Components()
	for _, name := range slices.Sorted(maps.Keys(targets.Components)) {
		i := slices.IndexFunc(components, func(c wire.Component) bool { return c.Name == name })
		switch {
		case i < 0 && u.joined: // replicas may have different programs
			continue
		case i < 0:
			return fmt.Errorf("the goal requires component %s, which this container does not have", name)
		}
		if want := targets.Components[name]; components[i].State != want && !components[i].Completed {
			return fmt.Errorf("component %s is in state %s, but the goal requires %s", name, components[i].State, want)
		}
	}
	return nil
}
