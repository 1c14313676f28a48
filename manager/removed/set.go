// Package removed stores the last states of removed containers with the units, so that the history of these containers
// outlives managers. A few units store them, as a signed document. Run ends with its context.
package removed

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/unit/wire"
)

// maxUnpacked bounds the size of the records in a document.
const maxUnpacked = 64 << 20

// document is the form in which a unit stores the records. Executions are similar to each other, so that they need a
// tenth of the space when they are compressed.
type document struct {
	Records []byte `json:"records"` // compressed by gzip, a list of records as JSON
}

// record is the last known state of a removed replica.
type record struct {
	Node       string         `json:"node"`
	Address    netip.AddrPort `json:"address"`
	Instance   string         `json:"instance"`
	Gone       time.Time      `json:"gone"`
	Components []component    `json:"components"`
}

type component struct {
	Name       string           `json:"name"`
	Executions []wire.Execution `json:"executions"`
}

// encode returns the document with the newest of the replicas, which are sorted from the oldest: as many as a unit stores.
func encode(replicas []*mirror.Replica) ([]byte, error) {
	for {
		text, err := encodeAll(replicas)
		if err != nil || len(text) <= wire.MaxRemovedBytes-reserved || len(replicas) == 0 {
			return text, err
		}
		replicas = replicas[(len(replicas)+1)/2:]
	}
}

func encodeAll(replicas []*mirror.Replica) ([]byte, error) {
	records := make([]record, len(replicas))
	for i, r := range replicas {
		records[i] = record{Node: r.Node, Address: r.Address, Instance: r.Instance, Gone: r.Gone}
		for _, c := range r.Components {
			if len(c.Recent) > 0 {
				records[i].Components = append(records[i].Components, component{c.Component, c.Recent})
			}
		}
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if err := json.NewEncoder(zip).Encode(records); err != nil {
		return nil, fmt.Errorf("encode removed containers: %w", err)
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("encode removed containers: %w", err)
	}
	return json.Marshal(document{packed.Bytes()})
}

// decode returns the replicas of a document.
func decode(text []byte) ([]*mirror.Replica, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("decode removed containers: %w", err)
	}
	unzip, err := gzip.NewReader(bytes.NewReader(d.Records))
	if err != nil {
		return nil, fmt.Errorf("decode removed containers: %w", err)
	}
	var records []record
	if err := json.NewDecoder(io.LimitReader(unzip, maxUnpacked)).Decode(&records); err != nil {
		return nil, fmt.Errorf("decode removed containers: %w", err)
	}
	replicas := make([]*mirror.Replica, len(records))
	for i, r := range records {
		replicas[i] = &mirror.Replica{Node: r.Node, Address: r.Address, Instance: r.Instance, Gone: r.Gone}
		for _, c := range r.Components {
			replicas[i].Components = append(replicas[i].Components, &mirror.Component{Component: c.Name, Recent: c.Executions})
		}
	}
	return replicas, nil
}
