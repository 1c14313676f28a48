package unitclient

import (
	"strings"

	"github.com/toskose/toskose/unit/wire"
)

// Prefixed returns a client of the same unit for callers that know its components by longer names: a prefix, and the
// name in the unit. Names of processes are not translated.
func (c *Client) Prefixed(prefix string) *Client {
	return &Client{pool: c.pool, http: c.http, base: c.base, credentials: c.credentials, prefix: prefix}
}

// inUnit returns the unit's name of a component.
func (c *Client) inUnit(component string) string { return strings.TrimPrefix(component, c.prefix) }

// rename sets a component's name to the one that the caller knows.
func (c *Client) rename(component *string) {
	if *component != "" {
		*component = c.prefix + *component
	}
}

func (c *Client) renameEntry(e *wire.Entry) {
	if c.prefix == "" {
		return
	}
	c.rename(&e.Component)
	if e.Execution != nil {
		c.rename(&e.Execution.Component)
	}
	for i := range e.Components {
		of := &e.Components[i]
		c.rename(&of.Component)
		for j := range of.Recent {
			c.rename(&of.Recent[j].Component)
		}
	}
}
