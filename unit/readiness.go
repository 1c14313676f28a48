package unit

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toskose/toskose/unit/wire"
)

// errUntold is why a unit with a place for documents is not ready at first.
var errUntold = errors.New("the manager has not said yet what the goal wants running here")

// Ready reports whether clients should be led to the container: nil, or why not.
// They should where the unit works and every component that the goal wants
// running is. The manager says which those are, by the document wire.TargetsDocument;
// what it said last holds when it is away. A unit that cannot keep documents is
// ready when it works.
func (u *Unit) Ready() error {
	if err := u.Healthy(); err != nil {
		return err
	}
	d, err := u.documents.folder.Get(wire.TargetsDocument)
	switch code, _ := wire.FaultCodeOf(err); {
	case code == wire.NoDocuments:
		return nil
	case code == wire.NoDocument:
		return errUntold
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
		if i < 0 {
			return fmt.Errorf("the goal wants %s, which is not here", name)
		}
		if want := targets.Components[name]; components[i].State != want {
			return fmt.Errorf("%s is %s, and the goal wants it %s", name, components[i].State, want)
		}
	}
	return nil
}
